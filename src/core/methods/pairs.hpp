// The kernel machine: second-order pairs (Fan, Chen and Lin 2005) on rows of the kernel that are computed when needed.
//
//   max over alpha:  sum alpha - 1/2 v'Kv,   v = y alpha,   0 <= alpha <= c,   sum v = 0 (with an intercept)
//
// With f = y - Kv it is optimal that f_i <= f_j for all i whose v may go up and all j whose v may go down; the intercept
// lies between them. A pair costs two passes over the working set, which holds all rows at first, and later those that
// can still take part in a violation, on a block of K of their own. A row labelled 0 takes no part, but its f is kept: it
// is minus the score of a held-out row.
//
// K in single precision is not K. Where the gap seems closed, f is computed anew in double precision wherever it matters,
// which gives the strict certificate, or a better start for what remains.
#pragma once
#include <cmath>
#include <functional>
#include <numeric>

#include "rows/kernel.hpp"
#include "methods/free_rows.hpp"
#include "loops/pairs.hpp"

namespace rm {

struct PairOptions {
    double tol;
    Index max_sweeps;  // of n pairs each
    bool intercept;
    bool strict;  // whether the certificate must be that of double precision
    std::function<void(Index, double)> poll;  // pairs so far and the gap; throws when the user interrupts
};

struct PairSolution {
    double intercept = 0.0, objective = HUGE_VAL, dual_objective = -HUGE_VAL;
    Index n_pairs = 0;
    double gap() const { return (objective - dual_objective) / std::max(std::abs(objective), 1e-300); }
};

// f of those that may go up, at most, and of those that may go down, at least.
struct Corridor {
    double highest, lowest;
    double width() const { return highest - lowest; }
    double middle() const {
        if (std::isfinite(width())) return 0.5 * (highest + lowest);
        return std::isfinite(highest) ? highest : std::isfinite(lowest) ? lowest : 0.0;
    }
};

class Pairs {
  public:
    Pairs(KernelRows& rows, const double* y, const double* weights, const PairOptions& options)
        : rows_(rows), n_(rows.n()), y_(y), weights_(weights), options_(options), alpha_(n_, 0.0), c_(n_, 0.0),
          f_(y, y + n_) {
        for (Index i = 0; i < n_; ++i)
            if (y[i] != 0.0 && weights[i] > 0.0) home_.push_back(i);
        taking_part_ = home_;
        if (10 * Index(home_.size()) <= 6 * n_) return;  // else passes over all rows, those held out masked, spare a copy
        home_.resize(n_);
        std::iota(home_.begin(), home_.end(), Index(0));
    }

    // From multipliers that are feasible for some C; costs as many rows of K as are not zero.
    void begin_at(const double* alpha) {
        before_.assign(n_, 0.0);
        for (Index i : taking_part_) alpha_[i] = alpha[i];
        refresh();
    }

    PairSolution solve(double C) {
        constexpr int kMostCertificates = 30;
        rescale(C);
        if (rows_.source().together() > 1 && is_cold()) begin_with_sample(C);
        PairSolution found;
        double target = 0.9 * options_.tol;
        work_on(home_);
        bool stuck = false;
        for (int certificates = 0;;) {
            const Corridor corridor = local_corridor();
            const double gap = local_gap(corridor);
            poll(found.n_pairs, gap);
            const bool late = found.n_pairs / n_ >= options_.max_sweeps;
            if (gap > target && !is_exhausted(corridor, gap) && !stuck && !late) {
                shrink(corridor);
                const Index most = std::clamp<Index>(Index(set_.size()) / 8, 64, 500);
                const Index moved = options_.intercept ? move_pairs(most) : move_singles(most);
                found.n_pairs += moved, since_newton_ += moved, since_better_ += moved;
                stuck = moved == 0;
                move_free_rows();
                continue;
            }
            const bool at_home = set_.size() == home_.size();
            stuck = false;
            leave();
            if (at_home && !options_.strict) return found.intercept = intercept_of(corridor), estimate(gap, found), found;
            if (at_home && (certify(found) || late || ++certificates == kMostCertificates)) return found;
            if (at_home && gap <= target) target *= 0.3;
            work_on(home_);
        }
    }

