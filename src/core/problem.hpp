// The hinge problem, its certificate, and what a solver carries from one call to the next.
//
//   min over theta = (w, b):  1/2 w'Bw - q'theta + constant + sum_i c_i max(0, z_i),   z = 1 - A theta
//
// q and constant come from a caller whose regulariser is not a quadratic form but has one as its model, and from
// sifting, for rows whose multiplier is fixed.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "regularizer.hpp"
#include "rows.hpp"

namespace rm {

template <class Rows>
struct Problem {
    const Rows& A;
    const Regularizer& B;
    const double* c;
    const double* y;
    const double* q = nullptr;  // length D
    double constant = 0.0;

    Index n() const { return A.n(); }
    Index d() const { return A.d(); }
    Index D() const { return A.D(); }
    bool intercept() const { return D() > d(); }
    void margins(const Vector& theta, Vector& z) const {
        z.resize(n());
        Vector negative(theta.size());
        for (std::size_t k = 0; k < theta.size(); ++k) negative[k] = -theta[k];
        A.times(negative.data(), z.data());
        for (auto& zi : z) zi += 1.0;
    }
};

struct Solution {
    Vector theta, alpha;
    double objective = HUGE_VAL, dual_objective = -HUGE_VAL;
    int n_iter = 0;
    double gap() const { return (objective - dual_objective) / std::max(std::abs(objective), 1e-300); }
};

struct Options {
    double tol = 1e-6;
    int max_iter = 1000;
    int newton_budget = 200;  // past it the interior point is the cheaper bet
    std::function<void()> poll;  // throws when the user interrupts
};

// Moves alpha into the box and to y'alpha + q_b = 0: shrink the side that carries too much, then grow the other. False if
// out of reach; `total` becomes the sum of the multipliers.
template <class Rows>
bool balance(const Problem<Rows>& problem, Vector& alpha, double& total) {
    const BoxSums sums = clip_to_box(problem.n(), problem.y, problem.c, alpha.data());
    total = sums.up + sums.down;
    if (!problem.intercept()) return true;
    const double residual = (problem.q ? problem.q[problem.d()] : 0.0) + sums.up - sums.down;
    const double label = residual > 0 ? 1.0 : -1.0, excess = std::abs(residual);
    const double heavy = residual > 0 ? sums.up : sums.down, room = residual > 0 ? sums.room_down : sums.room_up;
    const double shrink = std::min(excess, heavy), grow = excess - shrink;
    if (grow > room * (1 + 1e-12)) return false;
    const double scale = heavy > 0 ? 1.0 - shrink / heavy : 1.0, fill = grow > 0 ? grow / room : 0.0;
    shift_in_box(problem.n(), problem.y, label, scale, fill, problem.c, alpha.data());
    total += grow - shrink;
    return true;
}

// Each side is a bound of its own, so the best of both may come from different iterates.
inline void keep_better(const Vector& theta, double primal, Vector alpha, double dual, Solution& best) {
    if (primal < best.objective) best.objective = primal, best.theta = theta;
    if (dual > best.dual_objective) best.dual_objective = dual, best.alpha = std::move(alpha);
}

// Evaluates both objectives at (theta, alpha), alpha made feasible first, and keeps the pair if it is better.
template <class Rows>
bool certify(const Problem<Rows>& problem, const Vector& theta, Vector alpha, Solution& best) {
    const Index d = problem.d(), D = problem.D();
    double dual;
    if (!balance(problem, alpha, dual)) return false;
    Vector z, Bw(d), g(D);
    problem.margins(theta, z);
    problem.B.times(theta.data(), Bw.data());
    double primal = 0.5 * dot(d, theta.data(), Bw.data()) + hinge_loss(problem.n(), problem.c, z.data());
    problem.A.transposed_times(alpha.data(), g.data());
    if (problem.q) {
        primal -= dot(D, problem.q, theta.data());
        axpy(D, 1.0, problem.q, g.data());
    }
    primal += problem.constant;
    dual += problem.constant - 0.5 * problem.B.inverse_quadratic(g.data());
    keep_better(theta, primal, std::move(alpha), dual, best);
    return true;
}

// The pair theta = 0, alpha = 0, which is always valid and which no start may be worse than.
template <class Rows>
void certify_zero(const Problem<Rows>& problem, Solution& best) {
    best.theta.assign(problem.D(), 0.0), best.alpha.assign(problem.n(), 0.0);
    if (problem.q) return certify(problem, best.theta, best.alpha, best), void();
    // Summed as elsewhere, so that a theta next to zero is not better by a rounding error.
    const Vector ones(problem.n(), 1.0);
    best.dual_objective = problem.constant;
    best.objective = hinge_loss(problem.n(), problem.c, ones.data()) + problem.constant;
}

}  // namespace rm
