// Python bindings: a path over C for one problem, and for many problems on one matrix at a time.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "bindings_kernel.hpp"
#include "gram.hpp"
#include "sifting.hpp"

namespace nb = nanobind;
using namespace rm;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Array = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices32 = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Regularizers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

struct Interrupted {};

// Lets Ctrl-C through: the calling thread asks Python now and then, the others watch the flag.
class Interrupt {
  public:
    void poll_caller() {
        if (stop_) throw Interrupted{};
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        last_ = now;
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) {
            stop_ = true;
            throw nb::python_error();
        }
    }
    void poll_worker() const {
        if (stop_) throw Interrupted{};
    }
    void stop() { stop_ = true; }

  private:
    std::atomic<bool> stop_{false};
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

struct SparseArrays {
    const double* values;
    const std::int32_t* indices;
    const std::int64_t* indptr;
};

// Everything that the problems of one call share.
struct Data {
    const double* dense = nullptr;
    Index row_stride = 0, column_stride = 0;
    SparseArrays sparse{};
    Index n = 0, d = 0;
    const double* gram = nullptr;  // inner products of the rows
    bool only_gram = false;        // without the rows: coefficients are those of rows then
    const double* weights = nullptr;
    const double* Cs = nullptr;
    Index n_Cs = 0;
    const double* regularizers = nullptr;
    bool dense_regularizer = false;
    bool intercept = true, sifting = true;
    Options options;
};

// Where the path of one problem goes; alpha is optional.
struct Sink {
    double *coef, *intercept, *objective, *dual_objective, *alpha;
    std::int64_t* n_iter;
};

// A separator in the user's coordinates, in which the intercept is less by what is returned; `moved` is the sum of the
// sizes of its terms.
template <class Rows>
double put_coef(const Rows& rows, const std::vector<Index>&, const Vector& mean, const Vector& theta, double* out,
                double& moved) {
    std::copy_n(theta.data(), rows.d(), out);
    for (Index k = 0; k < rows.d(); ++k) moved += std::abs(mean[k] * theta[k]);
    return dot(rows.d(), mean.data(), theta.data());
}
double put_coef(const InnerProducts& rows, const std::vector<Index>& J, const Vector&, const Vector& theta,
                double* out, double& moved) {
    Vector coefficients;
    const double shift = rows.coefficients(theta, coefficients, moved);
    for (std::size_t i = 0; i < J.size(); ++i) out[J[i]] += coefficients[i];  // a row may be there twice
    return shift;
}

// The scores of rows as the caller has them.
double raw_score(const Data& data, Index i, const double* w) {
    double sum = 0;
    if (data.only_gram)
        for (Index k = 0; k < data.n; ++k) sum += data.gram[i * data.n + k] * w[k];
    else if (data.dense)
        for (Index k = 0; k < data.d; ++k) sum += data.dense[i * data.row_stride + k * data.column_stride] * w[k];
    else
        for (auto p = data.sparse.indptr[i]; p < data.sparse.indptr[i + 1]; ++p)
            sum += data.sparse.values[p] * w[data.sparse.indices[p]];
    return sum;
}

// The objective at what is returned, coefficients and an intercept in the caller's units. They differ from theta by the
// rounding of the intercept, and a pass over the rows is spared where that cannot be seen in the gap.
template <class Rows>
double value_at(const Data& data, const Problem<Rows>& problem, const std::vector<Index>& J, const Solution& best,
                const double* coef, double intercept, double moved, double tol) {
    const Index n = problem.n();
    double total = 0;
    for (Index i = 0; i < n; ++i) total += problem.c[i];
    constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
    if (kRounding * (moved + std::abs(intercept)) * total <= 0.01 * tol * std::abs(best.objective)) return best.objective;
    Vector z;
    problem.margins(best.theta, z);
    const double before = hinge_loss(n, problem.c, z.data());
    for (Index i = 0; i < n; ++i) z[i] = 1.0 - problem.y[i] * (raw_score(data, J[i], coef) + intercept);
    return best.objective + (hinge_loss(n, problem.c, z.data()) - before);
}