    const Vector& alpha() const { return alpha_; }
    const Vector& f() const { return f_; }
    bool met_negative_curvature() const { return negative_; }

  private:
    static constexpr double kFlat = 1e-7;  // relative curvature of a pair below which it is rounding

    bool may_go_up(Index i) const { return y_[i] > 0 ? alpha_[i] < c_[i] : y_[i] < 0 && alpha_[i] > 0; }
    bool may_go_down(Index i) const { return y_[i] > 0 ? alpha_[i] > 0 : y_[i] < 0 && alpha_[i] < c_[i]; }
    bool is_cold() const {
        return std::all_of(alpha_.begin(), alpha_.end(), [](double a) { return a == 0.0; });
    }
    void poll(Index pairs, double gap) const {
        if (options_.poll) options_.poll(pairs, gap);
    }

    // Where rows are dear, those that a sample of the problem needs come first, together.
    void begin_with_sample(double C) {
        constexpr Index kEvery = 8, kFewest = 200;
        const Index m = Index(taking_part_.size()) / kEvery;
        if (m < kFewest) return;
        std::vector<Index> J(m);
        Vector y(m), weights(m), alpha(n_, 0.0);
        for (Index k = 0; k < m; ++k) J[k] = taking_part_[k * kEvery], y[k] = y_[J[k]], weights[k] = weights_[J[k]];
        auto part = rows_.source().part(J);
        if (!part) return;
        KernelRows rows(std::move(part), rows_.budget());
        PairOptions loose = options_;
        loose.tol = std::max(0.02, options_.tol), loose.strict = false;
        Pairs sample(rows, y.data(), weights.data(), loose);
        sample.solve(C);
        for (Index k = 0; k < m; ++k) alpha[J[k]] = sample.alpha()[k];
        begin_at(alpha.data());
    }

    // To the best multiple of the multipliers within the new box.
    void rescale(double C) {
        double ratio = HUGE_VAL, total = 0, square = 0;
        for (Index i : taking_part_) {
            c_[i] = C * weights_[i];
            if (alpha_[i] > 0) ratio = std::min(ratio, c_[i] / alpha_[i]);
            total += alpha_[i], square += alpha_[i] * (1.0 - y_[i] * f_[i]);
        }
        if (!(total > 0)) return;
        const double scale = std::min(ratio, square > 0 ? total / square : HUGE_VAL);
        for (Index i = 0; i < n_; ++i) f_[i] = y_[i] + scale * (f_[i] - y_[i]);
        for (Index i : taking_part_) {
            alpha_[i] *= scale;
            if (alpha_[i] > c_[i] * (1 - 1e-12)) alpha_[i] = c_[i];
        }
    }

    // --- the working set -------------------------------------------------------------------------------------

    // These rows work from now on: with f in single precision, from the intercept of now.
    void work_on(const std::vector<Index>& rows) {
        const Index q = Index(rows.size());
        set_ = rows;
        block_.clear(), block_.resize(q), block_size_ = 0;
        for (auto* floats : {&diagonal_, &up_, &down_, &local_f_, &scores_}) floats->resize(q);
        for (auto* doubles : {&local_y_, &local_c_, &local_alpha_}) doubles->resize(q);
        origin_ = options_.intercept ? corridor_of(set_).middle() : 0.0;
        for (Index k = 0; k < q; ++k) {
            const Index i = set_[k];
            local_f_[k] = float(f_[i] - origin_), diagonal_[k] = float(rows_.diagonal()[i]);
            local_y_[k] = y_[i], local_c_[k] = c_[i];
            mark(k);
        }
        const Corridor corridor = local_corridor();
        begun_from_ = std::min(1.0, std::abs(corridor.width())), best_gap_ = HUGE_VAL, since_better_ = 0;
        before_ = alpha_;
        top_ = first_of_pair(q, local_f_.data(), local_f_.data(), 0.0f, 0.0f, up_.data(), local_f_.data(), scores_.data());
    }
    bool is_whole() const { return Index(set_.size()) == n_; }

