// How multipliers of a kernel problem move: in pairs, alone where there is no intercept, and all of those between their bounds at
// once where pairs have had the time of a factorisation.
#pragma once
#include "methods/free_rows.hpp"
#include "methods/working_set.hpp"

namespace rm {

class PairMoves {
  public:
    PairMoves(KernelProblem& problem, WorkingSet& set, bool strict) : p_(problem), set_(set), strict_(strict) {}

    // Moves `most` pairs, or as many as there are that violate optimality; returns how many.
    Index move_some(Index most) {
        Index moved = 0;
        while (moved < most && (p_.intercept ? move_pair() : move_single())) ++moved;
        since_newton_ += moved;
        return moved;
    }

    // Newton's steps, several: each may bring rows to a bound, and on a kernel of low rank all but a few must get there. Returns
    // whether there was one.
    bool move_free_rows() {
        if (!is_time_for_newton(2)) return false;
        double work = 0;
        for (Index repeat = 0; repeat < strategy::kNewtonRepeats && work < strategy::kNewtonWork; ++repeat) {
            const std::vector<Index> free = set_.free_places();
            const Index m = Index(free.size());
            if (m < 2 || m > strategy::kMostFree || (repeat == 0 && !is_time_for_newton(m))) break;
            since_newton_ = 0, work += double(m) * double(m) * double(m);
            if (!newton_step(free)) break;
        }
        return work > 0;
    }

    bool met_negative_curvature() const { return negative_; }

  private:
    static constexpr double kFlat = 1e-7;  // relative curvature of a pair below which it is rounding

    bool is_time_for_newton(Index m) const { return strategy::try_newton(since_newton_, m, set_.size(), strict_); }

    // False where no pair violates optimality.
    bool move_pair() {
        set_.keep_within_budget();
        const Index i = set_.top();
        if (i < 0) return false;
        const float* Ki = set_.row(i);
        const Index j = set_.best_partner(i, Ki);
        if (j < 0) return false;
        const Index a = set_.row_of(i), z = set_.row_of(j);
        const Vector& diagonal = p_.rows.diagonal();
        const double own = diagonal[p_.stored(a)], other = diagonal[p_.stored(z)];
        const double scale = std::abs(own) + std::abs(other) + 1e-30;
        const double curvature = checked_curvature(own + other - 2.0 * double(Ki[set_.column(j)]), scale);
        const double step = double(set_.f(i) - set_.f(j)) / curvature;
        set_.move_pair(i, Ki, j, std::min({step, p_.room_up(a), p_.room_down(z)}));
        return true;
    }

    bool move_single() {
        set_.keep_within_budget();
        const Index k = set_.best_alone();
        if (k < 0) return false;
        const Index i = set_.row_of(k);
        const double own = p_.rows.diagonal()[p_.stored(i)];
        const double step = double(set_.f(k)) / checked_curvature(own, std::abs(own) + 1e-30);
        set_.move_one(k, std::clamp(step, -p_.room_down(i), p_.room_up(i)));
        return true;
    }

    double checked_curvature(double curvature, double scale) {
        if (curvature < -strategy::kNegativeCurvature * scale) negative_ = true;
        return std::max(curvature, kFlat * scale);
    }

    // Whether it brought a row to its bound.
    bool newton_step(const std::vector<Index>& places) {
        const Index m = Index(places.size());
        std::vector<Index> rows(m);
        Vector K(m * m), f(m), down(m), up(m);
        for (Index r = 0; r < m; ++r) {
            const Index i = set_.row_of(places[r]);
            rows[r] = p_.stored(i), f[r] = set_.f(places[r]), down[r] = p_.room_down(i), up[r] = p_.room_up(i);
        }
        p_.rows.source().block(rows.data(), m, rows.data(), m, K.data());
        p_.poll();
        const Vector step = FreeRows(std::move(K), std::move(f), std::move(down), std::move(up), p_.intercept).step();
        bool arrived = false;
        for (Index r = 0; r < Index(step.size()); ++r) {
            set_.keep_within_budget();
            set_.move_one(places[r], step[r]);
            arrived = arrived || !set_.may_go_both_ways(places[r]);
        }
        set_.find_top();
        return arrived;
    }

    KernelProblem& p_;
    WorkingSet& set_;
    const bool strict_;
    bool negative_ = false;
    Index since_newton_ = 0;
};

}  // namespace rm