template <class Rows>
Solution solve_one(const Data& data, const Problem<Rows>& problem, const Options& options, const Solution& start) {
    Solution sifted;
    if constexpr (!std::is_same_v<Rows, Columns> && !std::is_same_v<Rows, InnerProducts>)
        if (data.sifting && problem.n() >= kSiftingRatio * problem.D()) {
            certify_zero(problem, sifted);
            if (Sifting<Rows>(problem, options).run(start, sifted) || sifted.n_iter >= options.max_iter) return sifted;
        }
    Options rest = options;
    rest.max_iter = options.max_iter - sifted.n_iter;
    Solution best = solve_direct(problem, rest, start);
    best.n_iter += sifted.n_iter;
    return best;
}

template <class Rows>
void run_path(const Data& data, const Rows& rows, const std::vector<Index>& J, const Vector& y, const Vector& mean,
              const Regularizer& B, const Options& options, Solution start, const double* linear, const Sink& sink) {
    const Vector weights = pick(data.weights, J);
    Vector c(weights.size()), q(rows.D(), 0.0);  // the intercept has no linear term
    if (linear) std::copy(linear, linear + data.d, q.begin());
    for (Index k = 0; k < data.n_Cs; ++k) {
        for (std::size_t i = 0; i < c.size(); ++i) c[i] = data.Cs[k] * weights[i];
        Problem<Rows> problem{rows, B, c.data(), y.data()};
        if (linear) problem.q = q.data(), problem.constant = linear[data.d];
        double* coef = sink.coef + k * data.d;
        Solution best;
        int spent = 0;
        for (double tol = options.tol; tol > 0.05 * options.tol; tol *= 0.3) {
            Options current = options;
            current.tol = tol, current.max_iter = options.max_iter - spent;
            best = solve_one(data, problem, current, start);
            best.n_iter = spent += best.n_iter;
            // Nothing finite was found (an overflow): the zero solution, whose gap says what it is worth.
            if (best.theta.empty()) best.theta.assign(rows.D(), 0.0);
            if (best.alpha.empty()) best.alpha.assign(J.size(), 0.0);
            centre_intercept(problem, options.tol, best.alpha, best.theta);
            double moved = 0;
            std::fill(coef, coef + data.d, 0.0);
            const double shift = put_coef(rows, J, mean, best.theta, coef, moved);
            sink.intercept[k] = data.intercept ? best.theta[rows.d()] - shift : 0.0;
            const double before = best.gap();
            best.objective = value_at(data, problem, J, best, coef, sink.intercept[k], moved, options.tol);
            // Where the caller's origin is far away a little more is needed than a gap at ours.
            if (!(before <= options.tol) || best.gap() <= options.tol || spent >= options.max_iter) break;
            start = best;
        }
        sink.objective[k] = best.objective;
        sink.dual_objective[k] = std::min(best.dual_objective, best.objective);
        sink.n_iter[k] = best.n_iter;
        if (sink.alpha)
            for (std::size_t i = 0; i < J.size(); ++i) sink.alpha[k * data.n + J[i]] = best.alpha[i];
        start = std::move(best);
        if (k + 1 < data.n_Cs)  // the multipliers at their bound stay there when C grows
            for (auto& a : start.alpha) a *= data.Cs[k + 1] / data.Cs[k];
    }
}

Vector centre(const Data& data, const std::vector<Index>& J) {
    Vector mean(data.d, 0.0);
    if (!data.intercept || J.empty()) return mean;
    // Any point near the middle serves; a sample of the rows is as good as all of them.
    const Index m = static_cast<Index>(J.size()), step = std::max<Index>(1, m / 20000), count = (m + step - 1) / step;
    for (Index j = 0; j < m; j += step) {
        if (data.dense != nullptr)
            for (Index k = 0; k < data.d; ++k)
                mean[k] += data.dense[J[j] * data.row_stride + k * data.column_stride];
        else
            for (auto p = data.sparse.indptr[J[j]]; p < data.sparse.indptr[J[j] + 1]; ++p)
                mean[data.sparse.indices[p]] += data.sparse.values[p];
    }
    for (auto& v : mean) v /= double(count);
    return mean;
}

