// Python bindings: arrays in and out, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <optional>
#include <string>

#include "batch.hpp"
#include "bindings_kernel.hpp"

namespace nb = nanobind;
using namespace rm;

namespace {

using Array = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Strided = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;
using Integers32 = nb::ndarray<const std::int32_t, nb::c_contig, nb::device::cpu>;

// Keeps what Python gave, perhaps copied to another layout, for the time of a call.
class Arrays {
  public:
    template <class T = Array>
    T get(nb::handle owner, const char* name) {
        return hold<T>(owner.attr(name), name);
    }
    template <class T = Array>
    decltype(T().data()) maybe(nb::handle owner, const char* name) {
        return owner.is_none() || owner.attr(name).is_none() ? nullptr : get<T>(owner, name).data();
    }
    template <class T>
    T hold(nb::handle value, const char* name) {
        T array;
        if (!nb::try_cast(value, array)) throw nb::value_error((std::string(name) + " must be a numeric array").c_str());
        held_.push_back(nb::ndarray<>(array.handle()));
        return array;
    }

  private:
    std::vector<nb::ndarray<>> held_;
};

Source source_of(nb::handle rows, Arrays& arrays) {
    const auto kind = nb::cast<std::string>(rows.attr("kind"));
    const auto shape = nb::cast<nb::tuple>(rows.attr("shape"));
    const Index n = nb::cast<Index>(shape[0]), d = nb::cast<Index>(shape[1]);
    nb::object X = rows.attr("X");
    if (kind == "sparse")
        return SparseArray{arrays.get(X, "data").data(), arrays.get<Integers32>(X, "indices").data(),
                           arrays.get<Integers>(X, "indptr").data(), n, d};
    const auto dense = arrays.get<Strided>(rows, "X");
    return DenseArray{dense.data(), dense.stride(0), dense.stride(1), n, d};
}

Quadratics quadratics_of(nb::handle form, Arrays& arrays) {
    Quadratics out{arrays.maybe(form, "matrices"), arrays.maybe(form, "linear"), arrays.maybe(form, "constants"), false};
    out.dense = out.matrices && nb::cast<int>(form.attr("matrices").attr("ndim")) == 3;
    return out;
}

Labels labels_of(nb::handle labels, Index n, Arrays& arrays) {
    if (nb::hasattr(labels, "tubes"))
        return {nullptr, nullptr, nullptr, n, 0, arrays.get(labels, "values").data(), arrays.get(labels, "tubes").data()};
    if (!nb::hasattr(labels, "sides")) return {arrays.hold<Array>(labels, "labels").data(), nullptr, nullptr, n, 0};
    return {nullptr, arrays.get<Integers>(labels, "codes").data(), arrays.get<Integers>(labels, "sides").data(), n,
            nb::cast<Index>(labels.attr("n_classes"))};
}

Batch batch_of(nb::handle batch, Arrays& arrays) {
    const auto Cs = arrays.get(batch, "Cs");
    const auto cells = arrays.get<Integers>(batch, "cells");
    const auto weights = arrays.get(batch, "weights");
    const Index n = static_cast<Index>(weights.shape(0));
    Batch out{source_of(batch.attr("rows"), arrays), labels_of(batch.attr("labels"), n, arrays), weights.data(), Cs.data(),
              static_cast<Index>(Cs.shape(0)), quadratics_of(batch.attr("regularizers"), arrays), {},
              cells.data(), static_cast<Index>(cells.shape(0)), nb::cast<bool>(batch.attr("intercept"))};
    for (nb::handle subset : batch.attr("subsets")) {
        const auto rows = arrays.hold<Integers>(subset, "subsets");
        out.subsets.push_back({rows.data(), static_cast<Index>(rows.shape(0))});
    }
    return out;
}

// Lets Ctrl-C through: asks Python now and then.
Poll polling() {
    return [last = std::chrono::steady_clock::now()]() mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(50)) return;
        last = now;
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    };
}

Options options_of(nb::handle options) {
    Options out;
    out.tol = nb::cast<double>(options.attr("tol")), out.max_iter = nb::cast<int>(options.attr("max_iter"));
    const auto method = nb::cast<std::string>(options.attr("method"));
    out.method = method == "auto" ? Method::automatic : method == "direct" ? Method::direct : Method::interior_point;
    out.poll = polling();
    return out;
}

