// The strict certificate of a kernel problem: both objectives at the multipliers as they are and the best intercept for them,
// in double precision. It needs f of the rows that have a multiplier, and of those that might have a loss; the others are
// farther from the margin than single precision can be wrong about these multipliers.
#pragma once
#include "methods/kernel_problem.hpp"
#include "solver.hpp"

namespace rm {

struct PairSolution {
    double intercept = 0.0, objective = HUGE_VAL, dual_objective = -HUGE_VAL;
    Index n_pairs = 0;
    bool negative = false;  // v'Kv < 0 was met
    bool late = false;      // no sweeps were left
    Solver solver = Solver::smo;
    double gap() const { return (objective - dual_objective) / std::max(std::abs(objective), 1e-300); }
};

class KernelCertificate {
  public:
    explicit KernelCertificate(KernelProblem& problem) : p_(problem) {}

    // f of the problem becomes exact wherever it matters, and the sum of v zero. The objective is rounded up and its bound down,
    // by as much as the sums and kernel values of double precision may be off.
    void evaluate(PairSolution& found) {
        p_.restore_balance();
        find_rows_that_matter();
        const Vector scores = exact_scores();
        long double square = 0, loss = 0, reward = 0;
        double at_risk = 0;
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            const Index i = rows_[r];
            const double score = scores[place_[p_.stored(i)]];
            p_.f[i] = p_.sides.signed_targets[i] - score;
            square += (long double)(p_.alpha[i] * p_.y[i]) * score;
            reward += (long double)(p_.alpha[i]) * p_.target(i);
        }
        const double b = p_.intercept ? best_intercept() : 0.0, error = error_of_f(b);
        for (Index i : rows_) {
            const double slack = p_.y[i] * (p_.f[i] - b);
            loss += (long double)(p_.c[i]) * std::max(0.0, slack);
            if (slack > -error) at_risk += p_.c[i] * p_.c[i];
        }
        found.negative = square < -strategy::kNegativeSquare * total_ - total_ * error;
        found.intercept = b;
        const double of_square = 0.5 * error * length_, of_loss = error * std::sqrt(at_risk);
        found.objective = double(0.5L * square + loss) + of_square + of_loss;
        found.dual_objective = double(reward - 0.5L * square) - of_square - kDouble * reward_size_;
    }

  private:
    // Those with a multiplier, and then those whose loss is not certain to be zero. What f was before does not matter: it has
    // followed multipliers that may have been larger by far.
    void find_rows_that_matter() {
        for (Index i : p_.taking_part) {
            total_ += p_.alpha[i], reward_size_ += p_.alpha[i] * std::abs(p_.target(i));
            length_ += p_.alpha[i] * p_.alpha[i], largest_target_ = std::max(largest_target_, std::abs(p_.target(i)));
        }
        length_ = std::sqrt(length_);
        const double doubt = 2.0 * p_.rows.single_rounding() * total_;
        if (std::isfinite(doubt)) p_.compute_f_anew();
        const Corridor corridor = p_.corridor_of(p_.taking_part);
        std::vector<Index> near;
        for (Index i : p_.taking_part) {
            const double worst = !p_.intercept ? 0.0 : p_.y[i] > 0 ? corridor.lowest : corridor.highest;  // intercept
            if (p_.alpha[i] > 0)
                rows_.push_back(i);
            else if (!std::isfinite(doubt) || !(p_.y[i] * (p_.f[i] - worst) < -doubt))
                near.push_back(i);
        }
        place_.assign(p_.sides.stored, -1);
        const auto store = [this](Index i) {
            Index& place = place_[p_.stored(i)];
            if (place < 0) place = Index(stored_.size()), stored_.push_back(p_.stored(i));
        };
        for (Index i : rows_) store(i);
        with_multiplier_ = Index(stored_.size());
        for (Index i : near) store(i);
        rows_.insert(rows_.end(), near.begin(), near.end());
    }

    // How far f - b may be off: rounding of kernel values and of their products with v, which is independent from one to the
    // next (four standard deviations; added up it would be tens of times what is ever seen), and of the result.
    double error_of_f(double b) const {
        const double each = p_.rows.double_rounding() + kDouble * (p_.rows.largest() + std::abs(b));
        return 4.0 * (each * length_ + kDouble * (largest_target_ + std::abs(b)));
    }

    // Kv at these rows, in blocks of K that are used from both sides; sums are compensated.
    Vector exact_scores() const {
        const Index all = Index(stored_.size()), m = with_multiplier_;
        Vector scores(all, 0.0), rests(all, 0.0), v(all, 0.0), block(kHeight * kWidth);
        for (Index i : rows_) v[place_[p_.stored(i)]] += p_.y[i] * p_.alpha[i];
        for (Index i = 0; i < m; i += kHeight) {
            const Index height = std::min(kHeight, m - i);
            for (Index j = i; j < all; j = j == i ? i + height : j + kWidth) {
                const Index width = j == i ? height : std::min(kWidth, all - j);
                p_.rows.source().block(stored_.data() + i, height, stored_.data() + j, width, block.data());
                p_.poll();
                for (Index r = 0; r < height; ++r) {
                    const double* K = block.data() + r * width;
                    compensated_axpy(width, v[i + r], K, scores.data() + j, rests.data() + j);
                    if (j > i) compensated_dot(width, K, v.data() + j, scores[i + r], rests[i + r]);
                }
            }
        }
        axpy(all, 1.0, rests.data(), scores.data());
        return scores;
    }

    // The loss is convex and piecewise linear in b with kinks at f; its minimum lies between the ends of the corridor.
    double best_intercept() const {
        const Corridor corridor = p_.corridor_of(p_.taking_part);
        if (!(corridor.width() > 0 && std::isfinite(corridor.width()))) return corridor.middle();
        double slope = 0;  // just right of the lower end
        std::vector<std::pair<double, double>> kinks;
        for (Index i : rows_) {
            const bool left = p_.f[i] <= corridor.lowest;
            if (p_.y[i] > 0 ? !left : left) slope -= p_.y[i] * p_.c[i];
            if (!left && p_.f[i] < corridor.highest) kinks.emplace_back(p_.f[i], p_.c[i]);
        }
        if (slope >= 0) return corridor.lowest;
        std::sort(kinks.begin(), kinks.end());
        for (const auto& [place, weight] : kinks)
            if ((slope += weight) >= 0) return place;
        return corridor.highest;
    }

    static constexpr Index kHeight = 128, kWidth = 512;  // of a block of K

    KernelProblem& p_;
    double total_ = 0.0, length_ = 0.0;  // sum and root of the sum of squares of the multipliers
    double reward_size_ = 0.0, largest_target_ = 0.0;
    std::vector<Index> rows_, stored_, place_;  // that matter; the rows of K that these share; where each row of K is among them
    Index with_multiplier_ = 0;
};

}  // namespace rm
