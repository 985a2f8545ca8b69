// The rows that pairs are chosen from: all at first, and later those that can still take part in a violation, on a block of K
// of their own; with f in single precision, from the intercept of the moment.
#pragma once
#include <numeric>

#include "methods/kernel_problem.hpp"

namespace rm {

class WorkingSet {
  public:
    explicit WorkingSet(KernelProblem& problem)
        : p_(problem), dear_(problem.rows.source().together() > 1), home_(problem.taking_part) {
        find_runs();
        if (strategy::few_take_part(Index(home_.size()), p_.n) && Index(home_runs_.size()) > strategy::kMostRuns) return;
        home_.resize(p_.n);
        std::iota(home_.begin(), home_.end(), Index(0));
        if (Index(home_runs_.size()) <= strategy::kMostRuns) return;
        home_runs_ = {{0, padded(p_.sides.stored, kRowsAtOnce), 0}};
        if (p_.sides.twice()) home_runs_.push_back({p_.sides.second, padded(p_.n, kRowsAtOnce), p_.sides.second});
    }

    Index size() const { return Index(set_.size()); }
    Index row_of(Index k) const { return set_[k]; }
    bool is_home() const { return set_.size() == home_.size(); }
    bool are_dear() const { return dear_; }
    bool may_go_both_ways(Index k) const { return up_[k] == 0.0f && down_[k] > 0.0f; }
    std::vector<Index> free_places() const {  // of rows between their bounds
        std::vector<Index> places;
        for (Index k = 0; k < size(); ++k)
            if (may_go_both_ways(k)) places.push_back(k);
        return places;
    }
    double origin() const { return origin_; }
    float f(Index k) const { return f_[k]; }
    Index top() const { return top_; }  // which f is the largest of those that may go up, or -1

    void go_home() { take(home_); }

    // What the working set did becomes known to all rows.
    void leave() {
        if (!is_whole()) return p_.update_f();
        Index last = 0;
        for (const auto& [begin, end, shift] : runs_) {
            if (last < begin) p_.update_f(last, begin);
            last = std::min(end, p_.n);
            for (Index i = begin; i < last; ++i) p_.f[i] = origin_ + double(f_[i]);
        }
        if (last < p_.n) p_.update_f(last, p_.n);
        p_.set_known();
    }

    // Rows that can only go up, from below the corridor, or only down, from above it, are left alone for now, unless too few are.
    bool shrink(const Corridor& v) {
        if (size() < strategy::kShrinkFrom) return false;
        std::vector<Index> kept;
        for (Index k = 0; k < size(); ++k) {
            const bool up = p_.may_go_up(set_[k]), down = p_.may_go_down(set_[k]);
            if ((up && (down || f_[k] >= v.lowest)) || (down && f_[k] <= v.highest)) kept.push_back(set_[k]);
        }
        if (!strategy::worth_shrinking(Index(kept.size()), size())) return false;
        leave();
        take(kept);
        return true;
    }

    // Of all its rows, those that sleep too.
    Corridor corridor() const {
        if (!dear_) return corridor_awake();
        Corridor v = p_.empty_corridor();
        for (Index k = 0; k < size(); ++k) {
            if (p_.may_go_up(set_[k])) v.highest = std::max(v.highest, double(f_[k]));
            if (p_.may_go_down(set_[k])) v.lowest = std::min(v.lowest, double(f_[k]));
        }
        return v;
    }

    // Dear rows wake, many together, when those awake have little left to do; false if none did.
    bool wake(const Corridor& whole) {
        if (!dear_ || corridor_awake().width() > strategy::kWakeBelow * whole.width()) return false;
        std::vector<std::pair<double, Index>> above, below;
        for (Index k = 0; k < size(); ++k) {
            if (is_awake(k)) continue;
            const double up = double(f_[k]) - whole.lowest, down = whole.highest - double(f_[k]);
            if (up > 0 && p_.may_go_up(set_[k])) above.emplace_back(-up, k);
            if (down > 0 && p_.may_go_down(set_[k])) below.emplace_back(-down, k);
        }
        std::vector<Index> rows, places;
        for (auto* side : {&above, &below}) {
            const Index count = std::min<Index>(p_.rows.source().together() / 2, Index(side->size()));
            std::partial_sort(side->begin(), side->begin() + count, side->end());
            for (Index r = 0; r < count; ++r) {
                const Index stored = p_.stored(set_[(*side)[r].second]);
                places.push_back((*side)[r].second);
                if (std::find(rows.begin(), rows.end(), stored) == rows.end()) rows.push_back(stored);
            }
        }
        if (rows.empty()) return false;
        p_.rows.fetch(rows.data(), Index(rows.size()));
        for (Index k : places) mark(k);
        find_top();
        return true;
    }

