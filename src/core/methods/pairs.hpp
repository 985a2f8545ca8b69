// The kernel machine: second-order pairs (Fan, Chen and Lin 2005) on rows of the kernel that are computed when needed.
//
// A pair costs two passes over the working set. K in single precision is not K: where the gap seems closed, f is computed
// anew in double precision wherever it matters, which gives the strict certificate, or a better start for what remains.
#pragma once
#include "methods/kernel_certificate.hpp"
#include "methods/kernel_interior_point.hpp"
#include "methods/pair_moves.hpp"

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
    Pairs(KernelRows& rows, KernelSides sides, const PairOptions& options)
        : options_(options), p_(rows, std::move(sides), options.intercept, [this] { poll(-1, NAN); }), set_(p_),
          moves_(p_, set_, options.strict) {}
    Pairs(const Pairs&) = delete;

    void begin_at(const double* alpha) { p_.begin_at(alpha); }

    PairSolution solve(double C) {
        begin(C);
        for (;;) {
            for (look(); is_worth_moving(); look()) move();
            const bool looked_at_all = set_.is_home();
            set_.leave();
            if (looked_at_all && is_finished()) return found_;
            go_home();
        }
    }

    const Vector& alpha() const { return p_.alpha; }
    const Vector& f() const { return p_.f; }
    bool met_negative_curvature() const { return negative_ || moves_.met_negative_curvature(); }

  private:
    void poll(Index pairs, double gap) const {
        if (options_.poll) options_.poll(pairs, gap);
    }

    void begin(double C) {
        p_.rescale(C);
        loss_of_zero_ = 0.0;
        for (Index i : p_.taking_part) loss_of_zero_ += p_.c[i] * std::max(p_.target(i), 0.0);
        if (set_.are_dear() && p_.is_cold()) begin_with_sample(C);
        found_ = {}, target_ = strategy::kFirstTarget * options_.tol, certificates_ = polished_ = 0;
        go_home();
    }
    // Where rows are dear, those that a sample of the problem needs come first, together.
    void begin_with_sample(double C) {
        const Index taking_part = Index(p_.taking_part.size()) / (p_.sides.twice() ? 2 : 1), m = taking_part / strategy::kSampleEvery;
        if (m < strategy::kSmallestSample) return;
        std::vector<Index> J(m);
        Vector alpha(p_.n, 0.0);
        for (Index k = 0; k < m; ++k) J[k] = p_.taking_part[k * strategy::kSampleEvery];
        const KernelSides sides = p_.sides.of(J);
        auto part = p_.rows.source().part(J);
        if (!part) return;
        KernelRows rows(std::move(part), p_.rows.budget());
        PairOptions loose = options_;
        loose.tol = std::max(strategy::kLooseSample, options_.tol), loose.strict = false;
        Pairs sample(rows, sides, loose);
        sample.solve(C);
        for (Index k = 0; k < m; ++k) {
            alpha[J[k]] = sample.alpha()[k];
            if (sides.twice()) alpha[p_.sides.second + J[k]] = sample.alpha()[sides.second + k];
        }
        begin_at(alpha.data());
    }
    void go_home() { set_.go_home(), begin_set(); }
    void begin_set() {
        begun_from_ = std::min(1.0, std::abs(set_.corridor().width())), best_gap_ = HUGE_VAL, since_better_ = 0, stuck_ = false;
    }

    // Where the working set stands. Rows that sleep may wake.
    void look() {
        corridor_ = set_.corridor(), gap_ = gap_now();
        poll(found_.n_pairs, gap_);
        late_ = found_.n_pairs / p_.n >= most_sweeps();
        if (set_.wake(corridor_)) stuck_ = false;
    }
    // P - D is a sum over rows, to which those that are not in the working set add nothing that is known of.
    double gap_now() {
        const PairSums sums = set_.sums(options_.intercept ? corridor_.middle() : 0.0);
        if (set_.is_home()) primal_ = 0.5 * sums.square + sums.loss;
        return sums.gap / std::max(scale(), 1e-300);
    }
    double scale() const { return options_.strict ? primal_ : loss_of_zero_; }

    bool is_worth_moving() { return is_far() && !is_exhausted() && !stuck_ && !late_; }
    bool is_far() const { return gap_ > target_ || corridor_.width() > strategy::widest_corridor(options_.tol); }
    // Whether single precision can tell no more: the corridor is as narrow as its rounding, from where f began and where
    // the intercept is, or the gap has not come down for long.
    bool is_exhausted() {
        if (strategy::has_come_down(gap_, best_gap_)) best_gap_ = gap_, since_better_ = 0;
        const double rounding = strategy::kRoundingOfPairs * std::max(std::abs(corridor_.middle()), begun_from_);
        return corridor_.width() <= rounding || since_better_ > strategy::kExhaustedSweeps * set_.size();
    }

    void move() {
        if (set_.shrink(corridor_)) begin_set();
        const Index moved = moves_.move_some(strategy::pairs_at_once(set_.size(), set_.are_dear()));
        found_.n_pairs += moved, since_better_ += moved, stuck_ = moved == 0;
        if (moves_.move_free_rows()) found_.solver = Solver::smo_newton;
    }

    // Whether what was found by all rows will do, or is all that there is time for; else the target is tighter from now on.
    bool is_finished() {
        found_.late = late_ && options_.max_sweeps <= found_.n_pairs / p_.n;
        if (!options_.strict) return estimate(), true;
        if (certify(found_) && (late_ || is_narrow() || ++polished_ > strategy::kPolishes)) return true;
        if (late_ || ++certificates_ == strategy::kCertificates) return finish_inside(), true;
        if (gap_ <= target_) target_ *= strategy::kTighterTarget;
        return false;
    }
    // What single precision says about the objectives.
    void estimate() {
        found_.intercept = options_.intercept ? set_.origin() + corridor_.middle() : 0.0;
        found_.objective = primal_, found_.dual_objective = primal_ - gap_ * scale();
    }
    // The strict certificate; where it is not met, f is the better for it.
    bool certify(PairSolution& found) {
        KernelCertificate(p_).evaluate(found);
        negative_ = negative_ || found.negative;
        return found.gap() <= options_.tol;
    }
    bool is_narrow() const { return p_.corridor_of(p_.taking_part).width() <= strategy::widest_corridor(options_.tol); }

    // The interior point, where it can and there is time for it, has what pairs did not finish.
    bool may_go_inside() const {
        return options_.strict && !met_negative_curvature() && options_.max_sweeps > strategy::kInteriorSweeps &&
               Index(p_.taking_part.size()) <= strategy::kInteriorRows;
    }
    Index most_sweeps() const {
        return may_go_inside() ? std::min(options_.max_sweeps, strategy::kInteriorSweeps) : options_.max_sweeps;
    }
    void finish_inside() {
        if (!may_go_inside()) return;
        Vector alpha = p_.alpha, f = p_.f;
        KernelInteriorPoint inside(p_, options_.tol);
        inside.solve();
        for (const bool to_bounds : {true, false}) {
            PairSolution better = found_;
            inside.hand_over(to_bounds);
            better.solver = Solver::interior_point;
            const bool is_met = certify(better);
            if (is_met || better.gap() < found_.gap()) found_ = better, alpha = p_.alpha, f = p_.f;
            if (is_met) return;
        }
        p_.alpha = alpha, p_.f = f, p_.set_known();
    }

    PairOptions options_;
    KernelProblem p_;
    WorkingSet set_;
    PairMoves moves_;
    bool negative_ = false;
    double loss_of_zero_ = 0.0, primal_ = 0.0;
    // Of one C: what was found, the gap that is aimed at, and how often all rows were looked at in double precision.
    PairSolution found_;
    double target_ = 0.0;
    int certificates_ = 0, polished_ = 0;
    // Of one working set: what it began with, the best of it, and the last look at it.
    double begun_from_ = 1.0, best_gap_ = HUGE_VAL, gap_ = HUGE_VAL;
    Index since_better_ = 0;
    Corridor corridor_{};
    bool stuck_ = false, late_ = false;
};

}  // namespace rm