template <class T>
nb::ndarray<nb::numpy, T> make_array(std::initializer_list<std::size_t> shape) {
    std::size_t size = 1;
    for (auto s : shape) size *= s;
    T* memory = new T[std::max<std::size_t>(size, 1)]();
    nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(memory, shape, owner);
}

// `batch`, `options` and `start` are those of radiusmargin.solvers, but for `theta` (start.theta), coefficients and intercepts
// together, and the number of threads.
nb::tuple solve(nb::handle batch, nb::handle options, nb::object theta, nb::handle start) {
    Arrays arrays;
    const Batch given = batch_of(batch, arrays);
    const Options settings = options_of(options);
    const bool keep_alpha = nb::cast<bool>(options.attr("keep_alpha"));
    const int n_threads = nb::cast<int>(options.attr("threads"));
    std::optional<Array> first;
    if (!theta.is_none()) first = nb::cast<Array>(theta);
    const Start begin{first ? first->data() : nullptr, arrays.maybe(start, "alpha")};
    const std::size_t P = given.size, K = given.n_Cs, d = given.d(), n = given.n();
    auto coef = make_array<double>({P, K, d}), alpha = make_array<double>({keep_alpha ? P : 0, K, n});
    auto intercept = make_array<double>({P, K}), objective = make_array<double>({P, K}), dual = make_array<double>({P, K});
    auto n_iter = make_array<std::int64_t>({P, K}), solver = make_array<std::int64_t>({P, K});
    double* multipliers = keep_alpha ? alpha.data() : nullptr;
    const Outputs out{coef.data(), intercept.data(), objective.data(), dual.data(), multipliers, n_iter.data(), solver.data()};
    {
        nb::gil_scoped_release release;
        solve_batch(given, settings, n_threads, begin, out);
    }
    return nb::make_tuple(coef, intercept, objective, dual, n_iter, solver, keep_alpha ? nb::cast(alpha) : nb::none());
}

// The fused loops of a Newton step, for a solver whose columns meet in more than a quadratic form.
nb::tuple multiplier_step_of(Matrix reference, Matrix z, double s, Matrix c) {
    const std::size_t K = z.shape(0), n = z.shape(1);
    auto a = make_array<double>({K, n}), ca = make_array<double>({K, n});
    const MarginSums sums =
        multiplier_step(static_cast<Index>(K * n), reference.data(), z.data(), s, c.data(), a.data(), ca.data());
    return nb::make_tuple(a, ca, sums.loss, sums.multipliers, sums.complementarity);
}

double slope_of(Matrix reference, Matrix z, Matrix dz, double s, double t, Matrix c) {
    return slope(static_cast<Index>(z.size()), reference.data(), z.data(), dz.data(), s, t, c.data());
}

template <class Function>
void take(Function& function, nb::dict found, const char* name) {
    nb::object capsule = found[name];
    void* pointer = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
    if (pointer == nullptr) throw nb::python_error();
    function = reinterpret_cast<Function>(pointer);
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled core of the hinge solver.";
    m.attr("BLAS_FROM") = strategy::kBlasFrom;
    nb::list names;  // by solver_code
    for (const char* prefix : {"", "sifting+"})
        for (const char* name : kSolverNames) names.append((prefix + std::string(name)).c_str());
    m.attr("METHODS") = names;
    bind_kernel(m);
    m.def("use_blas", [](nb::dict found) {
        take(blas::dsyrk, found, "dsyrk"), take(blas::dgemm, found, "dgemm");
        take(blas::dpotrf, found, "dpotrf"), take(blas::dsyev, found, "dsyev");
    });
    m.def("multiplier_step", &multiplier_step_of, nb::arg("reference"), nb::arg("z"), nb::arg("s"), nb::arg("c"));
    m.def("slope", &slope_of, nb::arg("reference"), nb::arg("z"), nb::arg("dz"), nb::arg("s"), nb::arg("t"),
          nb::arg("c"));
    m.def("solve", &solve, nb::arg("batch"), nb::arg("options"), nb::arg("theta").none(), nb::arg("start"));
}
