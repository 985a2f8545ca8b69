// Arrays in and out of the kernel machine: rows of a kernel as an object, problems solved on it, values for predictions.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>

#include "bindings_kernel.hpp"
#include "methods/pairs.hpp"

namespace nb = nanobind;
using namespace rm;

namespace {

using Array = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;  // one axis or two
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices32 = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

KernelParameters parameters(nb::tuple kernel) {
    constexpr const char* names[] = {"rbf", "laplacian", "linear", "poly", "sigmoid"};  // as KernelKind has them
    const auto name = nb::cast<std::string>(kernel[0]);
    for (int k = 0; k < 5; ++k)
        if (name == names[k])
            return {KernelKind(k), nb::cast<double>(kernel[1]), nb::cast<double>(kernel[3]), nb::cast<int>(kernel[2])};
    throw nb::value_error("no such compiled kernel");
}

SparseView sparse_view(nb::tuple X) {
    const auto indptr = nb::cast<Indices>(X[2]);
    return {nb::cast<Array>(X[0]).data(), nb::cast<Indices32>(X[1]).data(), indptr.data(), Index(indptr.shape(0)) - 1,
            nb::cast<Index>(X[3])};
}

// Rows that a Python function computes: rows(I) against all, block(I, J), both in double precision.
class CalledKernel : public KernelSource {
  public:
    CalledKernel(nb::object rows, nb::object block, Array diagonal)
        : rows_(std::move(rows)), block_(std::move(block)), diagonal_(diagonal.data(), diagonal.data() + diagonal.size()) {}
    Index n() const override { return Index(diagonal_.size()); }
    Vector diagonal() const override { return diagonal_; }
    Index together() const override { return strategy::kCalledAtOnce; }
    double single_rounding() const override { return HUGE_VAL; }  // no bound on the values is known
    double double_rounding() const override { return 0.0; }
    void rows(const Index* I, Index m, float* const* out) const override {
        nb::gil_scoped_acquire gil;
        const auto values = nb::cast<Matrix>(rows_(numbers(I, m)));
        for (Index r = 0; r < m; ++r) std::copy_n(values.data() + r * n(), n(), out[r]);
    }
    void block(const Index* I, Index m, const Index* J, Index k, double* out) const override {
        nb::gil_scoped_acquire gil;
        const auto values = nb::cast<Matrix>(block_(numbers(I, m), numbers(J, k)));
        std::copy_n(values.data(), m * k, out);
    }

  private:
    static nb::object numbers(const Index* I, Index m) {
        auto* copy = new std::int64_t[m];
        std::copy_n(I, m, copy);
        nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
        return nb::cast(nb::ndarray<nb::numpy, std::int64_t>(copy, {std::size_t(m)}, owner));
    }
    nb::object rows_, block_;
    Vector diagonal_;
};

// A KernelRows and the arrays that it reads.
struct Rows {
    nb::object data;
    KernelRows rows;
};

Rows* make_rows(nb::object data, std::unique_ptr<KernelSource> source, double cache) {
    return new Rows{std::move(data), KernelRows(std::move(source), strategy::kShareOfRows * cache)};
}
Rows* dense_rows(nb::tuple kernel, nb::object X, double cache) {
    const auto array = nb::cast<Matrix>(X);
    return make_rows(X, std::make_unique<DenseKernel>(parameters(kernel), array.data(), array.shape(0), array.shape(1)), cache);
}
Rows* sparse_rows(nb::tuple kernel, nb::tuple X, double cache) {
    return make_rows(X, std::make_unique<SparseKernel>(parameters(kernel), sparse_view(X)), cache);
}
Rows* given_rows(nb::object K, double cache) {
    const auto array = nb::cast<Matrix>(K);
    return make_rows(K, std::make_unique<GivenKernel>(array.data(), array.shape(0)), cache);
}
Rows* called_rows(nb::object rows, nb::object block, Array diagonal, double cache) {
    return make_rows(nb::none(), std::make_unique<CalledKernel>(rows, block, diagonal), cache);
}

// Lets Ctrl-C through and tells how far it is (-1 and NaN between two looks at it), ten times a second.
std::function<void(Index, double)> poll_python(const nb::object& callback) {
    return [&callback, last = std::chrono::steady_clock::now()](Index pairs, double gap) mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(100)) return;
        last = now;
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!callback.is_none()) callback(pairs, gap);
    };
}

