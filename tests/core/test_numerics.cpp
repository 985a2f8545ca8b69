// The numerical pieces of the core, each against its definition: factors, sums in twice the digits, roots of slopes, balanced
// multipliers, certificates, and Gram matrices and Newton steps that are updated rather than computed anew.
#include <algorithm>
#include <numeric>
#include <random>

#include "check.hpp"
#include "methods/newton.hpp"
#include "methods/sifting.hpp"
#include "rows/columns.hpp"
#include "rows/dense.hpp"

using namespace rm;

namespace {

std::mt19937 generator(20150703);
double uniform(double low = 0.0, double high = 1.0) { return std::uniform_real_distribution<double>(low, high)(generator); }
double normal() { return std::normal_distribution<double>()(generator); }
Vector normals(Index n) {
    Vector out(n);
    for (auto& x : out) x = normal();
    return out;
}

// A positive definite matrix M'M + I, column-major.
Vector definite(Index d) {
    const Vector M = normals(d * d);
    Vector A(d * d, 0.0);
    for (Index i = 0; i < d; ++i)
        for (Index j = 0; j < d; ++j) A[i * d + j] = dot(d, M.data() + i * d, M.data() + j * d) + (i == j);
    return A;
}

Vector times(const Vector& A, const Vector& x) {
    Vector out(x.size(), 0.0);
    for (std::size_t k = 0; k < x.size(); ++k) axpy(Index(x.size()), x[k], A.data() + k * x.size(), out.data());
    return out;
}

// Random rows with labels and weights of their own, not centred.
struct Random {
    Index n, d;
    Vector X, y, mean, c;
    DenseArray array;
    DenseRows rows;
    Regularizer B;

    Random(Index n, Index d)
        : n(n), d(d), X(normals(n * d)), y(n), mean(d, 0.0), c(n), array{X.data(), d, 1, n, d},
          rows(array, (fill(), y.data()), mean.data(), true), B(nullptr, d, false) {}
    Problem<DenseRows> problem() const { return {rows, B, c.data(), y.data()}; }

  private:
    void fill() {
        for (Index i = 0; i < n; ++i) y[i] = i % 2 ? 1.0 : -1.0, c[i] = uniform(0.1, 2.0);
        for (Index i = 0; i < n; ++i) X[i * d] += 0.7 * y[i];
    }
};

}  // namespace

TEST(factor_solves_and_inverts_the_regularizer) {
    for (Index d : {1, 3, 17}) {
        const Vector A = definite(d), x = normals(d);
        const Regularizer B(A.data(), d, true);
        Vector back = times(A, x);
        B.divide(back.data());
        for (Index k = 0; k < d; ++k) CHECK_CLOSE(back[k], x[k], 1e-9);
        Vector z = x;
        B.whiten(z.data());
        CHECK_CLOSE(dot(d, z.data(), z.data()), B.inverse_quadratic(x.data()), 1e-10);
        B.unwhiten(z.data());  // B^{-1} x
        const Vector again = times(A, z);
        for (Index k = 0; k < d; ++k) CHECK_CLOSE(again[k], x[k], 1e-9);
    }
}

TEST(factor_of_an_indefinite_matrix_is_refused) {
    Vector A{1.0, 2.0, 2.0, 1.0};
    CHECK(!cholesky(A.data(), 2));
    Vector B{1.0, 2.0, 2.0, 1.0};
    CHECK(!Regularizer(B.data(), 2, true).valid());
}

TEST(elimination_solves_padded_systems) {
    for (Index D : {2, 5, 11}) {
        const Index W = padded(D + 1);
        const Vector A = definite(D), x = normals(D), b = times(A, x);
        Vector H(padded(D, 4) * W, 0.0), found(D);
        for (Index k = 0; k < D; ++k) {
            std::copy_n(A.data() + k * D + k, D - k, H.data() + k * W + k);
            H[k * W + D] = b[k];
        }
        CHECK(eliminate(H.data(), W, D, found.data()));
        for (Index k = 0; k < D; ++k) CHECK_CLOSE(found[k], x[k], 1e-9);
    }
}

TEST(twice_double_keeps_what_a_double_loses) {
    TwiceDouble sum;
    sum.add(1e16), sum.add(1.0), sum.add(-1e16);
    CHECK(sum.value() == 1.0);
    TwiceDouble product;
    const double a = 1.0 + 0x1p-30;
    product.add_product(a, a), product.add(-1.0), product.add(-0x1p-29);
    CHECK(product.value() == 0x1p-60);
    const Vector x = normals(1001), y = normals(1001);
    long double expected = 0;
    for (std::size_t i = 0; i < x.size(); ++i) expected += static_cast<long double>(x[i]) * y[i];
    TwiceDouble inner;
    exact_dot(1001, x.data(), y.data(), inner.sum, inner.rest);
    CHECK_CLOSE(inner.value(), static_cast<double>(expected), 1e-15);
}

