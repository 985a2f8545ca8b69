// Names of the methods, for results that say how they came about.
#pragma once

namespace rm {

// The method that found a solution.
enum class Solver : int {
    zero,        // no method improved on theta = 0
    warm_start,  // the solution of the previous C
    newton,
    row_newton,
    smo,
    smo_newton,
    coordinate_descent,
    conjugate_gradients,
    interior_point,
    principal_axes,
};
constexpr const char* kSolverNames[] = {"zero",       "warm-start",          "newton",              "row-newton",     "smo",
                                        "smo+newton", "coordinate-descent", "conjugate-gradients", "interior-point", "principal-axes"};
constexpr int kSolvers = sizeof(kSolverNames) / sizeof(*kSolverNames);

}  // namespace rm
