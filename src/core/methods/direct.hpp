// One problem without sifting: one multiplier after the other where features are many; Newton's method, in the rows where these
// are few; the interior point where it stalls; principal axes where that stalls too.
#pragma once
#include "methods/conjugate_gradients.hpp"
#include "methods/coordinate_descent.hpp"
#include "methods/principal_axes.hpp"
#include "methods/row_newton.hpp"

namespace rm {

template <class Rows>
double stored_numbers(const Rows& rows) {
    double stored = 0;
    for (Index i = 0; i < rows.n(); ++i) stored += double(rows.stored(i));
    return std::max(stored, 1.0);
}

// Moves one multiplier after the other, where that pays, and leaves what it found in `best`. Returns whether it did.
template <class Rows>
bool visit_rows(const Problem<Rows>& problem, const Options& options, const Solution& start, Solution& best) {
    if constexpr (CanVisit<Rows>) {
        const Index n = problem.n(), d = problem.d();
        if (options.method == Method::interior_point || problem.q || problem.B.dense()) return false;
        if (!strategy::visit(d) || !problem.A.contiguous()) return false;
        if (!strategy::visit_from(abilities<Rows>, !start.alpha.empty())) return false;
        if (start.slow) return false;
        const double stored = stored_numbers(problem.A);
        run_and_credit(best, [&] {
            CoordinateDescent<Rows>(problem, options)
                .run(start, strategy::patience(abilities<Rows>, n, d, stored, options.max_iter), best);
            return Solver::coordinate_descent;
        });
        best.slow = best.gap() > options.tol && !strategy::only_visits(n, problem.D());
        return true;
    }
    return false;
}

// Newton's method from `start`, and what there is where it stalls.
template <class Rows>
void solve_by_newton(const Problem<Rows>& problem, const Options& options, const Solution& start, double penalty,
                     Solution& best) {
    const bool warm_alpha = !start.alpha.empty();
    Vector reference(problem.n(), 0.5);
    if (warm_alpha)
        for (Index i = 0; i < problem.n(); ++i)
            reference[i] = std::clamp(start.alpha[i] / problem.c[i], 0.0, 1.0);
    if (penalty == 0.0)
        penalty = warm_alpha ? strategy::kWarmPenalty : strategy::kColdPenalty;
    const Index n = problem.n(), d = problem.d();
    const auto left = [&] { return options.max_iter - best.n_iter; };
    const int budget = options.method == Method::interior_point ? 0 : std::min(left(), strategy::kNewtonSteps);
    const bool by_rows = !problem.q && strategy::in_row_space(abilities<Rows>, n, d, problem.B.dense());
    const auto newton = [&](const Vector& theta, Vector from, double s, int steps) {
        run_and_credit(best, [&] {
            Newton<Rows>(problem, options).run(theta, std::move(from), s, steps, best);
            return Solver::newton;
        });
    };
    if constexpr (CanRowGram<Rows>)
        if (by_rows)
            run_and_credit(best, [&] {
                return RowNewton<Rows>(problem, options).run(start.alpha, std::move(reference), penalty, budget, best);
            });
    if (!by_rows) newton(start.theta, std::move(reference), penalty, budget);
    const auto unfinished = [&] { return !(best.gap() <= options.tol) && left() > 0; };
    if (by_rows && budget > 0 && unfinished() && strategy::after_rows(problem.D()))
        newton({}, Vector(n, 0.5), strategy::kColdPenalty, std::min(left(), strategy::kNewtonSteps));
    if (unfinished() && strategy::interior_point(n, d, by_rows))
        run_and_credit(best, [&] {
            InteriorPoint<Rows>(problem, options).run(Vector(problem.D(), 0.0), left(), best);
            return Solver::interior_point;
        });
    if (unfinished() && strategy::principal_axes(n, d))
        run_and_credit(best, [&] {
            PrincipalAxes<Rows>(problem, options).run(left(), best);
            return Solver::principal_axes;
        });
}

// Newton's method without matrices from what `best` holds: closely, or from nothing.
template <int kSteps, class Rows>
void iterate_newton(const Problem<Rows>& problem, const Options& options, bool closely, Solution& best) {
    const Solution start = best;
    Vector reference(problem.n(), 0.5);
    for (Index i = 0; closely && i < problem.n(); ++i) reference[i] = std::clamp(start.alpha[i] / problem.c[i], 0.0, 1.0);
    run_and_credit(best, [&] {
        Newton<Rows, IteratedSystem<Rows, kSteps>>(problem, options)
            .run(closely ? start.theta : Vector{}, std::move(reference),
                 closely ? strategy::kWarmPenalty : strategy::kColdPenalty,
                 std::min(options.max_iter - best.n_iter, strategy::kNewtonSteps), best);
        return Solver::conjugate_gradients;
    });
}

// Goes on by products with the rows, where that is quicker than a factor, from what `best` holds: what visits have found, or the
// solution at the C before; and by visits again should these stall where there is nothing else. Returns whether all is done.
template <class Rows>
bool finish_by_products(const Problem<Rows>& problem, const Options& options, Solution& best) {
    if constexpr (CanVisit<Rows>) {
        const Index n = problem.n(), D = problem.D();
        if (!strategy::by_products(abilities<Rows>, n, D, stored_numbers(problem.A))) return false;
        const auto done = [&] { return best.gap() <= options.tol || best.n_iter >= options.max_iter; };
        iterate_newton<strategy::kConjugateSteps>(problem, options, strategy::start_closely(n, D, best.gap()), best);
        if (!done() && !strategy::only_visits(n, D))
            iterate_newton<strategy::kMoreConjugateSteps>(problem, options, true, best);
        if (done() || !strategy::only_visits(n, D)) return done();
        Options rest = options;
        rest.max_iter = options.max_iter - best.n_iter;
        const Solution from = best;
        run_and_credit(best, [&] {
            CoordinateDescent<Rows>(problem, rest).run(from, {HUGE_VAL, 0}, best);
            return Solver::coordinate_descent;
        });
        return true;
    }
    return false;
}

template <class Rows>
void certify_start(const Problem<Rows>& problem, const Solution& start, Solution& best) {
    run_and_credit(best, [&] {
        certify(problem, start.theta, start.alpha, best);
        return Solver::warm_start;
    });
}

// Solves from the start that `start` carries (empty: cold).
template <class Rows>
Solution solve_direct(const Problem<Rows>& problem, const Options& options, const Solution& start,
                      double penalty = 0.0) {
    Solution best;
    certify_zero(problem, best);
    best.slow = start.slow;
    const bool visited = visit_rows(problem, options, start, best);
    if (visited && (best.gap() <= options.tol || best.n_iter >= options.max_iter)) return best;
    const bool from_start = start.slow && !start.alpha.empty();  // visits were too slow at the C before, or have been at this one
    if (from_start) certify_start(problem, start, best);
    if ((visited || from_start) && finish_by_products(problem, options, best)) return best;
    Solution from = visited ? best : start;
    if ((visited || best.slow) && !strategy::is_near(from.gap())) from.alpha.clear();
    solve_by_newton(problem, options, from, visited ? 0.0 : penalty, best);
    return best;
}

}  // namespace rm