TEST(slope_root_is_where_the_slope_has_fallen_to_a_tenth) {
    for (int trial = 0; trial < 2000; ++trial) {
        // linear + t quadratic + sum of hinges whose kinks lie anywhere: nondecreasing in t, negative at zero
        const double quadratic = uniform(0.0, 1.0) * (trial % 3 > 0), reach = std::pow(10.0, uniform(-3, 3));
        std::vector<std::pair<double, double>> kinks(1 + trial % 20);
        for (auto& [at, rise] : kinks) at = uniform(0, reach), rise = uniform(0.01, 1.0);
        const auto slope_at = [&, most = kinks.size()](double t) {
            double slope = -0.5 + quadratic * t / reach;
            for (std::size_t k = 0; k < most; ++k) slope += kinks[k].second * std::max(0.0, t - kinks[k].first) / reach;
            return slope;
        };
        const double at_zero = slope_at(0.0), t = slope_root(slope_at, at_zero);
        CHECK(t > 0.0);
        CHECK(std::abs(slope_at(t)) <= strategy::kSlopeReduction * std::abs(at_zero) * (1 + 1e-12));
    }
}

TEST(a_unit_step_is_taken_at_once_only_where_the_function_falls) {
    for (int trial = 0; trial < 2000; ++trial) {
        const double bend = std::pow(10.0, uniform(-4, 0.3)), after = uniform(-0.1, 0.2);  // slope -1, then `after` from there on
        int evaluations = 0;
        const auto slope_at = [&](double t) { return ++evaluations, t < bend ? -1.0 : after; };
        const double t = slope_root(slope_at, -1.0), fall = -std::min(bend, 1.0) + after * std::max(0.0, 1.0 - bend);
        if (t == 1.0 && evaluations <= 2) CHECK(fall < 0);
    }
}

TEST(balanced_multipliers_are_in_the_box_and_on_the_plane) {
    for (int trial = 0; trial < 500; ++trial) {
        const Random data(3 + trial % 40, 2);
        Problem<DenseRows> problem = data.problem();
        Vector q(3, 0.0), alpha = normals(data.n);
        if (trial % 2) q[2] = uniform(-1.0, 1.0), problem.q = q.data();
        double up = 0, down = 0, total = 0;
        for (Index i = 0; i < data.n; ++i) (data.y[i] > 0 ? up : down) += data.c[i];
        const bool within_reach = q[2] <= down && -q[2] <= up;
        CHECK(balance(problem, alpha, total) == within_reach);
        if (!within_reach) continue;
        CHECK_CLOSE(dot(data.n, data.y.data(), alpha.data()), -q[2], 1e-12);
        CHECK_CLOSE(std::accumulate(alpha.begin(), alpha.end(), 0.0), total, 1e-12);
        for (Index i = 0; i < data.n; ++i) CHECK(alpha[i] >= 0 && alpha[i] <= data.c[i] * (1 + 1e-14));
    }
}

TEST(balancing_leaves_alone_what_is_balanced) {
    const Random data(20, 2);
    Vector alpha(20, 0.05), before = alpha;
    double total;
    CHECK(balance(data.problem(), alpha, total));
    CHECK(alpha == before);
    CHECK_CLOSE(total, 1.0, 1e-14);
}

TEST(dual_bound_is_below_every_objective) {
    const Random data(60, 4);
    Solution best;
    certify_zero(data.problem(), best);
    const double at_zero = best.objective;
    for (int trial = 0; trial < 200; ++trial) {
        CHECK(certify(data.problem(), normals(5), normals(60), best));
        CHECK(best.dual_objective <= best.objective && best.objective <= at_zero);
    }
}

TEST(newton_certifies_the_optimum) {
    for (Index d : {2, 10, 60}) {
        const Random data(150, d);
        Options options;
        options.tol = 1e-10;
        const Solution found = solve_direct(data.problem(), options, {});
        CHECK(found.gap() <= 1e-10);
        Solution again;
        certify_zero(data.problem(), again);
        certify(data.problem(), found.theta, found.alpha, again);
        CHECK_CLOSE(again.objective, found.objective, 1e-12);
        CHECK(again.gap() <= 1.1e-10);
    }
}

TEST(intercept_is_put_in_the_middle_of_where_the_loss_is_flat) {
    // Points -3, -1 | 1, 7 with a slope of 2 beyond the margin on both sides: every b between -1 and 1 has no loss.
    const Vector X{-3.0, -1.0, 1.0, 7.0}, y{-1.0, -1.0, 1.0, 1.0}, mean{0.0}, c{1.0, 1.0, 1.0, 1.0}, none(4, 0.0);
    const DenseRows rows({X.data(), 1, 1, 4, 1}, y.data(), mean.data(), true);
    const Regularizer B(nullptr, 1, false);
    const Problem<DenseRows> problem{rows, B, c.data(), y.data()};
    Vector theta{2.0, 0.8};
    centre_intercept(problem, 1e-8, none, theta);
    CHECK_CLOSE(theta[1], 0.0, 1e-12);
}