// One labelling, or labels times targets of both sides of the rows, y and weights of shape (2, n) and alpha signed; every C in turn: alpha and f (len(Cs) x n) and numbers (len(Cs) x 6: intercept, objective, dual objective,
// pairs, solver_code, whether no sweeps were left) are filled. Returns whether the kernel was seen to be indefinite.
bool solve(Rows& self, Numbers y, Numbers weights, Array Cs, std::optional<Array> start, nb::handle options, Output alpha, Output f,
           Output numbers) {
    const Index n = self.rows.n();
    const bool twice = y.ndim() == 2;
    if (Index(y.size()) != (twice ? 2 : 1) * n || y.size() != weights.size() || Index(alpha.shape(1)) != n || Index(f.shape(1)) != n)
        throw nb::value_error("labels, weights and outputs must have one number for each row");
    const nb::object callback = options.attr("callback");
    const PairOptions how{nb::cast<double>(options.attr("tol")), nb::cast<Index>(options.attr("max_sweeps")),
                          nb::cast<bool>(options.attr("intercept")), nb::cast<bool>(options.attr("strict")),
                          poll_python(callback)};
    nb::gil_scoped_release release;
    const KernelSides sides = twice ? KernelSides::of_targets(y.data(), weights.data(), n)
                                    : KernelSides::of_labels(y.data(), weights.data(), n);
    Pairs pairs(self.rows, sides, how);
    if (start) pairs.begin_at(sides.unsigned_of(start->data()).data());
    for (std::size_t k = 0; k < Cs.shape(0); ++k) {
        const PairSolution found = pairs.solve(Cs.data()[k]);
        for (Index i = 0; i < n; ++i)
            alpha.data()[k * n + i] = pairs.alpha()[i] - (twice ? pairs.alpha()[sides.second + i] : 0.0);
        std::copy_n(pairs.f().data(), n, f.data() + k * n);
        double* out = numbers.data() + 6 * k;
        out[0] = found.intercept, out[1] = found.objective, out[2] = found.dual_objective, out[3] = double(found.n_pairs);
        out[4] = double(found.solver), out[5] = found.late;
    }
    return pairs.met_negative_curvature();
}

// Without Y the symmetric matrix of X with itself.
void dense_values(nb::tuple kernel, Matrix X, std::optional<Matrix> Y, Output out) {
    const Matrix& other = Y ? *Y : X;
    if (X.shape(1) != other.shape(1) || out.shape(0) != X.shape(0) || out.shape(1) != other.shape(0))
        throw nb::value_error("shapes of X, Y and out do not match");
    const KernelParameters p = parameters(kernel);
    const Index m = X.shape(0), k = other.shape(0);
    nb::gil_scoped_release release;
    const PackedRows<double> columns(other.data(), nullptr, k, other.shape(1));
    const auto to = row_pointers(out.data(), m, k);
    Y ? kernel_values(p, X.data(), m, columns, to.data()) : kernel_gram(p, X.data(), columns, to.data());
}

void sparse_values(nb::tuple kernel, nb::tuple X, nb::tuple Y, Output out) {
    const KernelParameters p = parameters(kernel);
    const SparseView rows = sparse_view(X), columns = sparse_view(Y);
    if (rows.d != columns.d || Index(out.shape(0)) != rows.n || Index(out.shape(1)) != columns.n)
        throw nb::value_error("shapes of X, Y and out do not match");
    std::vector<Index> I(rows.n);
    std::iota(I.begin(), I.end(), Index(0));
    nb::gil_scoped_release release;
    const auto pointers = row_pointers(out.data(), rows.n, columns.n);
    kernel_values(p, rows, I.data(), rows.n, columns, nullptr, columns.n, pointers.data());
}

}  // namespace

void bind_kernel(nb::module_& m) {
    nb::class_<Rows>(m, "KernelRows")
        .def("solve", &solve, nb::arg("y"), nb::arg("weights"), nb::arg("Cs"), nb::arg("start").none(), nb::arg("options"),
             nb::arg("alpha"), nb::arg("f"), nb::arg("numbers"));
    m.def("dense_kernel_rows", &dense_rows, nb::rv_policy::take_ownership);
    m.def("sparse_kernel_rows", &sparse_rows, nb::rv_policy::take_ownership);
    m.def("given_kernel_rows", &given_rows, nb::rv_policy::take_ownership);
    m.def("called_kernel_rows", &called_rows, nb::rv_policy::take_ownership);
    m.def("dense_kernel_values", &dense_values, nb::arg("kernel"), nb::arg("X"), nb::arg("Y").none(), nb::arg("out"));
    m.def("sparse_kernel_values", &sparse_values);
}
