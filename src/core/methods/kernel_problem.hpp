// One problem on rows of a kernel, and how far its multipliers are from the optimum.
//
//   max over alpha:  t'alpha - 1/2 v'Kv,   v = y alpha,   0 <= alpha <= c,   sum v = 0 (with an intercept)
//
// The targets t are one, but for regression. With f = y t - Kv it is optimal that f_i <= f_j for all i whose v may go up and all j whose v may go down; the intercept
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

// The rows of a problem: one for each row of K, or, of a regression, two with opposite labels, which share it. The second ones begin at
// `second`, where runs of rows may; there are some between that take no part.
struct KernelSides {
    Index stored, second;       // rows of K, and where they begin again
    Vector y, weights, signed_targets;  // labels, 0 for a row that takes no part; y t

    static KernelSides of_labels(const double* y, const double* weights, Index n) {
        return {n, n, {y, y + n}, {weights, weights + n}, {y, y + n}};
    }
    // Above a tube around the target, where f is too small, and below it: y t and weights of n sides, and of n more.
    static KernelSides of_targets(const double* signed_targets, const double* weights, Index n) {
        const Index second = padded(n, kRowsAtOnce);
        KernelSides out{n, second, Vector(second + n, 0.0), Vector(second + n, 0.0), Vector(second + n, 0.0)};
        for (Index side : {0, 1})
            for (Index i = 0; i < n; ++i) {
                const Index k = side * second + i;
                out.weights[k] = weights[side * n + i], out.signed_targets[k] = signed_targets[side * n + i];
                out.y[k] = out.weights[k] > 0.0 ? 1.0 - 2.0 * double(side) : 0.0;
            }
        return out;
    }
    // Multipliers of all sides, from those of the rows of K: of both sides in one, signed.
    Vector unsigned_of(const double* alpha) const {
        Vector out(y.size(), 0.0);
        for (Index i = 0; i < stored; ++i) {
            out[i] = twice() ? std::max(alpha[i], 0.0) : alpha[i];
            if (twice()) out[second + i] = std::max(-alpha[i], 0.0);
        }
        return out;
    }
    bool twice() const { return Index(y.size()) > stored; }
    Index row(Index i) const { return i < second ? std::min(i, stored - 1) : i - second; }  // of K
    // The rows J of K alone.
    KernelSides of(const std::vector<Index>& J) const {
        const Index m = Index(J.size()), again = twice() ? padded(m, kRowsAtOnce) : m, size = twice() ? again + m : m;
        KernelSides out{m, again, Vector(size, 0.0), Vector(size, 0.0), Vector(size, 0.0)};
        for (Index from = 0, to = 0; to < size; from += second, to += again)
            for (Index k = 0; k < m; ++k) {
                out.y[to + k] = y[from + J[k]], out.weights[to + k] = weights[from + J[k]];
                out.signed_targets[to + k] = signed_targets[from + J[k]];
            }
        return out;
    }
};

class KernelProblem {
  public:
    KernelProblem(KernelRows& rows, KernelSides given, bool intercept, std::function<void()> poll)
        : rows(rows), sides(std::move(given)), n(Index(sides.y.size())), y(sides.y.data()), weights(sides.weights.data()),
          intercept(intercept), poll(std::move(poll)), alpha(n, 0.0), c(n, 0.0), f(sides.signed_targets), known_(n, 0.0) {
        for (Index i = 0; i < n; ++i)
            if (y[i] != 0.0 && weights[i] > 0.0) taking_part.push_back(i);
    }

    bool may_go_up(Index i) const { return y[i] > 0 ? alpha[i] < c[i] : y[i] < 0 && alpha[i] > 0; }
    bool may_go_down(Index i) const { return y[i] > 0 ? alpha[i] > 0 : y[i] < 0 && alpha[i] < c[i]; }
    double room_up(Index i) const { return y[i] > 0 ? c[i] - alpha[i] : alpha[i]; }
    double room_down(Index i) const { return y[i] > 0 ? alpha[i] : c[i] - alpha[i]; }
    void move(Index i, double t) { alpha[i] = std::clamp(alpha[i] + y[i] * t, 0.0, c[i]); }
    Index stored(Index i) const { return sides.row(i); }
    double target(Index i) const { return y[i] * sides.signed_targets[i]; }
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
        bool any = false;
        for (Index i : taking_part) {
            c[i] = C * weights[i];
            if (alpha[i] > 0) ratio = std::min(ratio, c[i] / alpha[i]);
            any = any || alpha[i] > 0;
            total += alpha[i] * target(i), square += alpha[i] * (target(i) - y[i] * f[i]);
        }
        if (!any) return;
        const double scale = std::min(ratio, square > 0 ? std::max(total, 0.0) / square : HUGE_VAL);
        const Vector& first = sides.signed_targets;
        for (Index i = 0; i < n; ++i) f[i] = first[i] + scale * (f[i] - first[i]);
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
        Vector change(sides.stored, 0.0), step;  // of v, for rows of K
        for (Index i : taking_part)
            if (alpha[i] != known_[i]) change[stored(i)] += y[i] * (alpha[i] - known_[i]);
        for (Index i = 0; i < sides.stored; ++i)
            if (change[i] != 0.0) changed.push_back(i), step.push_back(change[i]);
        const Index m = Index(changed.size());
        const float* pointers[kBatch];
        for (Index start = 0; start < m; start += kBatch) {
            const Index count = std::min(kBatch, m - start);
            rows.fetch(changed.data() + start, count);
            const auto subtract = [&](Index from, Index to, Index column) {
                for (Index r = 0; r < count && from < to; ++r) pointers[r] = rows.row(changed[start + r]) + column;
                if (from < to) subtract_rows(to - from, count, step.data() + start, pointers, f.data() + from);
            };
            subtract(first, std::min(last, sides.stored), first);
            if (sides.twice()) subtract(std::max(first, sides.second), last, std::max<Index>(0, first - sides.second));
            poll();
        }
    }
    void set_known() { known_ = alpha; }  // f is that of the multipliers

    // From the multipliers alone: its error is then the rounding of K times their sum, whatever they were before.
    void compute_f_anew() {
        f = sides.signed_targets;
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
    const KernelSides sides;
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