// One problem: the rows J of the data with labels y (of all n rows), every C in turn.
void run_problem(const Data& data, const std::vector<Index>& J, const double* labels, const Regularizer& B,
                 const Options& options, Solution start, const double* linear, const Sink& sink) {
    const Vector y = pick(labels, J);
    if (data.only_gram) {
        const InnerProducts rows(data.gram, data.n, J, y, data.intercept);
        return run_path(data, rows, J, y, {}, B, options, std::move(start), nullptr, sink);
    }
    const Vector mean = centre(data, J);
    bool all = static_cast<Index>(J.size()) == data.n;  // a permutation or a bootstrap sample is not the matrix itself
    for (Index i = 0; all && i < data.n; ++i) all = J[i] == i;
    if (!start.theta.empty() && data.intercept)
        for (Index k = 0; k < data.d; ++k) start.theta[data.d] += mean[k] * start.theta[k];
    auto path = [&](const auto& rows) { run_path(data, rows, J, y, mean, B, options, std::move(start), linear, sink); };
    if (data.dense == nullptr) {
        const SparseRows view(data.sparse.values, data.sparse.indices, data.sparse.indptr, data.n, data.d, labels,
                              mean.data(), data.intercept);
        return all ? path(view) : path(view.rows(J.data(), static_cast<Index>(J.size()), options.poll));
    }
    // Inner products from another origin serve only where an intercept takes up the difference.
    const DenseRows view(data.dense, data.row_stride, data.column_stride, data.n, data.d, labels, mean.data(),
                         data.intercept, data.intercept ? data.gram : nullptr);
    const Index D = data.d + data.intercept;
    const bool sift = data.sifting && static_cast<Index>(J.size()) >= kSiftingRatio * D;
    if (!sift && data.d < blas::kSmall) return path(view.columns(J.data(), static_cast<Index>(J.size()), options.poll));
    const bool usable = all && (data.column_stride == 1 || data.row_stride == 1);
    return usable ? path(view) : path(view.rows(J.data(), static_cast<Index>(J.size()), options.poll));
}

struct Outputs {
    nb::ndarray<nb::numpy, double> coef, intercept, objective, dual_objective;
    nb::object alpha;
    nb::ndarray<nb::numpy, std::int64_t> n_iter;
};

template <class T>
nb::ndarray<nb::numpy, T> make_array(std::initializer_list<std::size_t> shape) {
    std::size_t size = 1;
    for (auto s : shape) size *= s;
    T* memory = new T[std::max<std::size_t>(size, 1)]();
    nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(memory, shape, owner);
}

// Those of positive weight that are labelled: a row labelled 0 takes no part.
std::vector<Index> participants(const Data& data, const double* labels, const std::int64_t* rows, Index m) {
    std::vector<Index> J;
    J.reserve(m);
    for (Index j = 0; j < m; ++j) {
        const Index i = rows ? static_cast<Index>(rows[j]) : j;
        if (i < 0 || i >= data.n) throw std::invalid_argument("subsets must hold row numbers of the data");
        if (data.weights[i] > 0.0 && labels[i] != 0.0) J.push_back(i);
    }
    return J;
}

Data describe(nb::object X, const std::optional<Labels>& gram, Array weights, Array Cs, std::optional<Regularizers> B,
              bool intercept, double tol, int max_iter, int newton_budget, bool sifting) {
    Data data;
    if (X.is_none()) {
        data.only_gram = true;
        data.n = data.d = static_cast<Index>(gram.value().shape(0));
    } else if (nb::isinstance<nb::tuple>(X)) {
        auto parts = nb::cast<nb::tuple>(X);
        auto values = nb::cast<Array>(parts[0]);
        auto indices = nb::cast<Indices32>(parts[1]);
        auto indptr = nb::cast<Indices>(parts[2]);
        data.sparse = {values.data(), indices.data(), indptr.data()};
        data.n = static_cast<Index>(indptr.shape(0)) - 1;
        data.d = nb::cast<Index>(parts[3]);
    } else {
        auto dense = nb::cast<Matrix>(X);
        data.dense = dense.data();
        data.n = static_cast<Index>(dense.shape(0)), data.d = static_cast<Index>(dense.shape(1));
        data.row_stride = dense.stride(0), data.column_stride = dense.stride(1);
    }
    if (gram) {
        if (static_cast<Index>(gram->shape(0)) != data.n || static_cast<Index>(gram->shape(1)) != data.n)
            throw nb::value_error("gram must hold the inner products of all rows");
        data.gram = gram->data();
    }
    data.weights = weights.data();
    data.Cs = Cs.data(), data.n_Cs = static_cast<Index>(Cs.shape(0));
    if (B) data.regularizers = B->data(), data.dense_regularizer = B->ndim() == 3;
    data.intercept = intercept, data.sifting = sifting;
    data.options.tol = tol, data.options.max_iter = max_iter, data.options.newton_budget = newton_budget;
    return data;
}

