// Sifting: with many more rows than features nearly all multipliers are at a bound, and a guide tells which: the solution of a
// sample, or of all rows to a rough tolerance.
//
// Rows far from the guide's margin are fixed (alpha = c or 0) and enter as a linear term; the rest is a small problem of its
// own. One pass over all rows then gives the gap of the full problem, and the rows it proves wrong.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "methods/direct.hpp"

namespace rm {

template <class Full>
class Sifting {
  public:
    Sifting(const Problem<Full>& full, const Options& options)
        : full_(full), options_(options), n_(full.n()), role_(n_, kFree) {}

    // False where sifting is of no use; the caller then solves directly, from the best that was found.
    bool run(const Solution& start, bool on_path, Solution& best) {
        const bool sample = strategy::sift_by_sample(n_, full_.D(), on_path);
        Solution guide = sample ? solve_sample(start, best) : solve_roughly(start, best);
        if (guide.theta.empty() || best.gap() <= options_.tol) return !guide.theta.empty();
        Vector theta = std::move(guide.theta);
        for (int round = 0; round < strategy::kSiftingRounds; ++round) {
            if (options_.poll) options_.poll();
            full_.margins(theta, z_);
            if (round == 0) {
                if (!fix_far_rows(sample, guide.alpha)) return false;
            } else if (finished(theta, best))
                return true;
            else
                free_violators();
            if (strategy::too_many_free(static_cast<Index>(free_.size()), n_) || best.n_iter >= options_.max_iter) return false;
            const int spent = best.n_iter;
            reduced_ = solve_free_rows(theta, spent);
            best.n_iter = spent + reduced_.n_iter;
            theta = reduced_.theta;
        }
        return false;
    }

  private:
    Vector targets(const std::vector<Index>& J) const { return full_.t ? pick(full_.t, J) : Vector(); }

    enum Role : char { kFree, kUpper, kLower };

    // Guides: no theta where there is none.
    Solution solve_roughly(const Solution& start, Solution& best) const {
        Options rough = options_;
        rough.tol = strategy::kRough;
        const int spent = best.n_iter;
        best = solve_direct(full_, rough, start);
        best.n_iter += spent;
        return best.gap() <= rough.tol ? best : Solution{};
    }
    Solution solve_sample(const Solution& all, Solution& best) const {
        const Index m = strategy::sample_size(n_, full_.D());
        std::vector<Index> J(m);
        std::uint64_t state = 0x9E3779B97F4A7C15u;  // a jittered grid: sorted or periodic rows do no harm
        for (Index j = 0; j < m; ++j) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const double u = static_cast<double>(state >> 11) * 0x1p-53;
            J[j] = std::min(n_ - 1, static_cast<Index>((j + u) * (double(n_) / m)));
        }
        Vector c = pick(full_.c, J), y = pick(full_.y, J), t = targets(J);
        const double scale = double(n_) / m;
        for (auto& ci : c) ci *= scale;
        if (full_.intercept() && std::abs(std::accumulate(y.begin(), y.end(), 0.0)) > m - 20.0) return {};
        Options rough = options_;
        rough.tol = std::max(options_.tol, strategy::kSampleTol);
        rough.max_iter = std::min(options_.max_iter, strategy::kSampleSteps);
        Solution start, sample;
        start.theta = all.theta;
        full_.A.with_rows(J, options_.poll, [&](const auto& rows) {
            Problem<std::decay_t<decltype(rows)>> problem{rows,    full_.B,        c.data(), y.data(),
                                                            full_.q, full_.constant, full_.t ? t.data() : nullptr};
            sample = solve_direct(problem, rough, start);
        });
        best.n_iter += sample.n_iter;
        Solution guide;  // its multipliers are those of other rows
        if (sample.gap() <= rough.tol) guide.theta = sample.theta;
        return guide;
    }

    // How far from the margin a row must be to be fixed. A sample's margins are off by about 2.5 sqrt(D / m) of their spread;
    // where all rows were solved, how many are left tells, unless so many are at one place that it is no distance at all.
    double spread() const {
        double square = 0;
        for (Index i = 0; i < n_; ++i) square += (full_.target(i) - z_[i]) * (full_.target(i) - z_[i]);
        return std::sqrt(square / n_);
    }
    double width_of_sample() const {
        return 2.5 * std::sqrt(double(full_.D()) / strategy::sample_size(n_, full_.D())) * spread() + 1e-3;
    }
    double width_of_nearest() const {
        Vector far(n_);
        for (Index i = 0; i < n_; ++i) far[i] = std::abs(z_[i]);
        const auto last = far.begin() + strategy::rows_left(n_, full_.D());
        std::nth_element(far.begin(), last, far.end());
        return std::max(*last, strategy::kNoDistance * spread());
    }

