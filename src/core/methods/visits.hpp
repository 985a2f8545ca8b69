// What coordinate descent (coordinate_descent.hpp) of one problem and of several side by side (side_by_side.hpp) share: which row is
// visited next, when a look at the gap is worth it, and the intercept.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "strategy.hpp"

namespace rm {

// The same sequence in every run.
class RandomNumbers {
  public:
    Index below(Index m) {  // from 0 to m - 1, for m below 2^32
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<Index>(((state_ >> 32) * static_cast<std::uint64_t>(m)) >> 32);
    }

  private:
    std::uint64_t state_ = 0x9E3779B97F4A7C15u;
};

// The rows that are visited, in random order: all but those that were shrunk.
class Tour {
  public:
    explicit Tour(Index n = 0) : order_(n), active_(n) { std::iota(order_.begin(), order_.end(), Index{0}); }

    Index size() const { return active_; }
    Index operator[](Index s) const { return order_[s]; }
    bool whole() const { return active_ == static_cast<Index>(order_.size()); }
    void shuffle() {
        all_ = whole();
        for (Index s = 0; s < active_; ++s) std::swap(order_[s], order_[s + random_.below(active_ - s)]);
    }
    void shrink(Index s) { std::swap(order_[s], order_[--active_]); }
    void take_all() { active_ = static_cast<Index>(order_.size()); }
    // For another C: with the rows that were left, and those of the others that `wanted` names.
    template <class Wanted>
    void start_again(const Wanted& wanted) {
        for (std::size_t s = active_; s < order_.size(); ++s)
            if (wanted(order_[s])) std::swap(order_[s], order_[active_++]);
        slack_ = strategy::kFirstSlack;
    }
    bool at_rest(double violation) const { return violation <= strategy::kRest && all_; }
    // Whether the rows that are left are right enough to look at all of them again; not where all have just been looked at.
    bool settled(double violation) {
        const bool right = violation <= slack_;
        if (right) slack_ = strategy::kTighter * (all_ ? violation : slack_);
        return right && !all_;
    }

  private:
    std::vector<Index> order_;
    Index active_;
    bool all_ = true;  // whether this epoch began with all rows
    double slack_ = strategy::kFirstSlack;
    RandomNumbers random_;
};

// Numbers of the rows that were read.
struct Work {
    double pass = 0;                          // over all rows
    double done = 0, looked = 0, fresh = 0;   // now; at the last look at the gap; when w was summed anew
    bool long_unseen() const { return done - looked >= strategy::kMostUnseen * pass; }
    bool drifted() const { return done - fresh > strategy::kDrift * pass; }
    int passes(int most) const { return std::min(most, static_cast<int>(std::ceil(done / pass))); }
    void count_anew() { fresh -= done, done = looked = 0; }
};

// How much more work it will take until a gap is small enough: it falls by about the same factor in every pass.
class Outlook {
  public:
    void see(double gap, double tol, const Work& work) {
        if (work.done < strategy::kSpan * marked_) return;
        const double rate = gap < gap_ ? std::log(gap_ / gap) / (work.done - marked_) : 0.0;
        needed_ = rate > 0 ? std::log(std::max(gap / tol, 1.0)) / rate : 0.0;
        gap_ = gap, marked_ = work.done, ++marks_;
    }
    bool too_slow(const strategy::Patience& patience, const Work& work) const {
        if (marks_ < strategy::kSure || work.done < patience.certain * work.pass) return false;
        return work.done + needed_ > patience.most * work.pass;
    }

  private:
    double gap_ = HUGE_VAL, marked_ = 0, needed_ = 0;  // at the last estimate that counts, and the work still to be done
    int marks_ = 0;
};

// Rows that are alike. Where their labels differ, visits raise their multipliers in turn, by about one over their square each time,
// until those of one label are at their bounds: at a large C in thousands of epochs. Raised together they leave w and y'alpha as
// they are.
using AlikeRows = std::vector<std::vector<Index>>;

// Groups of them among n rows, by a fingerprint and a comparison of rows.
template <class Fingerprint, class Same>
AlikeRows alike_rows(Index n, const Fingerprint& fingerprint, const Same& same) {
    std::vector<std::pair<std::uint64_t, Index>> prints(n);
    for (Index i = 0; i < n; ++i) prints[i] = {fingerprint(i), i};
    std::sort(prints.begin(), prints.end());
    AlikeRows groups;
    for (Index first = 0, last; first < n; first = last) {
        std::vector<Index> group;
        for (last = first; last < n && prints[last].first == prints[first].first; ++last) {
            if (!same(prints[first].second, prints[last].second)) continue;
            group.push_back(prints[last].second);
        }
        if (group.size() > 1) groups.push_back(std::move(group));
    }
    return groups;
}

// Raises the multipliers of a group until those of one label are at their bounds.
template <class Label, class Alpha, class Bound>
void raise_together(const std::vector<Index>& group, const Label& y, const Alpha& alpha, const Bound& bound) {
    double up = 0, down = 0;
    for (Index i : group) (y(i) > 0 ? up : down) += bound(i) - alpha(i);
    const double both = std::min(up, down);
    if (both <= 0.0) return;
    for (Index i : group) {
        const double share = both / (y(i) > 0 ? up : down);
        alpha(i) = std::min(alpha(i) + (bound(i) - alpha(i)) * share, bound(i));
    }
}

// Multipliers on the side of the labels that carries too much of them (y'alpha is not 0 while they are visited).
struct HeavySide {
    double free = 0, bound = 0, slack = 0;  // sums of those below their bounds, at them, and these times 1 - y (f + b)
    // By those between their bounds, where these can, since they are still being moved anyway.
    bool free_can_give(double excess) const { return free >= 2 * excess; }
    // What it adds to the gap: of first order where those at their bounds must give, and for the way that w goes, along the mean row.
    double cost_of_balance(double excess, double square_of_mean) const {
        const double first = free_can_give(excess) ? 0.0 : excess * std::max(0.0, slack) / (free + bound);
        return first + 0.5 * excess * excess * square_of_mean;
    }
};

// Where sum c max(0, t - y (f + b)) is least in b: the kink y t - f at which its slope changes sign. Without targets t is one.
class BestIntercept {
  public:
    double of(Index n, const double* f, const double* y, const double* c, const double* t = nullptr) {
        if (n == 0) return 0.0;
        kinks_.resize(n);
        double slope = 0;  // left of all kinks
        for (Index i = 0; i < n; ++i) {
            kinks_[i] = {(t ? y[i] * t[i] : y[i]) - f[i], c[i]};
            if (y[i] > 0) slope -= c[i];
        }
        auto first = kinks_.begin(), last = kinks_.end();
        while (last - first > 1) {  // halves, by selection: sorting costs more than a pass over sparse rows
            const auto middle = first + (last - first) / 2;
            std::nth_element(first, middle, last);
            double across = slope;
            for (auto kink = first; kink < middle; ++kink) across += kink->second;
            if (across >= 0)
                last = middle;
            else
                slope = across, first = middle;
        }
        return first->first;
    }

  private:
    std::vector<std::pair<double, double>> kinks_;
};

}  // namespace rm
