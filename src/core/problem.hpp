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
        A.times(theta.data(), z.data());
        for (auto& zi : z) zi = 1.0 - zi;
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

// Moves alpha to y'alpha + q_b = 0 within the box: shrink the side that carries too much, then grow the other.
template <class Rows>
bool balance(const Problem<Rows>& problem, Vector& alpha) {
    if (!problem.intercept()) return true;
    double residual = problem.q ? problem.q[problem.d()] : 0.0, heavy = 0, room = 0;
    for (Index i = 0; i < problem.n(); ++i) residual += problem.y[i] * alpha[i];
    const double sign = residual > 0 ? 1.0 : -1.0;
    for (Index i = 0; i < problem.n(); ++i) {
        if (problem.y[i] == sign)
            heavy += alpha[i];
        else
            room += problem.c[i] - alpha[i];
    }
    residual = std::abs(residual);
    const double shrink = std::min(residual, heavy), grow = residual - shrink;
    if (grow > room * (1 + 1e-12)) return false;
    const double scale = heavy > 0 ? 1.0 - shrink / heavy : 1.0, fill = grow > 0 ? grow / room : 0.0;
    for (Index i = 0; i < problem.n(); ++i) {
        if (problem.y[i] == sign)
            alpha[i] *= scale;
        else
            alpha[i] += fill * (problem.c[i] - alpha[i]);
    }
    return true;
}

// Evaluates both objectives at (theta, alpha), alpha made feasible first, and keeps the pair if it is better.
template <class Rows>
bool certify(const Problem<Rows>& problem, const Vector& theta, Vector alpha, Solution& best) {
    const Index d = problem.d(), D = problem.D();
    for (Index i = 0; i < problem.n(); ++i) alpha[i] = std::clamp(alpha[i], 0.0, problem.c[i]);
    if (!balance(problem, alpha)) return false;
    Vector z, Bw(d), g(D);
    problem.margins(theta, z);
    problem.B.times(theta.data(), Bw.data());
    double primal = 0.5 * dot(d, theta.data(), Bw.data()) + problem.constant, dual = problem.constant;
    for (Index i = 0; i < problem.n(); ++i) {
        primal += problem.c[i] * std::max(z[i], 0.0);
        dual += alpha[i];
    }
    problem.A.transposed_times(alpha.data(), g.data());
    if (problem.q) {
        primal -= dot(D, problem.q, theta.data());
        axpy(D, 1.0, problem.q, g.data());
    }
    dual -= 0.5 * problem.B.inverse_quadratic(g.data());
    // Each side is a bound of its own, so the best of both may come from different iterates.
    if (primal < best.objective) best.objective = primal, best.theta = theta;
    if (dual > best.dual_objective) best.dual_objective = dual, best.alpha = std::move(alpha);
    return true;
}

}  // namespace rm
