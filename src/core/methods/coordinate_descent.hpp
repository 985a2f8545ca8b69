// Dual coordinate descent with shrinking (Hsieh et al. 2008): one multiplier after the other, in random order, at the price of
// the numbers that its row stores. Nothing is d x d or n x n.
//
// An intercept that is not penalised asks for y'alpha = 0, which no single multiplier can keep. So it is penalised, by its
// distance (b - b0)^2 / (2 rho) from where it was: then b = b0 + rho y'alpha, one more coordinate, and after every epoch b0
// becomes b (a proximal point). Before anything is certified the multipliers are balanced, and b is the best for w.
#pragma once
#include "methods/visits.hpp"
#include "problem.hpp"

namespace rm {

template <class Rows>
class CoordinateDescent {
    static_assert(CanVisit<Rows>);

  public:
    CoordinateDescent(const Problem<Rows>& problem, const Options& options)
        : A_(problem.A), problem_(problem), options_(options), n_(problem.n()), d_(problem.d()), w_(d_), alpha_(n_, 0.0),
          squares_(n_), scores_(n_), tour_(n_) {
        if (!problem.B.identity()) {
            inverse_.assign(d_, 1.0);
            problem.B.divide(inverse_.data());
        }
        double weight = 0, squares = 0;
        for (Index i = 0; i < n_; ++i) {
            squares += squares_[i] = A_.square_row(i, inverse());
            work_.pass += cost(i), weight += problem.c[i];
        }
        if (!problem.intercept()) return;
        square_of_mean_ = square_of_mean();
        rho_ = strategy::intercept_penalty(squares / double(n_), square_of_mean_, weight);
    }

    // Runs until `best` holds a solution, or until it sees that it would take more passes over the rows than are worth it.
    void run(const Solution& start, const strategy::Patience& patience, Solution& best) {
        begin_at(start);
        while (true) {
            if (options_.poll) options_.poll();
            const double violation = epoch();
            if (!compared_ && !problem_.t && work_.done > strategy::kContradicted * work_.pass) raise_contradictions();
            b_ += rho_ * sum_;
            const bool at_rest = tour_.at_rest(violation);
            if (tour_.settled(violation)) tour_.take_all();
            const double gap = estimated_gap();
            outlook_.see(gap, options_.tol, work_);
            if (!at_rest && !worth_a_look(gap) && !too_slow(patience)) continue;
            work_.looked = work_.done;
            if (certified_gap() <= options_.tol || at_rest || too_slow(patience)) break;
        }
        best.n_iter += work_.passes(options_.max_iter);
        offer(best);
    }

  private:
    double cost(Index i) const { return 1.0 + double(A_.stored(i)); }  // of a visit
    const double* inverse() const { return inverse_.empty() ? nullptr : inverse_.data(); }

    double square_of_mean() const {
        const Index step = std::max<Index>(1, n_ / strategy::kMeanSample);
        Vector sum(d_, 0.0);
        double count = 0;
        for (Index i = 0; i < n_; i += step, ++count) A_.add_row(i, 1.0, inverse(), sum.data());
        return problem_.B.quadratic(sum.data()) / (count * count);
    }
    void begin_at(const Solution& start) {
        if (!start.alpha.empty()) {
            alpha_ = start.alpha;
            double total;
            if (!balance(problem_, alpha_, total)) std::fill(alpha_.begin(), alpha_.end(), 0.0);
        }
        sum_anew();
        // Multipliers that were scaled from those of another C: their best multiple.
        const double total = std::max(reward(problem_, alpha_), 0.0);
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
        work_.fresh = work_.done;
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
        tour_.shuffle();
        for (Index s = 0; s < tour_.size(); ++s) {
            const Index i = tour_[s];
            if (s + 1 < tour_.size()) A_.fetch_row(tour_[s + 1]);
            const double score = scores_[i] = A_.dot_row(i, w_.data()), bound = problem_.c[i];
            const double slope = problem_.y[i] * (score + b_ + rho_ * sum_) - problem_.target(i);
            work_.done += cost(i);
            const bool low = alpha_[i] <= 0.0, high = alpha_[i] >= bound;
            if ((low && slope > most_) || (high && slope < least_)) {
                tour_.shrink(s--);
                continue;
            }
            const double wrong = low ? std::min(slope, 0.0) : high ? std::max(slope, 0.0) : slope;
            most = std::max(most, wrong), least = std::min(least, wrong);
            if (wrong != 0.0) change(i, std::clamp(alpha_[i] - slope / (squares_[i] + rho_), 0.0, bound), score);
        }
        most_ = most > 0 ? strategy::kShrink * most : HUGE_VAL, least_ = least < 0 ? strategy::kShrink * least : -HUGE_VAL;
        return tour_.size() > 0 ? most - least : 0.0;
    }
    void raise_contradictions() {
        compared_ = true;
        const auto groups = alike_rows(
            n_, [&](Index i) { return A_.fingerprint(i); }, [&](Index i, Index j) { return A_.same(i, j); });
        const auto label = [&](Index i) { return problem_.y[i]; };
        const auto alpha = [&](Index i) -> double& { return alpha_[i]; };
        const auto bound = [&](Index i) { return problem_.c[i]; };
        for (const auto& group : groups) raise_together(group, label, alpha, bound);
    }

