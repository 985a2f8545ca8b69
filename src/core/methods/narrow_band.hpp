// Newton's systems (newton.hpp) in the rows of the band, where these are fewer than the coefficients. By Woodbury
//   (1/weights + G) v = y db - X B^{-1} g,   y'v + k db = -g_b,   dw = -B^{-1} (g + X'v)
// with X the signed rows of the band, G = X B^{-1} X', (g, g_b) the gradient and k the curvature of the intercept.
//
// Inner products of rows that have been in a band are kept: near a solution few rows of the next one are new.
#pragma once
#include "methods/band_gram.hpp"
#include "rows/source.hpp"

namespace rm {

// Rows in the metric of B, z = L^{-1} x for B = LL', and their inner products.
template <class Rows>
class KnownRows {
  public:
    explicit KnownRows(const Problem<Rows>& problem) : problem_(problem), d_(problem.d()) {}

    // Rows J are known afterwards; those before are forgotten where there is no more room.
    void learn(const Index* J, Index m) {
        if (place_.empty() || known_ + unknown(J, m) > most_) start_again(strategy::kept_rows(m));
        const Index first = known_;
        for (Index j = 0; j < m; ++j) {
            if (place_[J[j]] != kUnknown) continue;
            double* z = Z_.data() + known_ * d_;
            problem_.A.copy_row(J[j], z);
            problem_.B.whiten(z);
            place_[J[j]] = known_++;
        }
        if (first == known_) return;
        blas::products(Z_.data(), known_, Z_.data() + first * d_, known_ - first, d_, G_.data() + first * most_, most_);
        for (Index i = first; i < known_; ++i)
            for (Index j = 0; j < first; ++j) G_[j * most_ + i] = G_[i * most_ + j];
    }
    const double* row(Index i) const { return Z_.data() + place_[i] * d_; }
    double product(Index i, Index j) const { return G_[place_[i] * most_ + place_[j]]; }

  private:
    static constexpr Index kUnknown = -1;
    Index unknown(const Index* J, Index m) const {
        return std::count_if(J, J + m, [this](Index i) { return place_[i] == kUnknown; });
    }
    void start_again(Index most) {
        place_.assign(problem_.n(), kUnknown);
        most_ = most, known_ = 0;
        Z_.resize(most * d_), G_.resize(most * most);
    }

    const Problem<Rows>& problem_;
    Index d_, most_ = 0, known_ = 0;
    std::vector<Index> place_;  // of a row among those that are known
    Vector Z_, G_;
};

template <class Rows>
class NarrowBand {
  public:
    explicit NarrowBand(const Problem<Rows>& problem) : problem_(problem), rows_(problem) {}

    // False where rounding spoils the step, as it does where features differ much in size: then it is not tried again.
    bool solve(const Band& band, double curvature, const Vector& gradient, Vector& step) {
        if (!exact_) return false;
        const Index d = problem_.d(), m = band.m;
        rows_.learn(band.J, m);
        Vector h(gradient.begin(), gradient.begin() + d);  // in the metric of B, as the rows are
        problem_.B.whiten(h.data());
        const double size = dot(d, h.data(), h.data());
        if (!factorise(band)) return exact_ = false;
        v_.resize(m);
        for (Index j = 0; j < m; ++j) v_[j] = -dot(d, rows_.row(band.J[j]), h.data());
        cholesky_solve(M_.data(), m, v_.data());
        if (problem_.intercept()) step[d] = intercept_step(band, gradient[d], curvature);
        for (Index j = 0; j < m; ++j) axpy(d, v_[j], rows_.row(band.J[j]), h.data());
        exact_ = residual(band, h, problem_.intercept() ? step[d] : 0.0) <= strategy::kInexact * strategy::kInexact * size;
        problem_.B.unwhiten(h.data());
        for (Index k = 0; k < d; ++k) step[k] = -h[k];
        return exact_ && dot(problem_.D(), gradient.data(), step.data()) < 0;
    }

  private:
    bool factorise(const Band& band) {
        const Index m = band.m;
        M_.resize(m * m);
        for (Index j = 0; j < m; ++j) {
            for (Index i = j; i < m; ++i) M_[j * m + i] = rows_.product(band.J[j], band.J[i]);
            M_[j * m + j] = M_[j * m + j] * (1.0 + 1e-14) + 1.0 / band.weights[j];
        }
        return blas::factorise(M_.data(), m);
    }
    // Of Newton's equations in w, squared and in the metric of B: there v stands for weights (X dw + y db), and h for -L'dw.
    double residual(const Band& band, const Vector& h, double db) const {
        Vector sum(h.size(), 0.0);
        for (Index j = 0; j < band.m; ++j) {
            const double* z = rows_.row(band.J[j]);
            const double along = problem_.y[band.J[j]] * db - dot(problem_.d(), z, h.data());
            axpy(problem_.d(), band.weights[j] * along - v_[j], z, sum.data());
        }
        return dot(problem_.d(), sum.data(), sum.data());
    }
    // v was solved for without the intercept, and becomes what it is with it.
    double intercept_step(const Band& band, double slope, double curvature) {
        const Vector y = pick(problem_.y, std::vector<Index>(band.J, band.J + band.m));
        Vector u = y;
        cholesky_solve(M_.data(), band.m, u.data());
        slope += dot(band.m, y.data(), v_.data()), curvature += dot(band.m, y.data(), u.data());
        axpy(band.m, -slope / curvature, u.data(), v_.data());
        return -slope / curvature;
    }

    const Problem<Rows>& problem_;
    KnownRows<Rows> rows_;
    Vector M_, v_;
    bool exact_ = true;
};

}  // namespace rm
