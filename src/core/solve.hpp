// Which method, when: sifting for many rows, Newton always (in the rows where these are few), the interior point where
// Newton stalls.
#pragma once
#include "inner_products.hpp"
#include "interior_point.hpp"
#include "principal_axes.hpp"
#include "row_newton.hpp"

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
    const int budget = std::min(options.max_iter, options.newton_budget);
    if constexpr (std::is_same_v<Rows, InnerProducts>) {  // the other methods need features
        RowNewton<Rows>(problem, options).run(start.alpha, std::move(reference), penalty, budget, best);
    } else {
        if (row_space_pays(problem, options))
            RowNewton<Rows>(problem, options).run(start.alpha, std::move(reference), penalty, budget, best);
        else
            Newton<Rows>(problem, options).run(start.theta, std::move(reference), penalty, budget, best);
        const auto unfinished = [&] { return !(best.gap() <= options.tol) && best.n_iter < options.max_iter; };
        if (unfinished())
            InteriorPoint<Rows>(problem, options).run(Vector(problem.D(), 0.0), options.max_iter - best.n_iter, best);
        if (unfinished() && PrincipalAxes<Rows>::possible(problem))
            PrincipalAxes<Rows>(problem, options).run(options.max_iter - best.n_iter, best);
    }
    return best;
}

// Calls f with the rows J of a data matrix in the form that is fastest to solve.
template <class F>
auto with_rows(const DenseRows& data, const std::vector<Index>& J, const Poll& poll, F&& f) {
    const Index m = static_cast<Index>(J.size());
    return data.d() < blas::kSmall ? f(data.columns(J.data(), m, poll)) : f(data.rows(J.data(), m, poll));
}
template <class F>
auto with_rows(const SparseRows& data, const std::vector<Index>& J, const Poll& poll, F&& f) {
    return f(data.rows(J.data(), static_cast<Index>(J.size()), poll));
}

inline Vector pick(const double* from, const std::vector<Index>& J) {
    Vector out(J.size());
    for (std::size_t j = 0; j < J.size(); ++j) out[j] = from[J[j]];
    return out;
}

}  // namespace rm
