// One problem for every C, each from the solution before, and what is returned of it: coefficients and a certificate in the
// caller's units.
#pragma once
#include "certificate.hpp"
#include "methods/side_by_side.hpp"
#include "methods/sifting.hpp"
#include "rows/shared.hpp"
#include "rows/source.hpp"

namespace rm {

// Where the path of one problem goes; alpha is optional.
struct Sink {
    double *coef, *intercept, *objective, *dual_objective, *alpha;
    std::int64_t *n_iter, *solver;
};

// What the path of one problem is made of. `linear` holds q and the constant, or is null.
template <class Source>
struct PathProblem {
    static_assert(IsSource<Source>);
    const Source& source;
    const Chosen& chosen;
    const Regularizer& B;
    const double* linear;
    const Sizes& sizes;
    Vector weights;  // of the chosen rows
    const double* Cs;
    Index n_Cs;
};

template <class Source, class Rows>
class Path {
  public:
    Path(const PathProblem<Source>& given, const Rows& rows, const Options& options)
        : given_(given), rows_(rows), options_(options), c_(given.weights.size()), q_(rows.D(), 0.0) {
        if (given.linear) std::copy_n(given.linear, rows.d(), q_.begin());  // the intercept has no linear term
    }

    void run(Solution start, const Sink& sink) {
        for (Index k = 0; k < given_.n_Cs; ++k) start = next(step(k, start, sink), k);
    }

    // Where to start C number k + 1, from the solution of C number k.
    Solution next(Solution best, Index k) {
        Solution start;
        start.theta = std::move(best.theta), start.alpha = std::move(best.alpha), start.slow = best.slow, start.solver = Solver::warm_start;
        stays_ = all_below_bound(start.alpha);
        if (!stays_ && k + 1 < given_.n_Cs)  // the multipliers at their bound stay there when C grows
            for (auto& a : start.alpha) a *= given_.Cs[k + 1] / given_.Cs[k];
        return start;
    }

    // C number k, from a start that may be a solution already, by its bounds.
    Solution step(Index k, Solution start, const Sink& sink) {
        const Index d = given_.source.d, n = given_.source.n;
        for (std::size_t i = 0; i < c_.size(); ++i) c_[i] = given_.Cs[k] * given_.weights[i];
        const Chosen& chosen = given_.chosen;
        Problem<Rows> problem{rows_, given_.B, c_.data(), chosen.y.data()};
        if (chosen.twice()) problem.t = chosen.t.data();
        if (given_.linear) problem.q = q_.data(), problem.constant = given_.linear[d];
        if (stays_) certify(problem, start.theta, start.alpha, start);
        Solution best = solve_and_return(problem, start, sink.coef + k * d, sink.intercept[k]);
        sink.objective[k] = best.objective;
        sink.dual_objective[k] = std::min(best.dual_objective, best.objective);
        sink.n_iter[k] = best.n_iter, sink.solver[k] = best.solver_code();
        if (sink.alpha)
            for (std::size_t i = 0; i < c_.size(); ++i) {  // those of the two sides of a row make one, which is signed
                double& alpha = sink.alpha[k * n + chosen.J[i]];
                alpha = chosen.twice() ? alpha + chosen.y[i] * best.alpha[i] : best.alpha[i];
            }
        return best;
    }

  private:
    // Where no multiplier is at its bound, a larger C changes nothing.
    bool all_below_bound(const Vector& alpha) const {
        for (std::size_t i = 0; i < c_.size(); ++i)
            if (alpha[i] >= c_[i]) return false;
        return true;
    }

    // Where the caller's origin is far away a little more is needed than a gap at ours.
    Solution solve_and_return(const Problem<Rows>& problem, const Solution& start, double* coef, double& intercept) const {
        Solution best, again_from;
        Options options = options_;
        for (int spent = 0, again = 0;; ++again) {
            best = solve(problem, options, again ? again_from : start);
            best.n_iter = spent += best.n_iter;
            // Nothing finite was found (an overflow): the zero solution, whose gap says what it is worth.
            if (best.theta.empty()) best.theta.assign(rows_.D(), 0.0);
            if (best.alpha.empty()) best.alpha.assign(c_.size(), 0.0);
            centre_intercept(problem, options_.tol, best.alpha, best.theta);
            const bool reached = best.gap() <= options_.tol;
            put_back(problem, best, coef, intercept);
            if (!reached || best.gap() <= options_.tol || spent >= options_.max_iter || again == strategy::kTightened)
                return best;
            options.tol *= strategy::kTighten, options.max_iter = options_.max_iter - spent;
            again_from = best;
            again_from.n_iter = 0;
        }
    }

