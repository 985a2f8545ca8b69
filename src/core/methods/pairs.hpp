// The kernel machine: second-order pairs (Fan, Chen and Lin 2005) on rows of the kernel that are computed when needed.
//
// A pair costs two passes over the working set. K in single precision is not K: where the gap seems closed, f is computed
// anew in double precision wherever it matters, which gives the strict certificate, or a better start for what remains.
#pragma once
#include "methods/free_rows.hpp"
#include "methods/kernel_certificate.hpp"
#include "methods/kernel_interior_point.hpp"
#include "methods/working_set.hpp"

namespace rm {

struct PairOptions {
    double tol;
    Index max_sweeps;  // of n pairs each
    bool intercept;
    bool strict;  // whether the gap is a certificate, in double precision and relative to the objective, or an estimate
                  // that is relative to the loss of a separator which is zero
    std::function<void(Index, double)> poll;  // pairs so far and the gap; throws when the user interrupts
};

class Pairs {
  public:
    Pairs(KernelRows& rows, const double* y, const double* weights, const PairOptions& options)
        : options_(options), p_(rows, y, weights, options.intercept, [this] { poll(-1, NAN); }), set_(p_) {}
    Pairs(const Pairs&) = delete;

    void begin_at(const double* alpha) { p_.begin_at(alpha); }

    PairSolution solve(double C) {
        p_.rescale(C);
        loss_of_zero_ = std::accumulate(p_.c.begin(), p_.c.end(), 0.0);
        if (set_.are_dear() && p_.is_cold()) begin_with_sample(C);
        PairSolution found;
        double target = 0.9 * options_.tol;
        go_home();
        bool stuck = false;
        for (int certificates = 0, polished = 0;;) {
            const Corridor corridor = set_.corridor();
            const double gap = gap_of(corridor);
            poll(found.n_pairs, gap);
            const bool late = found.n_pairs / p_.n >= most_sweeps();
            if (set_.wake(corridor)) stuck = false;
            const bool is_far = gap > target || corridor.width() > strategy::widest_corridor(options_.tol);
            if (is_far && !is_exhausted(corridor, gap) && !stuck && !late) {
                shrink(corridor);
                const Index most = strategy::pairs_at_once(set_.size(), set_.are_dear());
                const Index moved = options_.intercept ? move_pairs(most) : move_singles(most);
                found.n_pairs += moved, since_newton_ += moved, since_better_ += moved;
                stuck = moved == 0;
                move_free_rows();
                continue;
            }
            const bool at_home = set_.is_home();
            stuck = false;
            set_.leave();
            if (at_home && !options_.strict) return estimate(corridor, gap, found), found;
            if (at_home && certify(found) && (late || is_narrow() || ++polished > strategy::kPolishes)) return found;
            if (at_home && (late || ++certificates == strategy::kCertificates)) return from_inside(found);
            if (at_home && gap <= target) target *= 0.3;
            go_home();
        }
    }

    const Vector& alpha() const { return p_.alpha; }
    const Vector& f() const { return p_.f; }
    bool met_negative_curvature() const { return negative_; }

  private:
    static constexpr double kFlat = 1e-7;  // relative curvature of a pair below which it is rounding

    void poll(Index pairs, double gap) const {
        if (options_.poll) options_.poll(pairs, gap);
    }

    // The interior point, where it can and there is time for it, has what pairs did not finish.
    bool may_go_inside() const {
        return options_.strict && !negative_ && options_.max_sweeps > strategy::kInteriorSweeps &&
               Index(p_.taking_part.size()) <= strategy::kInteriorRows;
    }
    Index most_sweeps() const {
        return may_go_inside() ? std::min(options_.max_sweeps, strategy::kInteriorSweeps) : options_.max_sweeps;
    }
    PairSolution from_inside(PairSolution found) {
        if (!may_go_inside()) return found;
        Vector alpha = p_.alpha, f = p_.f;
        KernelInteriorPoint inside(p_, options_.tol);
        inside.solve();
        for (const bool to_bounds : {true, false}) {
            PairSolution better = found;
            inside.hand_over(to_bounds);
            if (certify(better)) return better;
            if (better.gap() < found.gap()) found = better, alpha = p_.alpha, f = p_.f;
        }
        p_.alpha = alpha, p_.f = f, p_.set_known();
        return found;
    }

    // Where rows are dear, those that a sample of the problem needs come first, together.
    void begin_with_sample(double C) {
        const Index m = Index(p_.taking_part.size()) / strategy::kSampleEvery;
        if (m < strategy::kSmallestSample) return;
        std::vector<Index> J(m);
        Vector y(m), weights(m), alpha(p_.n, 0.0);
        for (Index k = 0; k < m; ++k)
            J[k] = p_.taking_part[k * strategy::kSampleEvery], y[k] = p_.y[J[k]], weights[k] = p_.weights[J[k]];
        auto part = p_.rows.source().part(J);
        if (!part) return;
        KernelRows rows(std::move(part), p_.rows.budget());
        PairOptions loose = options_;
        loose.tol = std::max(strategy::kLooseSample, options_.tol), loose.strict = false;
        Pairs sample(rows, y.data(), weights.data(), loose);
        sample.solve(C);
        for (Index k = 0; k < m; ++k) alpha[J[k]] = sample.alpha()[k];
        begin_at(alpha.data());
    }

    void go_home() { set_.go_home(), begin_set(); }
    void shrink(const Corridor& corridor) {
        const Index before = set_.size();
        set_.shrink(corridor);
        if (set_.size() < before) begin_set();
    }
    void begin_set() {
        begun_from_ = std::min(1.0, std::abs(set_.corridor().width())), best_gap_ = HUGE_VAL, since_better_ = 0;
    }