    // What the working set did becomes known to all rows.
    void leave() {
        if (!is_whole()) return refresh();
        for (Index i = 0; i < n_; ++i) f_[i] = origin_ + double(local_f_[i]);
    }

    // f -= K (v - v before), row by row of K.
    void refresh() {
        constexpr Index kBatch = 48;
        std::vector<Index> changed;
        Vector step;
        for (Index i : taking_part_)
            if (alpha_[i] != before_[i]) changed.push_back(i), step.push_back(y_[i] * (alpha_[i] - before_[i]));
        const Index m = Index(changed.size());
        const float* pointers[kBatch];
        for (Index first = 0; first < m; first += kBatch) {
            const Index count = std::min(kBatch, m - first);
            rows_.fetch(changed.data() + first, count);
            for (Index r = 0; r < count; ++r) pointers[r] = rows_.row(changed[first + r]);
            subtract_rows(n_, count, step.data() + first, pointers, f_.data());
            poll(-1, NAN);
        }
        before_ = alpha_;
    }

    void mark(Index k) {
        const Index i = set_[k];
        local_alpha_[k] = alpha_[i];
        up_[k] = may_go_up(i) ? 0.0f : -HUGE_VALF;
        down_[k] = may_go_down(i) ? 1.0f : 0.0f;
    }

    // Rows that can only go up, from below the corridor, or only down, from above it, are left alone for now.
    void shrink(const Corridor& v) {
        constexpr Index kSmall = 800;
        const Index q = Index(set_.size());
        if (q < kSmall) return;
        std::vector<Index> kept;
        for (Index k = 0; k < q; ++k) {
            const bool up = up_[k] == 0.0f, down = down_[k] > 0.0f;
            if ((up && (down || local_f_[k] >= v.lowest)) || (down && local_f_[k] <= v.highest)) kept.push_back(set_[k]);
        }
        if (2 * Index(kept.size()) > q) return;
        leave();
        work_on(kept);
    }

    const float* local_row(Index k) {
        if (block_[k]) return block_[k].get();
        if (!rows_.has(set_[k]) && rows_.source().together() > 1) fetch_ahead(k);
        const float* all = rows_.row(set_[k]);
        if (is_whole()) return all;
        block_[k].reset(new float[set_.size()]);
        block_size_ += Index(set_.size());
        for (std::size_t j = 0; j < set_.size(); ++j) block_[k][j] = all[set_[j]];
        return block_[k].get();
    }

    // With row k, those rows that will be asked for next if nothing changes: many together cost less.
    void fetch_ahead(Index k) {
        std::vector<std::pair<float, Index>> order;
        for (Index j = 0; j < Index(set_.size()); ++j) {
            const float high = up_[j] == 0.0f ? local_f_[j] : 0.0f, low = down_[j] > 0.0f ? -local_f_[j] : 0.0f;
            const float worst = std::max(high, low);
            if (worst > 0.0f && j != k && !rows_.has(set_[j])) order.emplace_back(-worst, set_[j]);
        }
        const Index count = std::min<Index>(rows_.source().together() - 1, Index(order.size()));
        std::partial_sort(order.begin(), order.begin() + count, order.end());
        std::vector<Index> together{set_[k]};
        for (Index r = 0; r < count && order[r].first < 0.5f * order[0].first; ++r) together.push_back(order[r].second);
        rows_.fetch(together.data(), Index(together.size()));
    }

    // A budget for the block of K, too; no row of it may be in use.
    void keep_block_within_budget() {
        if (double(block_size_) * sizeof(float) <= rows_.budget() / 3) return;
        for (auto& row : block_) row.reset();
        block_size_ = 0;
    }