    Solution solve(const Problem<Rows>& problem, const Options& options, const Solution& start) const {
        if (start.gap() <= options.tol || start.n_iter >= options.max_iter) return start;
        Solution sifted;
        sifted.n_iter = start.n_iter;
        if (options.method == Method::automatic && strategy::sift(problem.n(), problem.D(), options.tol, on_path())) {
            certify_zero(problem, sifted);
            if (Sifting<Rows>(problem, options).run(start, on_path(), sifted) || sifted.n_iter >= options.max_iter) return sifted;
        }
        Options rest = options;
        rest.max_iter = options.max_iter - sifted.n_iter;
        Solution best = solve_direct(problem, rest, sifted.gap() < 1 ? sifted : start);
        best.n_iter += sifted.n_iter;
        if (best.gap() <= options.tol) return best;
        const double before = best.objective;
        keep_better(sifted.theta, sifted.objective, sifted.alpha, sifted.dual_objective, best);
        if (best.objective < before) best.solver = sifted.solver, best.sifted = sifted.sifted;
        if (!start.theta.empty() && !start.alpha.empty()) certify_start(problem, start, best);
        return best;
    }

    bool on_path() const { return given_.n_Cs > 1; }

    // Coefficients in the caller's units, and the certificate of these.
    void put_back(const Problem<Rows>& problem, Solution& best, double* coef, double& intercept) const {
        const Chosen& chosen = given_.chosen;
        const Index d = problem.d();
        std::copy_n(best.theta.data(), d, coef);
        TwiceDouble shifted;
        exact_dot(d, chosen.mean.data(), coef, shifted.sum, shifted.rest);
        intercept = chosen.intercept ? (best.theta[d] - shifted.sum) - shifted.rest : 0.0;
        const double share = best.gap() <= options_.tol ? std::min(strategy::kUnseen * options_.tol, strategy::kUnseenOfObjective) : 0.0;
        Certificate<Source, Rows>(given_.source, chosen, problem, coef, intercept).apply(given_.sizes, share, best);
    }

    const PathProblem<Source>& given_;
    const Rows& rows_;
    const Options& options_;
    Vector c_, q_;
    bool stays_ = false;  // what solved the C before
};

template <class Source>
void run_path(const PathProblem<Source>& given, const Options& options, Solution start, const Sink& sink) {
    const Chosen& chosen = given.chosen;
    if (!start.theta.empty() && chosen.intercept)
        start.theta.back() += dot(static_cast<Index>(chosen.mean.size()), chosen.mean.data(), start.theta.data());
    const Index D = given.source.d + chosen.intercept;
    const Index n = static_cast<Index>(chosen.J.size());
    const bool sift = options.method == Method::automatic && strategy::leave_as_given(n, D, given.n_Cs > 1);
    const auto run = [&](const auto& rows) {
        Path<Source, std::decay_t<decltype(rows)>>(given, rows, options).run(std::move(start), sink);
    };
    if (!chosen.twice()) return given.source.with_form(chosen, sift, options.poll, run);
    const Chosen once = chosen.once();
    std::vector<Index> places(chosen.J.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<Index>(i % once.J.size());
    given.source.with_form(once, sift, options.poll, [&](const auto& rows) {
        run(SharedRows<std::decay_t<decltype(rows)>>(rows, std::move(places), chosen.y));
    });
}

// The paths of problems with the same rows, labels and Cs but for the rows that take part.
inline void run_side_by_side(const std::vector<PathProblem<SparseArray>>& given, const Options& options,
                             const std::vector<Sink>& sinks) {
    std::vector<SparseRows> rows;
    std::vector<Lane> lanes;
    rows.reserve(given.size());
    for (const auto& each : given) {
        const Chosen& chosen = each.chosen;
        rows.emplace_back(each.source, chosen.J, chosen.y, chosen.mean.data(), chosen.intercept);
        lanes.push_back({chosen, each.weights, each.B});
    }
    SideBySide descent(given[0].source, lanes, options);
    std::vector<Path<SparseArray, SparseRows>> paths;
    for (std::size_t l = 0; l < given.size(); ++l) paths.emplace_back(given[l], rows[l], options);
    std::vector<Solution> alone(given.size());  // starts of those that go on alone
    for (Index k = 0; k < given[0].n_Cs; ++k) {
        const std::vector<Solution> found = descent.solve(given[0].Cs[k]);
        for (std::size_t l = 0; l < given.size(); ++l) {
            Solution best = paths[l].step(k, alone[l].slow ? alone[l] : found[l], sinks[l]);
            if (best.slow) descent.leave(Index(l)), alone[l] = paths[l].next(std::move(best), k);
        }
    }
}

}  // namespace rm