// Without X the rows are known by their inner products `gram` only, and a separator is that combination of them which
// `coef` holds. Problem p takes rows[starts[p]:starts[p+1]] (all rows if `rows` is None), label row label_of[p] and matrix
// regularizer_of[p]; row p of `linear` holds its q and constant. Every output has a first axis over problems and a
// second over Cs.
nb::tuple solve_many(nb::object X, Labels labels, Array weights, Array Cs, std::optional<Indices> rows,
                     std::optional<Indices> starts, Indices label_of, std::optional<Regularizers> B,
                     Indices regularizer_of, std::optional<Labels> linear, std::optional<Labels> start_theta,
                     std::optional<Labels> start_alpha,
                     bool keep_alpha, bool intercept, double tol, int max_iter, int newton_budget,
                     bool sifting, int n_threads, std::optional<Labels> gram) {
    const Data data = describe(X, gram, weights, Cs, B, intercept, tol, max_iter, newton_budget, sifting);
    const std::size_t P = label_of.shape(0), K = data.n_Cs, d = data.d, n = data.n;
    auto coef = make_array<double>({P, K, d});
    auto intercepts = make_array<double>({P, K}), objective = make_array<double>({P, K}),
         dual = make_array<double>({P, K});
    auto alpha = make_array<double>({keep_alpha ? P : 0, K, n});
    auto n_iter = make_array<std::int64_t>({P, K});

    std::atomic<std::size_t> next{0};
    std::atomic<bool> invalid{false};
    Interrupt interrupt;
    std::exception_ptr failure;
    std::mutex guard;
    auto work = [&](bool caller) {
        Options options = data.options;
        options.poll = [&, caller] { caller ? interrupt.poll_caller() : interrupt.poll_worker(); };
        std::optional<Regularizer> regularizer;  // kept as long as problems have the same one: it may have been factored
        Index current = -1;
        try {
            for (std::size_t p; (p = next++) < P;) {
                if (!regularizer || regularizer_of.data()[p] != current) {
                    current = regularizer_of.data()[p];
                    const Index size = data.dense_regularizer ? d * d : d;
                    const double* matrix = data.regularizers ? data.regularizers + current * size : nullptr;
                    regularizer.emplace(matrix, data.d, data.dense_regularizer);
                }
                if (!regularizer->valid()) {
                    invalid = true;
                    return;
                }
                const double* y = labels.data() + label_of.data()[p] * n;
                const auto J = rows ? participants(data, y, rows->data() + starts->data()[p],
                                                   starts->data()[p + 1] - starts->data()[p])
                                    : participants(data, y, nullptr, data.n);
                Solution start;
                const Index D = data.d + intercept;
                if (start_theta) start.theta.assign(start_theta->data() + p * D, start_theta->data() + (p + 1) * D);
                if (start_alpha) start.alpha = pick(start_alpha->data() + p * n, J);
                const Sink sink{coef.data() + p * K * d,      intercepts.data() + p * K,
                                objective.data() + p * K,     dual.data() + p * K,
                                keep_alpha ? alpha.data() + p * K * n : nullptr, n_iter.data() + p * K};
                run_problem(data, J, y, *regularizer, options, std::move(start),
                            linear ? linear->data() + p * (d + 1) : nullptr, sink);
            }
        } catch (...) {
            interrupt.stop();
            const std::lock_guard<std::mutex> lock(guard);
            if (!failure || caller) failure = std::current_exception();  // the caller's carries the signal
        }
    };
    {
        nb::gil_scoped_release release;
        std::vector<std::thread> threads;
        try {
            for (std::size_t t = 1; t < std::min<std::size_t>(n_threads, P); ++t) threads.emplace_back(work, false);
        } catch (const std::system_error&) {
            // fewer threads than asked for do the same work
        }
        work(true);
        for (auto& thread : threads) thread.join();
    }
    if (failure) std::rethrow_exception(failure);
    if (invalid) throw nb::value_error("regularizer is not positive definite");
    return nb::make_tuple(coef, intercepts, alpha, objective, dual, n_iter);
}