    // Whether single precision can tell no more: the corridor is as narrow as its rounding, from where f began and where
    // the intercept is, or the gap has not come down for long.
    bool is_exhausted(const Corridor& corridor, double gap) {
        constexpr Index kPatience = 40;  // sweeps of the working set
        if (gap < 0.5 * best_gap_) best_gap_ = gap, since_better_ = 0;
        const double rounding = 4e-7 * std::max(std::abs(corridor.middle()), begun_from_);
        return corridor.width() <= rounding || since_better_ > kPatience * Index(set_.size());
    }

    // --- pairs -----------------------------------------------------------------------------------------------

    void move(Index k, double t) {
        const Index i = set_[k];
        alpha_[i] = std::clamp(alpha_[i] + y_[i] * t, 0.0, c_[i]);
        mark(k);
    }
    double room_up(Index i) const { return y_[i] > 0 ? c_[i] - alpha_[i] : alpha_[i]; }
    double room_down(Index i) const { return y_[i] > 0 ? alpha_[i] : c_[i] - alpha_[i]; }

    double checked_curvature(double curvature, double scale) {
        if (curvature < -1e-4 * scale) negative_ = true;
        return std::max(curvature, kFlat * scale);
    }

    Index move_pairs(Index most) {
        const Index q = Index(set_.size());
        const double* diagonal = rows_.diagonal().data();
        float* f = local_f_.data();
        for (Index count = 0; count < most; ++count) {
            keep_block_within_budget();
            const Index i = top_;
            if (i < 0) return count;
            const float* Ki = local_row(i);
            const Index j = second_of_pair(q, f[i], diagonal_[i], Ki, diagonal_.data(), down_.data(), f, scores_.data());
            if (j < 0) return count;
            const Index a = set_[i], z = set_[j];
            const double scale = std::abs(diagonal[a]) + std::abs(diagonal[z]) + 1e-30;
            const double curvature = checked_curvature(diagonal[a] + diagonal[z] - 2.0 * double(Ki[j]), scale);
            const double t = std::min({double(f[i] - f[j]) / curvature, room_up(a), room_down(z)});
            move(i, t), move(j, -t);
            top_ = first_of_pair(q, Ki, local_row(j), float(t), float(-t), up_.data(), f, scores_.data());
        }
        return most;
    }

    // Without an intercept every multiplier may move alone.
    Index move_singles(Index most) {
        const Index q = Index(set_.size());
        float* f = local_f_.data();
        for (Index count = 0; count < most; ++count) {
            keep_block_within_budget();
            const Index k = best_single(q, diagonal_.data(), up_.data(), down_.data(), f, scores_.data());
            if (k < 0) return count;
            const Index i = set_[k];
            const double own = rows_.diagonal()[i], step = double(f[k]) / checked_curvature(own, std::abs(own) + 1e-30);
            const double t = std::clamp(step, -room_down(i), room_up(i));
            move(k, t);
            subtract_row(q, float(t), local_row(k), f);
        }
        return most;
    }

    // Where pairs have had the time of a factorisation, Newton's steps for those between their bounds: several, since each
    // may bring rows to a bound, and on a kernel of low rank all but a few must get there.
    void move_free_rows() {
        constexpr Index kMost = 2000, kPatience = 5, kRepeats = 60;
        constexpr double kWork = 1e8;
        const Index q = Index(set_.size());
        double work = 0;
        for (Index repeat = 0; repeat < kRepeats && work < kWork; ++repeat) {
            std::vector<Index> places;
            for (Index k = 0; k < q; ++k)
                if (up_[k] == 0.0f && down_[k] > 0.0f) places.push_back(k);
            const Index m = Index(places.size());
            if (m < 2 || m > kMost || (repeat == 0 && since_newton_ < kPatience * q + m * m * m / (4 * q))) break;
            since_newton_ = 0, work += double(m) * double(m) * double(m);
            if (!newton_step(places)) break;
        }
    }