    // Where a row of K, as `row` has it, has its value for place k.
    Index column(Index k) const { return is_whole() ? p_.stored(k) : k; }
    // The row of K of place k between the rows of the working set.
    const float* row(Index k) {
        if (!block_[k].empty()) return block_[k].data();
        const float* all = p_.rows.row(p_.stored(set_[k]));
        if (is_whole()) return all;
        block_[k] = padded_row(size());
        block_size_ += size();
        for (std::size_t j = 0; j < set_.size(); ++j) block_[k][j] = all[p_.stored(set_[j])];
        return block_[k].data();
    }
    // A budget for the block of K, too; no row of it may be in use.
    void keep_within_budget() {
        if (double(block_size_) * sizeof(float) <= strategy::room_for_blocks(p_.rows.budget())) return;
        for (auto& row : block_) FloatRow().swap(row);
        block_size_ = 0;
    }

    Index best_partner(Index i, const float* Ki) const {
        return second_of_pair(runs_, f_[i], diagonal_[i], Ki, diagonal_.data(), down_.data(), f_.data());
    }
    Index best_alone() const {
        return best_single(runs_, diagonal_.data(), up_.data(), down_.data(), f_.data());
    }

    // Moves v at i by t, and at j by -t.
    void move_pair(Index i, const float* Ki, Index j, double t) {
        move(i, t), move(j, -t);
        find_top(Ki, row(j), float(t));
    }
    void move_one(Index k, double t) {
        move(k, t);
        const float* K = row(k);
        for (const auto& [begin, end, shift] : runs_) subtract_row(end - begin, float(t), K + begin - shift, f_.data() + begin);
    }
    void find_top() { find_top(f_.data(), f_.data(), 0.0f); }

    PairSums sums(double b) const { return pair_sums(size(), f_.data(), y_.data(), t_.data(), c_.data(), alpha_.data(), b, origin_); }

  private:
    // Of rows that take part, in whole blocks of rows.
    void find_runs() {
        for (Index i : home_) {
            const Index begin = i / kRowsAtOnce * kRowsAtOnce, end = begin + kRowsAtOnce;
            const Index shift = i < p_.sides.second ? 0 : p_.sides.second;
            if (home_runs_.empty() || home_runs_.back().end < begin || home_runs_.back().shift < shift)
                home_runs_.push_back({begin, end, shift});
            else
                home_runs_.back().end = end;
        }
    }

    void take(const std::vector<Index>& rows) {
        const Index q = Index(rows.size()), whole = padded(q, kRowsAtOnce);
        set_ = rows;
        block_.clear(), block_.resize(q), block_size_ = 0;
        runs_ = is_whole() ? home_runs_ : Runs{{0, whole, 0}};
        for (auto* floats : {&diagonal_, &down_, &f_}) floats->assign(whole, 0.0f);
        up_.assign(whole, -HUGE_VALF);
        for (auto* doubles : {&y_, &t_, &c_, &alpha_}) doubles->resize(q);
        origin_ = p_.intercept ? p_.corridor_of(set_).middle() : 0.0;
        for (Index k = 0; k < q; ++k) {
            const Index i = set_[k];
            f_[k] = float(p_.f[i] - origin_), diagonal_[k] = float(p_.rows.diagonal()[p_.stored(i)]);
            y_[k] = p_.y[i], t_[k] = p_.target(i), c_[k] = p_.c[i];
            mark(k);
        }
        p_.set_known();
        find_top();
    }
    bool is_whole() const { return size() == p_.n; }

    bool is_awake(Index k) const { return !dear_ || !block_[k].empty() || p_.rows.has(p_.stored(set_[k])); }
    void mark(Index k) {
        const Index i = set_[k];
        const bool awake = is_awake(k);
        alpha_[k] = p_.alpha[i];
        up_[k] = awake && p_.may_go_up(i) ? 0.0f : -HUGE_VALF;
        down_[k] = awake && p_.may_go_down(i) ? 1.0f : 0.0f;
    }
    void move(Index k, double t) { p_.move(set_[k], t), mark(k); }

    Corridor corridor_awake() const {
        Corridor v = p_.empty_corridor();
        widen_corridor(size(), f_.data(), up_.data(), down_.data(), v.highest, v.lowest);
        return v;
    }

    void find_top(const float* Ki, const float* Kj, float t) {
        top_ = first_of_pair(runs_, Ki, Kj, t, -t, up_.data(), f_.data());
    }

    KernelProblem& p_;
    const bool dear_;
    std::vector<Index> home_, set_;  // home: the working set without shrinking
    Runs home_runs_, runs_;          // home_runs: of rows that take part, among all
    double origin_ = 0.0;
    Index top_ = -1, block_size_ = 0;
    std::vector<FloatRow> block_;  // rows of K between the working set, as far as they were needed
    FloatRow diagonal_, up_, down_, f_;
    Vector y_, t_, c_, alpha_;
};

}  // namespace rm
