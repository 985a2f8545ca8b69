// One problem on rows of a kernel, and how far its multipliers are from the optimum.
//
//   max over alpha:  sum alpha - 1/2 v'Kv,   v = y alpha,   0 <= alpha <= c,   sum v = 0 (with an intercept)
//
// With f = y - Kv it is optimal that f_i <= f_j for all i whose v may go up and all j whose v may go down; the intercept
// lies between them. A row labelled 0 takes no part, but its f is kept: it is minus the score of a held-out row.
#pragma once
#include <cmath>
#include <functional>

#include "rows/kernel.hpp"
#include "loops/pairs.hpp"

namespace rm {

// f of those that may go up, at most, and of those that may go down, at least.
struct Corridor {
    double highest, lowest;
    double width() const { return highest - lowest; }
    double middle() const {
        if (std::isfinite(width())) return 0.5 * (highest + lowest);
        return std::isfinite(highest) ? highest : std::isfinite(lowest) ? lowest : 0.0;
    }
};

class KernelProblem {
  public:
    KernelProblem(KernelRows& rows, const double* y, const double* weights, bool intercept, std::function<void()> poll)
        : rows(rows), n(rows.n()), y(y), weights(weights), intercept(intercept), poll(std::move(poll)), alpha(n, 0.0),
          c(n, 0.0), f(y, y + n), known_(n, 0.0) {
        for (Index i = 0; i < n; ++i)
            if (y[i] != 0.0 && weights[i] > 0.0) taking_part.push_back(i);
    }

    bool may_go_up(Index i) const { return y[i] > 0 ? alpha[i] < c[i] : y[i] < 0 && alpha[i] > 0; }
    bool may_go_down(Index i) const { return y[i] > 0 ? alpha[i] > 0 : y[i] < 0 && alpha[i] < c[i]; }
    double room_up(Index i) const { return y[i] > 0 ? c[i] - alpha[i] : alpha[i]; }
    double room_down(Index i) const { return y[i] > 0 ? alpha[i] : c[i] - alpha[i]; }
    void move(Index i, double t) { alpha[i] = std::clamp(alpha[i] + y[i] * t, 0.0, c[i]); }
    bool is_cold() const {
        return std::all_of(alpha.begin(), alpha.end(), [](double a) { return a == 0.0; });
    }

    // Without an intercept the corridor is between what there is above zero and below.
    Corridor empty_corridor() const { return intercept ? Corridor{-HUGE_VAL, HUGE_VAL} : Corridor{0.0, 0.0}; }
    Corridor corridor_of(const std::vector<Index>& some) const {
        Corridor v = empty_corridor();
        for (Index i : some) {
            if (may_go_up(i)) v.highest = std::max(v.highest, f[i]);
            if (may_go_down(i)) v.lowest = std::min(v.lowest, f[i]);
        }
        return v;
    }

    // From multipliers that are feasible for some C; costs as many rows of K as are not zero.
    void begin_at(const double* start) {
        for (Index i : taking_part) alpha[i] = start[i];
        update_f();
    }

    // To the best multiple of the multipliers within the new box.
    void rescale(double C) {
        double ratio = HUGE_VAL, total = 0, square = 0;
        for (Index i : taking_part) {
            c[i] = C * weights[i];
            if (alpha[i] > 0) ratio = std::min(ratio, c[i] / alpha[i]);
            total += alpha[i], square += alpha[i] * (1.0 - y[i] * f[i]);
        }
        if (!(total > 0)) return;
        const double scale = std::min(ratio, square > 0 ? total / square : HUGE_VAL);
        for (Index i = 0; i < n; ++i) f[i] = y[i] + scale * (f[i] - y[i]);
        for (Index i : taking_part) {
            alpha[i] *= scale;
            if (alpha[i] > c[i] * (1 - 1e-12)) alpha[i] = c[i];
        }
    }

    // f -= K (v - v that it knows of), row by row of K; of all rows, or of those from first to last.
    void update_f() { update_f(0, n), set_known(); }
    void update_f(Index first, Index last) {
        constexpr Index kBatch = 48;
        std::vector<Index> changed;
        Vector step;
        for (Index i : taking_part)
            if (alpha[i] != known_[i]) changed.push_back(i), step.push_back(y[i] * (alpha[i] - known_[i]));
        const Index m = Index(changed.size());
        const float* pointers[kBatch];
        for (Index start = 0; start < m; start += kBatch) {
            const Index count = std::min(kBatch, m - start);
            rows.fetch(changed.data() + start, count);
            for (Index r = 0; r < count; ++r) pointers[r] = rows.row(changed[start + r]) + first;
            subtract_rows(last - first, count, step.data() + start, pointers, f.data() + first);
            poll();
        }
    }
    void set_known() { known_ = alpha; }  // f is that of the multipliers

    // From the multipliers alone: its error is then the rounding of K times their sum, whatever they were before.
    void compute_f_anew() {
        std::copy_n(y, n, f.begin());
        std::fill(known_.begin(), known_.end(), 0.0);
        update_f();
    }

    // Pairs keep sum v = 0 but for rounding; the row that has most room both ways takes what has gathered. Where none has, the
    // multipliers of the heavier class are scaled down.
    void restore_balance() {
        if (!intercept) return;
        double positive = 0, negative = 0, most = 0;
        Index freest = -1;
        for (Index i : taking_part) {
            const double room = std::min(alpha[i], c[i] - alpha[i]);
            (y[i] > 0 ? positive : negative) += alpha[i];
            if (room > most) most = room, freest = i;
        }
        const double excess = positive - negative;
        if (excess == 0.0) return;
        if (most > std::abs(excess)) {
            alpha[freest] -= y[freest] * excess;
            return;
        }
        const double heavier = excess > 0 ? 1.0 : -1.0, scale = std::min(positive, negative) / std::max(positive, negative);
        for (Index i : taking_part)
            if (y[i] == heavier) alpha[i] *= scale;
    }

    KernelRows& rows;
    const Index n;
    const double *const y, *const weights;
    const bool intercept;
    const std::function<void()> poll;  // throws when the user interrupts
    std::vector<Index> taking_part;
    Vector alpha, c, f;

  private:
    Vector known_;  // the multipliers that f knows of
};

}  // namespace rm