    // Moves to y'alpha = 0.
    void restore_balance() {
        if (!problem_.intercept()) return;
        const double label = sum_ > 0 ? 1.0 : -1.0, excess = std::abs(sum_);
        const HeavySide side = sums().side;
        Vector balanced = alpha_;
        double total;
        if (side.free_can_give(excess)) {
            for (Index i = 0; i < n_; ++i)
                if (problem_.y[i] == label && alpha_[i] < problem_.c[i]) balanced[i] *= 1.0 - excess / side.free;
        } else {
            balance(problem_, balanced, total);
        }
        for (Index i = 0; i < n_; ++i)
            if (balanced[i] != alpha_[i]) change(i, balanced[i], A_.dot_row(i, w_.data()));
    }

    // By the scores that rows had when they were visited last: what it costs is nothing against a pass over the rows. A row has
    // its share c max(0, z) - alpha z, z its slack, which is never negative; the difference of both objectives, from scores of
    // different moments, may be anything.
    struct Sums {
        double loss = 0, shares = 0;
        HeavySide side;
    };
    Sums sums() const {
        const double label = sum_ > 0 ? 1.0 : -1.0;
        Sums out;
        for (Index i = 0; i < n_; ++i) {
            const double z = problem_.target(i) - problem_.y[i] * (scores_[i] + b_), alpha = alpha_[i], c = problem_.c[i];
            const double hinge = c * std::max(0.0, z), heavy = problem_.y[i] == label ? alpha : 0.0;
            out.loss += hinge, out.shares += hinge - alpha * z;
            if (alpha < c)
                out.side.free += heavy;
            else
                out.side.bound += heavy, out.side.slack += heavy * z;
        }
        return out;
    }
    double estimated_gap() const {
        const Sums now = sums();
        const double balance = problem_.intercept() ? now.side.cost_of_balance(std::abs(sum_), square_of_mean_) : 0.0;
        return (now.shares + balance) / std::abs(0.5 * square_ + now.loss + problem_.constant);
    }
    bool worth_a_look(double gap) const {
        return gap <= strategy::kHopeful * options_.tol || work_.long_unseen();
    }
    bool too_slow(const strategy::Patience& patience) const {
        if (work_.done >= std::min<double>(patience.most, options_.max_iter) * work_.pass) return true;
        return outlook_.too_slow(patience, work_);
    }
    double certified_gap() {
        restore_balance();
        if (work_.drifted()) sum_anew();
        for (Index i = 0; i < n_; ++i) {
            if (i + 1 < n_) A_.fetch_row(i + 1);
            scores_[i] = A_.dot_row(i, w_.data());
        }
        if (problem_.intercept()) best_b_ = intercept_.of(n_, scores_.data(), problem_.y, problem_.c, problem_.t);
        double loss = 0, total = 0;
        for (Index i = 0; i < n_; ++i) {
            loss += problem_.c[i] * std::max(0.0, problem_.target(i) - problem_.y[i] * (scores_[i] + best_b_));
            total += problem_.target(i) * alpha_[i];
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
    Tour tour_;
    Work work_;
    Outlook outlook_;
    BestIntercept intercept_;
    double b_ = 0, best_b_ = 0, rho_ = 0, square_of_mean_ = 0;
    double sum_ = 0, square_ = 0;                 // y'alpha, w'Bw
    double most_ = HUGE_VAL, least_ = -HUGE_VAL;  // slopes beyond which a row at its bound is shrunk
    bool compared_ = false;                       // whether contradictions were looked for
    double objective_ = HUGE_VAL, dual_ = -HUGE_VAL;
};

}  // namespace rm
