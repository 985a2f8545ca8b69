// Dual coordinate descent with shrinking (Hsieh et al. 2008): one multiplier after the other, in random order, at the price of
// the numbers that its row stores. Nothing is d x d or n x n.
//
// An intercept that is not penalised asks for y'alpha = 0, which no single multiplier can keep. So it is penalised, by its
// distance (b - b0)^2 / (2 rho) from where it was: then b = b0 + rho y'alpha, one more coordinate, and after every epoch b0
// becomes b (a proximal point). Before anything is certified the multipliers are balanced, and b is the best for w.
#pragma once
#include <cstdint>
#include <numeric>

#include "problem.hpp"

namespace rm {

namespace descent {
constexpr double kFirstSlack = 0.5, kTighter = 0.5;  // violation at which shrunk rows are looked at again
constexpr double kRest = 1e-13;                      // violation that is rounding
constexpr double kMostUnseen = 20;                   // passes without a look at the gap
constexpr double kHopeful = 0.9;                     // of the tolerance: an estimate of the gap that is worth a look
constexpr double kDrift = 30;                        // passes after which w is summed anew
}  // namespace descent

// The same sequence in every run.
class RandomNumbers {
  public:
    Index below(Index m) {  // from 0 to m - 1
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<Index>((state_ >> 33) % static_cast<std::uint64_t>(m));
    }

