// The hinge problem, its certificate, and what a solver carries from one call to the next.
//
//   min over theta = (w, b):  1/2 w'Bw - q'theta + constant + sum_i c_i max(0, z_i),   z = t - A theta
//
// The targets t are one, but for regression: there every row has two sides, y (f - target) less the tube that is free of loss.
// q and constant come from a caller whose regulariser is not a quadratic form but has one as its model, and from
// sifting, for rows whose multiplier is fixed.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>

#include "rows/contract.hpp"
#include "solver.hpp"
#include "strategy.hpp"

namespace rm {

template <class Rows>
struct Problem {
    static_assert(IsRows<Rows>);
    const Rows& A;
    const Regularizer& B;
    const double* c;
    const double* y;
    const double* q = nullptr;  // length D
    double constant = 0.0;
    const double* t = nullptr;  // targets, or null: all are one

    Index n() const { return A.n(); }
    Index d() const { return A.d(); }
    Index D() const { return A.D(); }
    bool intercept() const { return D() > d(); }
    double target(Index i) const { return t ? t[i] : 1.0; }
    void margins(const Vector& theta, Vector& z) const {
        z.resize(n());
        Vector negative(theta.size());
        for (std::size_t k = 0; k < theta.size(); ++k) negative[k] = -theta[k];
        A.times(negative.data(), z.data());
        for (Index i = 0; i < n(); ++i) z[i] += target(i);
    }
    // All but the loss.
    double smooth_part(const Vector& theta) const {
        const double linear = q ? dot(D(), q, theta.data()) : 0.0;
        return 0.5 * B.quadratic(theta.data()) - linear + constant;
    }
};

struct Solution {
    Vector theta, alpha;
    double objective = HUGE_VAL, dual_objective = -HUGE_VAL;
    int n_iter = 0;
    bool slow = false;  // whether visits to the rows took too long: with a larger C they do too
    Solver solver = Solver::zero;
    bool sifted = false;  // whether `solver` solved it on the rows that sifting left free
    int solver_code() const { return int(solver) + (sifted ? kSolvers : 0); }
    double gap() const { return (objective - dual_objective) / std::max(std::abs(objective), 1e-300); }
};

// Runs a method, which returns its name, and credits it with `best` where the gap is smaller afterwards.
template <class Run>
void run_and_credit(Solution& best, const Run& run) {
    const double before = best.gap();
    const Solver solver = run();
    if (best.gap() < before) best.solver = solver, best.sifted = false;
}

enum class Method { automatic, direct, interior_point };  // direct: no sifting; interior_point: nothing before it

struct Options {
    double tol = 1e-6;
    int max_iter = 1000;
    Method method = Method::automatic;
    Poll poll;
};

// The sum of targets times multipliers, which the dual objective has.
template <class Rows>
double reward(const Problem<Rows>& problem, const Vector& alpha) {
    if (problem.t) return dot(problem.n(), problem.t, alpha.data());
    return std::accumulate(alpha.begin(), alpha.end(), 0.0);
}

// Moves alpha into the box and to y'alpha + q_b = 0: shrink the side that carries too much, then grow the other. False if
// out of reach; `total` becomes the sum of targets times multipliers.
template <class Rows>
bool balance(const Problem<Rows>& problem, Vector& alpha, double& total) {
    const BoxSums sums = clip_to_box(problem.n(), problem.y, problem.c, alpha.data());
    total = sums.up + sums.down;
    if (!problem.intercept()) return total = problem.t ? reward(problem, alpha) : total, true;
    const double residual = (problem.q ? problem.q[problem.d()] : 0.0) + sums.up - sums.down;
    const double label = residual > 0 ? 1.0 : -1.0, excess = std::abs(residual);
    const double heavy = residual > 0 ? sums.up : sums.down, room = residual > 0 ? sums.room_down : sums.room_up;
    const double shrink = std::min(excess, heavy), grow = excess - shrink;
    if (grow > room * (1 + 1e-12)) return false;
    const double scale = heavy > 0 ? 1.0 - shrink / heavy : 1.0, fill = grow > 0 ? grow / room : 0.0;
    shift_in_box(problem.n(), problem.y, label, scale, fill, problem.c, alpha.data());
    total += grow - shrink;
    if (problem.t) total = reward(problem, alpha);
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
    const Index D = problem.D();
    double dual;
    if (!balance(problem, alpha, dual)) return false;
    Vector z, g(D);
    problem.margins(theta, z);
    double primal = problem.smooth_part(theta) + hinge_loss(problem.n(), problem.c, z.data());
    problem.A.transposed_times(alpha.data(), g.data());
    if (problem.q) axpy(D, 1.0, problem.q, g.data());
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
    Vector z(problem.n());
    for (Index i = 0; i < problem.n(); ++i) z[i] = problem.target(i);
    best.dual_objective = problem.constant;
    best.objective = hinge_loss(problem.n(), problem.c, z.data()) + problem.constant;
}

// Where rows of equal weight pull from both sides, the loss is flat in the intercept up to the next kinks: the middle is
// taken, whatever method found the separator, and whichever end of the flat part it stopped at. A multiplier between its
// bounds belongs to a row on the margin, which says where b is.
template <class Rows>
void centre_intercept(const Problem<Rows>& problem, double tol, const Vector& alpha, Vector& theta) {
    const Index n = problem.n();
    if (!problem.intercept() || n > strategy::kCentredRows) return;
    for (Index i = 0; i < n; ++i)
        if (alpha[i] > 0.05 * problem.c[i] && alpha[i] < 0.95 * problem.c[i]) return;
    Vector z;
    problem.margins(theta, z);
    // Rows within `here` of their kink are on it: those of label +1 pull to the left of it, of label -1 to the right.
    const double here = std::sqrt(tol);
    double pull = 0, weight = 0, left = 0, right = 0, above = HUGE_VAL, below = HUGE_VAL;
    for (Index i = 0; i < n; ++i) {
        const double signed_weight = problem.y[i] * problem.c[i];
        if (std::abs(z[i]) <= here) {
            (signed_weight > 0 ? left : right) += signed_weight, weight += problem.c[i];
            continue;
        }
        if (z[i] > 0) pull += signed_weight, weight += problem.c[i];
        double& kink = problem.y[i] * z[i] > 0 ? above : below;
        kink = std::min(kink, std::abs(z[i]));
    }
    const bool flat_above = std::abs(pull + right) <= 1e-9 * weight, flat_below = std::abs(pull + left) <= 1e-9 * weight;
    const double step = 0.5 * ((flat_above ? above : 0.0) - (flat_below ? below : 0.0));
    if (!std::isfinite(step)) return;
    const double before = hinge_loss(n, problem.c, z.data());
    for (Index i = 0; i < n; ++i) z[i] -= problem.y[i] * step;
    if (hinge_loss(n, problem.c, z.data()) <= before * (1 + 1e-14)) theta[problem.d()] += step;
}

}  // namespace rm