    // Whether single precision can tell no more: the corridor is as narrow as its rounding, from where f began and where
    // the intercept is, or the gap has not come down for long.
    bool is_exhausted(const Corridor& corridor, double gap) {
        if (gap < 0.5 * best_gap_) best_gap_ = gap, since_better_ = 0;
        const double rounding = strategy::kRoundingOfPairs * std::max(std::abs(corridor.middle()), begun_from_);
        return corridor.width() <= rounding || since_better_ > strategy::kExhaustedSweeps * set_.size();
    }

    double checked_curvature(double curvature, double scale) {
        if (curvature < -1e-4 * scale) negative_ = true;
        return std::max(curvature, kFlat * scale);
    }

    Index move_pairs(Index most) {
        const double* diagonal = p_.rows.diagonal().data();
        for (Index count = 0; count < most; ++count) {
            set_.keep_within_budget();
            const Index i = set_.top();
            if (i < 0) return count;
            const float* Ki = set_.row(i);
            const Index j = set_.best_partner(i, Ki);
            if (j < 0) return count;
            const Index a = set_.row_of(i), z = set_.row_of(j);
            const double scale = std::abs(diagonal[a]) + std::abs(diagonal[z]) + 1e-30;
            const double curvature = checked_curvature(diagonal[a] + diagonal[z] - 2.0 * double(Ki[j]), scale);
            const double step = double(set_.f(i) - set_.f(j)) / curvature;
            set_.move_pair(i, Ki, j, std::min({step, p_.room_up(a), p_.room_down(z)}));
        }
        return most;
    }

    // Without an intercept every multiplier may move alone.
    Index move_singles(Index most) {
        for (Index count = 0; count < most; ++count) {
            set_.keep_within_budget();
            const Index k = set_.best_alone();
            if (k < 0) return count;
            const Index i = set_.row_of(k);
            const double own = p_.rows.diagonal()[i];
            const double step = double(set_.f(k)) / checked_curvature(own, std::abs(own) + 1e-30);
            set_.move_one(k, std::clamp(step, -p_.room_down(i), p_.room_up(i)));
        }
        return most;
    }

    // Where pairs have had the time of a factorisation, Newton's steps for those between their bounds: several, since each
    // may bring rows to a bound, and on a kernel of low rank all but a few must get there.
    void move_free_rows() {
        if (!strategy::try_newton(since_newton_, 2, set_.size(), options_.strict)) return;
        double work = 0;
        for (Index repeat = 0; repeat < strategy::kNewtonRepeats && work < strategy::kNewtonWork; ++repeat) {
            std::vector<Index> places;
            for (Index k = 0; k < set_.size(); ++k)
                if (set_.may_go_both_ways(k)) places.push_back(k);
            const Index m = Index(places.size());
            if (m < 2 || m > strategy::kMostFree) break;
            if (repeat == 0 && !strategy::try_newton(since_newton_, m, set_.size(), options_.strict)) break;
            since_newton_ = 0, work += double(m) * double(m) * double(m);
            if (!newton_step(places)) break;
        }
    }

    // Whether it brought a row to its bound.
    bool newton_step(const std::vector<Index>& places) {
        const Index m = Index(places.size());
        std::vector<Index> rows(m);
        Vector K(m * m), f(m), down(m), up(m);
        for (Index r = 0; r < m; ++r) {
            rows[r] = set_.row_of(places[r]);
            f[r] = set_.f(places[r]), down[r] = p_.room_down(rows[r]), up[r] = p_.room_up(rows[r]);
        }
        p_.rows.source().block(rows.data(), m, rows.data(), m, K.data());
        p_.poll();
        const Vector step = FreeRows(std::move(K), std::move(f), std::move(down), std::move(up), options_.intercept).step();
        bool arrived = false;
        for (Index r = 0; r < Index(step.size()); ++r) {
            set_.keep_within_budget();
            set_.move_one(places[r], step[r]);
            arrived = arrived || !set_.may_go_both_ways(places[r]);
        }
        set_.find_top();
        return arrived;
    }

    // P - D is a sum over rows, to which those that are not in the working set add nothing that is known of.
    double gap_of(const Corridor& v) {
        const PairSums sums = set_.sums(options_.intercept ? v.middle() : 0.0);
        if (set_.is_home()) primal_ = 0.5 * sums.square + sums.loss;
        return sums.gap / std::max(scale(), 1e-300);
    }

    double scale() const { return options_.strict ? primal_ : loss_of_zero_; }

    // What single precision says about the objectives.
    void estimate(const Corridor& v, double gap, PairSolution& found) const {
        found.intercept = options_.intercept ? set_.origin() + v.middle() : 0.0;
        found.objective = primal_, found.dual_objective = primal_ - gap * scale();
    }

    // The strict certificate; where it is not met, f is the better for it.
    bool certify(PairSolution& found) {
        KernelCertificate(p_).evaluate(found);
        negative_ = negative_ || found.negative;
        return found.gap() <= options_.tol;
    }

    bool is_narrow() const { return p_.corridor_of(p_.taking_part).width() <= strategy::widest_corridor(options_.tol); }

    PairOptions options_;
    KernelProblem p_;
    WorkingSet set_;
    bool negative_ = false;
    double primal_ = 0.0, loss_of_zero_ = 0.0, begun_from_ = 1.0, best_gap_ = HUGE_VAL;
    Index since_newton_ = 0, since_better_ = 0;
};

}  // namespace rm