    // Whether it brought a row to its bound.
    bool newton_step(const std::vector<Index>& places) {
        const Index q = Index(set_.size()), m = Index(places.size());
        std::vector<Index> rows(m);
        Vector K(m * m), f(m), down(m), up(m);
        for (Index r = 0; r < m; ++r) {
            rows[r] = set_[places[r]];
            f[r] = local_f_[places[r]], down[r] = room_down(rows[r]), up[r] = room_up(rows[r]);
        }
        rows_.source().block(rows.data(), m, rows.data(), m, K.data());
        poll(-1, NAN);
        const Vector step = FreeRows(std::move(K), std::move(f), std::move(down), std::move(up), options_.intercept).step();
        bool arrived = false;
        for (Index r = 0; r < Index(step.size()); ++r) {
            keep_block_within_budget();
            move(places[r], step[r]);
            subtract_row(q, float(step[r]), local_row(places[r]), local_f_.data());
            arrived = arrived || !(up_[places[r]] == 0.0f && down_[places[r]] > 0.0f);
        }
        top_ = first_of_pair(q, local_f_.data(), local_f_.data(), 0.0f, 0.0f, up_.data(), local_f_.data(), scores_.data());
        return arrived;
    }

    // --- how far from the optimum ----------------------------------------------------------------------------

    // Without an intercept the corridor is between what there is above zero and below.
    Corridor empty_corridor() const { return options_.intercept ? Corridor{-HUGE_VAL, HUGE_VAL} : Corridor{0.0, 0.0}; }
    Corridor corridor_of(const std::vector<Index>& rows) const {
        Corridor v = empty_corridor();
        for (Index i : rows) {
            if (may_go_up(i)) v.highest = std::max(v.highest, f_[i]);
            if (may_go_down(i)) v.lowest = std::min(v.lowest, f_[i]);
        }
        return v;
    }
    Corridor local_corridor() const {
        Corridor v = empty_corridor();
        widen_corridor(Index(set_.size()), local_f_.data(), up_.data(), down_.data(), v.highest, v.lowest);
        return v;
    }

    // P - D is a sum over rows, to which those that are not in the working set add nothing that is known of.
    double local_gap(const Corridor& v) {
        const double b = options_.intercept ? v.middle() : 0.0;
        const PairSums sums = pair_sums(Index(set_.size()), local_f_.data(), local_y_.data(), local_c_.data(),
                                        local_alpha_.data(), b, origin_);
        if (set_.size() == home_.size()) primal_ = 0.5 * sums.square + sums.loss;
        return sums.gap / std::max(primal_, 1e-300);
    }

    // What single precision says about the objectives.
    void estimate(double gap, PairSolution& found) const {
        found.objective = primal_, found.dual_objective = (1.0 - gap) * primal_;
    }
    double intercept_of(const Corridor& local) const { return options_.intercept ? origin_ + local.middle() : 0.0; }

    // The strict certificate: both objectives at the multipliers as they are and the best intercept for them, in double
    // precision. It needs f of the rows that have a multiplier, and of those that might have a loss; the others are
    // farther from the margin than single precision can be wrong. Where it is not met, f is the better for it.
    bool certify(PairSolution& found) {
        restore_balance();
        std::vector<Index> rows;
        const Index m = rows_that_matter(rows);
        const Vector scores = exact_scores(rows, m);
        double total = 0, square = 0, loss = 0;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const Index i = rows[r];
            f_[i] = y_[i] - scores[r];
            total += alpha_[i], square += alpha_[i] * y_[i] * scores[r];
        }
        const double b = options_.intercept ? best_intercept(rows) : 0.0;
        for (Index i : rows) loss += c_[i] * std::max(0.0, y_[i] * (f_[i] - b));
        if (square < -1e-8 * total) negative_ = true;
        found.intercept = b, found.objective = 0.5 * square + loss, found.dual_objective = total - 0.5 * square;
        return found.gap() <= options_.tol;
    }

    // Those with a multiplier, whose number is returned, and then those whose loss is not certain to be zero.
    Index rows_that_matter(std::vector<Index>& rows) {
        const double doubt = doubt_of_f();
        const Corridor corridor = corridor_of(taking_part_);
        std::vector<Index> near;
        for (Index i : taking_part_) {
            const double worst = !options_.intercept ? 0.0 : y_[i] > 0 ? corridor.lowest : corridor.highest;  // intercept
            if (alpha_[i] > 0)
                rows.push_back(i);
            else if (!(y_[i] * (f_[i] - worst) < -2.0 * doubt))
                near.push_back(i);
        }
        const Index m = Index(rows.size());
        rows.insert(rows.end(), near.begin(), near.end());
        return m;
    }