// The fused loops of a Newton step, for a solver whose columns meet in more than a quadratic form.
nb::tuple multiplier_step_of(Labels reference, Labels z, double s, Labels c) {
    const std::size_t K = z.shape(0), n = z.shape(1);
    auto a = make_array<double>({K, n}), ca = make_array<double>({K, n});
    const MarginSums sums =
        multiplier_step(static_cast<Index>(K * n), reference.data(), z.data(), s, c.data(), a.data(), ca.data());
    return nb::make_tuple(a, ca, sums.loss, sums.multipliers, sums.complementarity);
}

double slope_of(Labels reference, Labels z, Labels dz, double s, double t, Labels c) {
    return slope(static_cast<Index>(z.size()), reference.data(), z.data(), dz.data(), s, t, c.data());
}

using Output = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// out[i, j] = exp(-gamma distance(x_i, y_j)); without Y the symmetric matrix of X with itself.
void exponential_kernel_into(Labels X, std::optional<Labels> Y, double gamma, bool absolute, Output out) {
    const Index n = X.shape(0), d = X.shape(1), m = Y ? Y->shape(0) : n;
    if ((Y && static_cast<Index>(Y->shape(1)) != d) || static_cast<Index>(out.shape(0)) != n ||
        static_cast<Index>(out.shape(1)) != m)
        throw nb::value_error("shapes of X, Y and out do not match");
    if (n == 0 || m == 0) return;
    const Distance distance = absolute ? Distance::absolute : Distance::squared;
    nb::gil_scoped_release release;
    if (Y)
        exponential_kernel(distance, X.data(), n, Y->data(), m, d, gamma, out.data());
    else
        exponential_gram(distance, X.data(), n, d, gamma, out.data());
}

void* capsule_pointer(nb::handle capsule) {
    void* pointer = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
    if (pointer == nullptr) throw nb::python_error();
    return pointer;
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled core of the hinge solver.";
    bind_kernel(m);
    m.def("use_blas", [](nb::dict found) {
        blas::dsyrk = reinterpret_cast<blas::Dsyrk>(capsule_pointer(found["dsyrk"]));
        blas::dgemm = reinterpret_cast<blas::Dgemm>(capsule_pointer(found["dgemm"]));
        blas::dpotrf = reinterpret_cast<blas::Dpotrf>(capsule_pointer(found["dpotrf"]));
        blas::dsyev = reinterpret_cast<blas::Dsyev>(capsule_pointer(found["dsyev"]));
    });
    m.def("exponential_kernel", &exponential_kernel_into, nb::arg("X"), nb::arg("Y").none(), nb::arg("gamma"),
          nb::arg("absolute"), nb::arg("out"));
    m.def("multiplier_step", &multiplier_step_of, nb::arg("reference"), nb::arg("z"), nb::arg("s"), nb::arg("c"));
    m.def("slope", &slope_of, nb::arg("reference"), nb::arg("z"), nb::arg("dz"), nb::arg("s"), nb::arg("t"),
          nb::arg("c"));
    m.def("solve_many", &solve_many, nb::arg("X").none(), nb::arg("labels"), nb::arg("weights"), nb::arg("Cs"),
          nb::arg("rows").none(), nb::arg("starts").none(), nb::arg("label_of"), nb::arg("B").none(),
          nb::arg("regularizer_of"), nb::arg("linear").none(), nb::arg("start_theta").none(),
          nb::arg("start_alpha").none(),
          nb::arg("keep_alpha"), nb::arg("intercept"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("newton_budget"),
          nb::arg("sifting"), nb::arg("n_threads"), nb::arg("gram").none());
}
