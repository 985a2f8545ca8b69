// One problem without sifting: Newton's method, in the rows where these are few; the interior point where it stalls; principal
// axes where that stalls too.
#pragma once
#include "methods/principal_axes.hpp"
#include "methods/row_newton.hpp"

namespace rm {

// Solves from the start that `start` carries (empty: cold).
template <class Rows>
Solution solve_direct(const Problem<Rows>& problem, const Options& options, const Solution& start,
                      double penalty = 0.0) {
    const bool warm_alpha = !start.alpha.empty();
    Vector reference(problem.n(), 0.5);
    if (warm_alpha)
        for (Index i = 0; i < problem.n(); ++i)
            reference[i] = std::clamp(start.alpha[i] / problem.c[i], 0.0, 1.0);
    if (penalty == 0.0)
        penalty = warm_alpha ? newton_constants::kWarmPenalty : newton_constants::kColdPenalty;
    Solution best;
    certify_zero(problem, best);
    const Index n = problem.n(), d = problem.d();
    const int budget = options.method == Method::interior_point ? 0 : std::min(options.max_iter, strategy::kNewtonSteps);
    const bool by_rows = !problem.q && strategy::in_row_space(abilities<Rows>, n, d, problem.B.dense(), options.tol);
    if constexpr (CanRowGram<Rows>)
        if (by_rows) RowNewton<Rows>(problem, options).run(start.alpha, std::move(reference), penalty, budget, best);
    if constexpr (CanGram<Rows>)
        if (!by_rows) Newton<Rows>(problem, options).run(start.theta, std::move(reference), penalty, budget, best);
    const auto unfinished = [&] { return !(best.gap() <= options.tol) && best.n_iter < options.max_iter; };
    if constexpr (CanGram<Rows>)
        if (unfinished() && strategy::interior_point(abilities<Rows>, n, d, by_rows))
            InteriorPoint<Rows>(problem, options).run(Vector(problem.D(), 0.0), options.max_iter - best.n_iter, best);
    if (unfinished() && strategy::principal_axes(abilities<Rows>, n, d))
        PrincipalAxes<Rows>(problem, options).run(options.max_iter - best.n_iter, best);
    return best;
}

}  // namespace rm