    // How far f may be off: rounding of K times the multipliers, and that of the working set's own f.
    double doubt_of_f() const {
        double total = 0, largest = 0;
        for (Index i : taking_part_) total += alpha_[i], largest = std::max(largest, std::abs(f_[i]));
        return rows_.rounding() * total + 1e-5 * largest;
    }

    // Pairs keep sum v = 0 but for rounding; the row that has most room both ways takes what has gathered.
    void restore_balance() {
        if (!options_.intercept) return;
        double excess = 0, most = 0;
        Index freest = -1;
        for (Index i : taking_part_) {
            const double room = std::min(alpha_[i], c_[i] - alpha_[i]);
            excess += y_[i] * alpha_[i];
            if (room > most) most = room, freest = i;
        }
        if (most > std::abs(excess)) alpha_[freest] -= y_[freest] * excess;
    }

    // Kv at these rows, the first m of which are those with v != 0, in blocks of K that are used from both sides.
    Vector exact_scores(const std::vector<Index>& rows, Index m) const {
        constexpr Index kHeight = 128, kWidth = 512;
        const Index all = Index(rows.size());
        Vector scores(all, 0.0), v(all, 0.0), block(kHeight * kWidth);
        for (Index r = 0; r < m; ++r) v[r] = y_[rows[r]] * alpha_[rows[r]];
        for (Index i = 0; i < m; i += kHeight) {
            const Index height = std::min(kHeight, m - i);
            for (Index j = i; j < all; j = j == i ? i + height : j + kWidth) {
                const Index width = j == i ? height : std::min(kWidth, all - j);
                rows_.source().block(rows.data() + i, height, rows.data() + j, width, block.data());
                poll(-1, NAN);
                for (Index r = 0; r < height; ++r) {
                    axpy(width, v[i + r], block.data() + r * width, scores.data() + j);
                    if (j > i) scores[i + r] += dot(width, block.data() + r * width, v.data() + j);
                }
            }
        }
        return scores;
    }

    // The loss is convex and piecewise linear in b with kinks at f; its minimum lies between the ends of the corridor.
    double best_intercept(const std::vector<Index>& rows) const {
        const Corridor corridor = corridor_of(taking_part_);
        if (!(corridor.width() > 0 && std::isfinite(corridor.width()))) return corridor.middle();
        double slope = 0;  // just right of the lower end
        std::vector<std::pair<double, double>> kinks;
        for (Index i : rows) {
            const bool left = f_[i] <= corridor.lowest;
            if (y_[i] > 0 ? !left : left) slope -= y_[i] * c_[i];
            if (!left && f_[i] < corridor.highest) kinks.emplace_back(f_[i], c_[i]);
        }
        if (slope >= 0) return corridor.lowest;
        std::sort(kinks.begin(), kinks.end());
        for (const auto& [place, weight] : kinks)
            if ((slope += weight) >= 0) return place;
        return corridor.highest;
    }

    KernelRows& rows_;
    Index n_;
    const double *y_, *weights_;
    PairOptions options_;
    bool negative_ = false;
    std::vector<Index> taking_part_, home_, set_;  // home: the working set without shrinking
    Vector alpha_, c_, f_, before_;                // before: the multipliers that f knows of
    Vector local_y_, local_c_, local_alpha_;
    double origin_ = 0.0, primal_ = 0.0, begun_from_ = 1.0, best_gap_ = HUGE_VAL;
    Index top_ = -1, block_size_ = 0, since_newton_ = 0, since_better_ = 0;
    std::vector<std::unique_ptr<float[]>> block_;  // rows of K between the working set, as far as they were needed
    std::vector<float> diagonal_, up_, down_, local_f_, scores_;
};

}  // namespace rm