    bool fix_far_rows(bool sample, const Vector& alpha) {
        width_ = sample ? width_of_sample() : width_of_nearest();
        while (!free_rows_can_balance())
            if (!std::isfinite(width_ *= 1.5)) return false;
        for (Index i = 0; i < n_; ++i) {
            role_[i] = z_[i] > width_ ? kUpper : z_[i] < -width_ ? kLower : kFree;
            if (role_[i] != kFree) continue;
            free_.push_back(i);
            if (!alpha.empty()) reduced_.alpha.push_back(alpha[i]);
        }
        return true;
    }
    // y'alpha = 0 must stay within reach of the rows left free, with room to spare, or the intercept runs away.
    bool free_rows_can_balance() const {
        if (!full_.intercept()) return true;
        double fixed = 0, up = 0, down = 0;
        for (Index i = 0; i < n_; ++i) {
            if (z_[i] > width_)
                fixed += full_.y[i] * full_.c[i];
            else if (z_[i] >= -width_)
                (full_.y[i] > 0 ? up : down) += full_.c[i];
        }
        return fixed < 0.9 * down && -fixed < 0.9 * up;
    }
    void free_violators() {
        const double slack = 0.1 * width_;
        for (Index i = 0; i < n_; ++i) {
            const bool wrong = (role_[i] == kUpper && z_[i] < slack) || (role_[i] == kLower && z_[i] > -slack);
            if (!wrong) continue;
            reduced_.alpha.push_back(role_[i] == kUpper ? full_.c[i] : 0.0);
            free_.push_back(i);
            role_[i] = kFree;
        }
    }

    Solution solve_free_rows(const Vector& theta, int spent) {
        Vector q(full_.D()), fixed(n_);
        double constant = full_.constant;
        for (Index i = 0; i < n_; ++i) {
            fixed[i] = role_[i] == kUpper ? full_.c[i] : 0.0;
            constant += fixed[i] * full_.target(i);
        }
        full_.A.transposed_times(fixed.data(), q.data());
        if (full_.q) axpy(full_.D(), 1.0, full_.q, q.data());
        Vector c = pick(full_.c, free_), y = pick(full_.y, free_), t = targets(free_);
        Options inner = options_;
        inner.tol *= 0.5;
        inner.max_iter = options_.max_iter - spent;
        Solution start;
        start.theta = theta;
        start.alpha = reduced_.alpha;  // none from a sample
        const double penalty = start.alpha.empty() ? 1.0 / width_ : 0.0;
        Solution out;
        full_.A.with_rows(free_, options_.poll, [&](const auto& rows) {
            Problem<std::decay_t<decltype(rows)>> problem{rows,     full_.B,  c.data(), y.data(),
                                                            q.data(), constant, full_.t ? t.data() : nullptr};
            out = solve_direct(problem, inner, start, penalty);
        });
        return out;
    }

    // The full objective at theta against the dual value of the reduced problem, which is feasible for the full one.
    bool finished(const Vector& theta, Solution& best) {
        double objective = full_.smooth_part(theta);
        for (Index i = 0; i < n_; ++i) objective += full_.c[i] * std::max(z_[i], 0.0);
        if (objective < best.objective) best.objective = objective, best.theta = theta, best.solver = reduced_.solver, best.sifted = true;
        if (reduced_.dual_objective > best.dual_objective) {
            best.dual_objective = reduced_.dual_objective;
            best.alpha.assign(n_, 0.0);
            for (Index i = 0; i < n_; ++i)
                if (role_[i] == kUpper) best.alpha[i] = full_.c[i];
            for (std::size_t j = 0; j < free_.size(); ++j) best.alpha[free_[j]] = reduced_.alpha[j];
        }
        return best.gap() <= options_.tol;
    }

    const Problem<Full>& full_;
    const Options& options_;
    Index n_;
    std::vector<char> role_;
    std::vector<Index> free_;
    Vector z_;
    Solution reduced_;
    double width_ = 0;
};

}  // namespace rm