TEST(centring_never_raises_the_loss_and_respects_support_vectors) {
    for (int trial = 0; trial < 300; ++trial) {
        const Random data(4 + trial % 30, 2);
        Vector theta = normals(3), z;
        if (trial % 2) theta[2] = 0;
        const auto loss = [&] {
            data.problem().margins(theta, z);
            return hinge_loss(data.n, data.c.data(), z.data());
        };
        const double before = loss();
        centre_intercept(data.problem(), 1e-6, Vector(data.n, 0.0), theta);
        CHECK(loss() <= before * (1 + 1e-12));
        const Vector at = theta;
        Vector alpha = data.c;
        alpha[0] *= 0.5;  // between its bounds: this row says where b is
        centre_intercept(data.problem(), 1e-6, alpha, theta);
        CHECK(theta == at);
    }
}

TEST(the_middle_between_pairs_is_between_their_corridor) {
    const Vector f{-2.0, 1.0, 3.0, 0.5}, up{0.0, -HUGE_VAL, 0.0, -HUGE_VAL}, down{0.0, 1.0, 0.0, 1.0};
    CHECK_CLOSE(between_pairs(4, f.data(), up.data(), down.data()), 0.5 * (3.0 + 0.5), 1e-15);
}

TEST(gram_of_a_band_is_the_same_updated_and_anew) {
    const Random data(120, 7);
    const Vector weights = data.c;
    BandGram<DenseRows> updated(data.rows, weights.data());
    std::vector<Index> band(60);
    std::iota(band.begin(), band.end(), 0);
    for (int round = 0; round < 60; ++round) {
        const Index D = data.rows.D();
        for (Index& i : band) i = uniform() < 0.1 ? Index(uniform(0, 120)) : i;
        std::sort(band.begin(), band.end());
        band.erase(std::unique(band.begin(), band.end()), band.end());
        BandGram<DenseRows> anew(data.rows, weights.data());
        const Vector &found = updated.of(band.data(), Index(band.size())), &expected = anew.of(band.data(), Index(band.size()));
        for (Index k = 0; k < D; ++k)
            for (Index l = k; l < D; ++l) CHECK_CLOSE(found[k * D + l], expected[k * D + l], 1e-11);
        while (band.size() < 50) band.push_back(Index(uniform(0, 120)));
        std::sort(band.begin(), band.end());
        band.erase(std::unique(band.begin(), band.end()), band.end());
    }
}

TEST(columns_and_dense_rows_have_the_same_products) {
    const Random data(33, 5);
    Columns columns(33, 5, true);
    for (Index i = 0; i < 33; ++i) {
        for (Index k = 0; k < 5; ++k) columns.set(i, k, data.y[i] * data.X[i * 5 + k]);
        columns.set(i, 5, data.y[i]);
        columns.pad(i);
    }
    const Vector theta = normals(6), v = normals(33);
    Vector a(33), b(33), g(6), h(6), G(36), H(36);
    columns.times(theta.data(), a.data()), data.rows.times(theta.data(), b.data());
    columns.transposed_times(v.data(), g.data()), data.rows.transposed_times(v.data(), h.data());
    for (Index i = 0; i < 33; ++i) CHECK_CLOSE(a[i], b[i], 1e-12);
    for (Index k = 0; k < 6; ++k) CHECK_CLOSE(g[k], h[k], 1e-12);
    const std::vector<Index> J{1, 4, 9, 20, 32};
    columns.gram(J.data(), 5, data.c.data(), G.data()), data.rows.gram(J.data(), 5, data.c.data(), H.data());
    for (Index k = 0; k < 6; ++k)
        for (Index l = k; l < 6; ++l) CHECK_CLOSE(G[k * 6 + l], H[k * 6 + l], 1e-12);
}

// What the core takes of the BLAS, from its definition: SciPy's is not here.
static void triangle(char*, char* trans, int* n, int* k, double*, double* A, int* lda, double*, double* C, int* ldc) {
    for (int j = 0; j < *n; ++j)
        for (int i = j; i < *n; ++i) {
            double sum = 0;
            for (int l = 0; l < *k; ++l)
                sum += *trans == 'N' ? A[l * *lda + i] * A[l * *lda + j] : A[i * *lda + l] * A[j * *lda + l];
            C[j * *ldc + i] = sum;
        }
}
static void product(char*, char*, int* m, int* n, int* k, double*, double* A, int* lda, double* B, int* ldb, double*, double* C,
                    int* ldc) {  // A'B
    for (int j = 0; j < *n; ++j)
        for (int i = 0; i < *m; ++i) C[j * *ldc + i] = dot(*k, A + i * *lda, B + j * *ldb);
}

int main() {
    blas::dsyrk = triangle, blas::dgemm = product;
    return run_all_tests();
}
