// The strict certificate of a kernel problem: both objectives at the multipliers as they are and the best intercept for them,
// in double precision. It needs f of the rows that have a multiplier, and of those that might have a loss; the others are
// farther from the margin than single precision can be wrong.
#pragma once
#include "methods/kernel_problem.hpp"

namespace rm {

struct PairSolution {
    double intercept = 0.0, objective = HUGE_VAL, dual_objective = -HUGE_VAL;
    Index n_pairs = 0;
    bool negative = false;  // v'Kv < 0 was met
    double gap() const { return (objective - dual_objective) / std::max(std::abs(objective), 1e-300); }
};

class KernelCertificate {
  public:
    explicit KernelCertificate(KernelProblem& problem) : p_(problem) {}

    // f of the problem becomes exact wherever it matters, and the sum of v zero.
    void evaluate(PairSolution& found) {
        p_.restore_balance();
        find_rows_that_matter();
        const Vector scores = exact_scores();
        double total = 0, square = 0, loss = 0;
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            const Index i = rows_[r];
            p_.f[i] = p_.y[i] - scores[r];
            total += p_.alpha[i], square += p_.alpha[i] * p_.y[i] * scores[r];
        }
        const double b = p_.intercept ? best_intercept() : 0.0;
        for (Index i : rows_) loss += p_.c[i] * std::max(0.0, p_.y[i] * (p_.f[i] - b));
        found.negative = square < -strategy::kNegativeSquare * total;
        found.intercept = b, found.objective = 0.5 * square + loss, found.dual_objective = total - 0.5 * square;
    }

  private:
    // Those with a multiplier, and then those whose loss is not certain to be zero.
    void find_rows_that_matter() {
        const double doubt = doubt_of_f();
        const Corridor corridor = p_.corridor_of(p_.taking_part);
        std::vector<Index> near;
        for (Index i : p_.taking_part) {
            const double worst = !p_.intercept ? 0.0 : p_.y[i] > 0 ? corridor.lowest : corridor.highest;  // intercept
            if (p_.alpha[i] > 0)
                rows_.push_back(i);
            else if (!(p_.y[i] * (p_.f[i] - worst) < -2.0 * doubt))
                near.push_back(i);
        }
        with_multiplier_ = Index(rows_.size());
        rows_.insert(rows_.end(), near.begin(), near.end());
    }

    // How far f may be off: rounding of K times the multipliers, and that of the working set's own f.
    double doubt_of_f() const {
        double total = 0, largest = 0;
        for (Index i : p_.taking_part) total += p_.alpha[i], largest = std::max(largest, std::abs(p_.f[i]));
        return p_.rows.rounding() * total + 1e-5 * largest;
    }

    // Kv at these rows, in blocks of K that are used from both sides.
    Vector exact_scores() const {
        constexpr Index kHeight = 128, kWidth = 512;
        const Index all = Index(rows_.size()), m = with_multiplier_;
        Vector scores(all, 0.0), v(all, 0.0), block(kHeight * kWidth);
        for (Index r = 0; r < m; ++r) v[r] = p_.y[rows_[r]] * p_.alpha[rows_[r]];
        for (Index i = 0; i < m; i += kHeight) {
            const Index height = std::min(kHeight, m - i);
            for (Index j = i; j < all; j = j == i ? i + height : j + kWidth) {
                const Index width = j == i ? height : std::min(kWidth, all - j);
                p_.rows.source().block(rows_.data() + i, height, rows_.data() + j, width, block.data());
                p_.poll();
                for (Index r = 0; r < height; ++r) {
                    axpy(width, v[i + r], block.data() + r * width, scores.data() + j);
                    if (j > i) scores[i + r] += dot(width, block.data() + r * width, v.data() + j);
                }
            }
        }
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

    KernelProblem& p_;
    std::vector<Index> rows_;
    Index with_multiplier_ = 0;
};

}  // namespace rm