  private:
    std::uint64_t state_ = 0x9E3779B97F4A7C15u;
};

// Where sum c max(0, 1 - y (f + b)) is least in b: the kink y - f at which its slope changes sign.
class BestIntercept {
  public:
    double of(Index n, const double* f, const double* y, const double* c) {
        if (n == 0) return 0.0;
        kinks_.resize(n);
        double slope = 0;  // left of all kinks
        for (Index i = 0; i < n; ++i) {
            kinks_[i] = {y[i] - f[i], c[i]};
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

template <class Rows>
class CoordinateDescent {
    static_assert(CanVisit<Rows>);

  public:
    CoordinateDescent(const Problem<Rows>& problem, const Options& options)
        : A_(problem.A), problem_(problem), options_(options), n_(problem.n()), d_(problem.d()), w_(d_), alpha_(n_, 0.0),
          squares_(n_), scores_(n_), order_(n_), active_(n_) {
        if (!problem.B.identity()) {
            inverse_.assign(d_, 1.0);
            problem.B.divide(inverse_.data());
        }
        double weight = 0, squares = 0;
        for (Index i = 0; i < n_; ++i) {
            squares += squares_[i] = A_.square_row(i, inverse());
            pass_ += cost(i), weight += problem.c[i];
        }
        if (problem.intercept()) rho_ = strategy::intercept_penalty(squares / double(n_), weight);
        std::iota(order_.begin(), order_.end(), Index{0});
    }

    // Runs until `best` holds a solution, or until it sees that it would take more than so many passes over the rows.
    void run(const Solution& start, double passes, Solution& best) {
        begin_at(start);
        while (true) {
            if (options_.poll) options_.poll();
            const double violation = epoch();
            b_ += rho_ * sum_;
            const bool at_rest = violation <= descent::kRest && active_ == n_;
            if (violation <= slack_) slack_ *= descent::kTighter, free_all();
            const double gap = estimated_gap();
            expect(gap);
            if (!at_rest && !worth_a_look(gap) && !too_slow(passes)) continue;
            looked_ = work_;
            if (certified_gap() <= options_.tol || at_rest || too_slow(passes)) break;
        }
        best.n_iter += std::min(options_.max_iter, static_cast<int>(std::ceil(work_ / pass_)));
        offer(best);
    }

  private:
    static constexpr double kSpan = 1.5;  // by which the work grows between two estimates that tell how fast the gap falls
    static constexpr int kSure = 3;       // of them, after which that is trusted

    double cost(Index i) const { return 1.0 + double(A_.stored(i)); }  // of a visit
    const double* inverse() const { return inverse_.empty() ? nullptr : inverse_.data(); }

    void begin_at(const Solution& start) {
        if (!start.alpha.empty()) {
            alpha_ = start.alpha;
            double total;
            if (!balance(problem_, alpha_, total)) std::fill(alpha_.begin(), alpha_.end(), 0.0);
        }
        sum_anew();
        // Multipliers that were scaled from those of another C: their best multiple.
        const double total = std::accumulate(alpha_.begin(), alpha_.end(), 0.0);
        if (square_ > total) {
            const double multiple = total / square_;
            for (auto& a : alpha_) a *= multiple;
            for (auto& w : w_) w *= multiple;
            square_ *= multiple * multiple, sum_ *= multiple;
        }
        if (!start.theta.empty() && problem_.intercept())
            b_ = start.theta[d_] - dot(d_, A_.mean(), start.theta.data());
    }
    void sum_anew() {
        std::fill(w_.begin(), w_.end(), 0.0);
        sum_ = 0;
        for (Index i = 0; i < n_; ++i) {
            if (alpha_[i] == 0.0) continue;
            A_.add_row(i, problem_.y[i] * alpha_[i], inverse(), w_.data());
            sum_ += problem_.y[i] * alpha_[i];
        }
        square_ = problem_.B.quadratic(w_.data());
        fresh_ = work_;
    }
    void change(Index i, double alpha, double score) {
        const double t = problem_.y[i] * (alpha - alpha_[i]);
        alpha_[i] = alpha;
        if (t == 0.0) return;
        A_.add_row(i, t, inverse(), w_.data());
        sum_ += t, square_ += t * (2 * score + t * squares_[i]);
    }

    // One visit to every active row; returns by how much they were in the wrong.
    double epoch() {
        double most = -HUGE_VAL, least = HUGE_VAL;
        for (Index s = 0; s < active_; ++s) std::swap(order_[s], order_[s + random_.below(active_ - s)]);
        for (Index s = 0; s < active_; ++s) {
            const Index i = order_[s];
            if (s + 1 < active_) A_.fetch_row(order_[s + 1]);
            const double score = scores_[i] = A_.dot_row(i, w_.data()), bound = problem_.c[i];
            const double slope = problem_.y[i] * (score + b_ + rho_ * sum_) - 1.0;
            work_ += cost(i);
            const bool low = alpha_[i] <= 0.0, high = alpha_[i] >= bound;
            if ((low && slope > most_) || (high && slope < least_)) {
                std::swap(order_[s--], order_[--active_]);
                continue;
            }
            const double wrong = low ? std::min(slope, 0.0) : high ? std::max(slope, 0.0) : slope;
            most = std::max(most, wrong), least = std::min(least, wrong);
            if (wrong != 0.0) change(i, std::clamp(alpha_[i] - slope / (squares_[i] + rho_), 0.0, bound), score);
        }
        most_ = most > 0 ? most : HUGE_VAL, least_ = least < 0 ? least : -HUGE_VAL;
        return active_ > 0 ? most - least : 0.0;
    }
    void free_all() { active_ = n_, most_ = HUGE_VAL, least_ = -HUGE_VAL; }

    // Moves to y'alpha = 0: by the multipliers between their bounds, where these can, since they are still being moved anyway.
    void restore_balance() {
        if (!problem_.intercept()) return;
        const double label = sum_ > 0 ? 1.0 : -1.0, excess = std::abs(sum_);
        const auto may_give = [&](Index i) {
            return problem_.y[i] == label && alpha_[i] > 0.0 && alpha_[i] < problem_.c[i];
        };
        double room = 0;
        for (Index i = 0; i < n_; ++i) room += may_give(i) ? alpha_[i] : 0.0;
        Vector balanced = alpha_;
        double total;
        if (room >= 2 * excess) {
            for (Index i = 0; i < n_; ++i)
                if (may_give(i)) balanced[i] *= 1.0 - excess / room;
        } else {
            balance(problem_, balanced, total);
        }
        for (Index i = 0; i < n_; ++i)
            if (balanced[i] != alpha_[i]) change(i, balanced[i], A_.dot_row(i, w_.data()));
    }

    // By the scores that rows had when they were visited last: what it costs is nothing against a pass over the rows.
    double estimated_gap() const {
        double loss = 0, total = 0;
        for (Index i = 0; i < n_; ++i) {
            loss += problem_.c[i] * std::max(0.0, 1.0 - problem_.y[i] * (scores_[i] + b_));
            total += alpha_[i];
        }
        return relative_gap(loss, total);
    }
    double relative_gap(double loss, double total) const {
        const double objective = 0.5 * square_ + loss + problem_.constant;
        return (objective - (total - 0.5 * square_ + problem_.constant)) / std::abs(objective);
    }
    bool worth_a_look(double gap) const {
        return gap <= descent::kHopeful * options_.tol || work_ - looked_ >= descent::kMostUnseen * pass_;
    }
    // How much more work it will take: the gap falls by about the same factor in every pass.
    void expect(double gap) {
        if (work_ < kSpan * marked_) return;
        const double rate = gap < gap_ ? std::log(gap_ / gap) / (work_ - marked_) : 0.0;
        needed_ = rate > 0 ? std::log(std::max(gap / options_.tol, 1.0)) / rate : 0.0;
        gap_ = gap, marked_ = work_, ++marks_;
    }
    bool too_slow(double passes) const {
        if (work_ >= std::min<double>(passes, options_.max_iter) * pass_) return true;
        return marks_ >= kSure && work_ + needed_ > passes * pass_;
    }
    double certified_gap() {
        restore_balance();
        if (work_ - fresh_ > descent::kDrift * pass_) sum_anew();
        for (Index i = 0; i < n_; ++i) {
            if (i + 1 < n_) A_.fetch_row(i + 1);
            scores_[i] = A_.dot_row(i, w_.data());
        }
        if (problem_.intercept()) best_b_ = intercept_.of(n_, scores_.data(), problem_.y, problem_.c);
        double loss = 0, total = 0;
        for (Index i = 0; i < n_; ++i) {
            loss += problem_.c[i] * std::max(0.0, 1.0 - problem_.y[i] * (scores_[i] + best_b_));
            total += alpha_[i];
        }
        objective_ = 0.5 * square_ + loss + problem_.constant, dual_ = total - 0.5 * square_ + problem_.constant;
        return (objective_ - dual_) / std::abs(objective_);
    }
    void offer(Solution& best) const {
        Vector theta(problem_.D());
        std::copy(w_.begin(), w_.end(), theta.begin());
        if (problem_.intercept()) theta[d_] = best_b_ + dot(d_, A_.mean(), w_.data());
        keep_better(theta, objective_, alpha_, dual_, best);
    }

    const Rows& A_;
    const Problem<Rows>& problem_;
    const Options& options_;
    Index n_, d_;
    Vector w_, alpha_, squares_, scores_, inverse_;
    std::vector<Index> order_;
    Index active_;
    BestIntercept intercept_;
    double b_ = 0, best_b_ = 0, rho_ = 0, sum_ = 0, square_ = 0;  // sum y alpha, w'Bw
    double most_ = HUGE_VAL, least_ = -HUGE_VAL, slack_ = descent::kFirstSlack;
    double pass_ = 0, work_ = 0, fresh_ = 0, marked_ = 0, looked_ = 0, needed_ = 0;  // numbers of the rows read
    int marks_ = 0;
    double gap_ = HUGE_VAL, objective_ = HUGE_VAL, dual_ = -HUGE_VAL;
    RandomNumbers random_;
};

}  // namespace rm
