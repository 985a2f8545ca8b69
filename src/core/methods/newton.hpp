// Semismooth Newton on the augmented Lagrangian (Yin & Li 2019), in multipliers scaled to a = alpha / c in [0, 1].
//
// For a reference a0 and a penalty s the inner problem replaces the hinge by its Moreau envelope, whose slope is
// a = clip(a0 + s z, 0, 1). Its Newton matrix is diag(B, 0) + s sum_{0 < a < 1} c a_i a_i': only the band counts.
#pragma once
#include "methods/band_gram.hpp"
#include "methods/narrow_band.hpp"

namespace rm {

// Root of the slope along a direction, which is monotone and piecewise linear: unit step, bracket, then Illinois.
template <class Slope>
double slope_root(const Slope& slope_at, double at_zero) {
    double low = 0, at_low = at_zero;
    const double enough = strategy::kSlopeReduction * std::abs(at_low);
    double high = 1, at_high = slope_at(high);
    // A slope that is small but positive may belong to a minimum long passed, unless the first half went down enough.
    if (std::abs(at_high) <= enough && (at_high <= 0 || slope_at(0.5) <= -at_high)) return high;
    while (at_high < 0 && high < 1e12) {
        low = high, at_low = at_high;
        high *= 2, at_high = slope_at(high);
    }
    int side = 0;
    double t = high;
    for (int k = 0; k < 40; ++k) {
        t = (low * at_high - high * at_low) / (at_high - at_low);
        const double at = slope_at(t);
        if (std::abs(at) <= enough) break;
        if (at > 0) {
            high = t, at_high = at;
            if (side == 1) at_low *= 0.5;
            side = 1;
        } else {
            low = t, at_low = at;
            if (side == -1) at_high *= 0.5;
            side = -1;
        }
    }
    return t;
}

// What the method has to say of a point: the objective, and the two parts of its gap.
struct Split {
    double objective, residual, complementarity;
};

// The outer loop of a method with a reference, a penalty and multipliers: inner problems until the gap is certified.
template <class Method>
void run_augmented_lagrangian(Method& method, const Options& options, int max_iter, Solution& best) {
    double target = options.tol;
    for (int iteration = 0; iteration < max_iter;) {
        method.refresh();
        for (bool first = true;; first = false) {
            const Split gap = method.evaluate();
            const double scale = std::abs(gap.objective);  // a reduced problem's may be negative
            if (gap.residual + gap.complementarity <= target * scale) {
                method.offer(best);
                if (best.gap() <= options.tol) return;
                target *= 0.3;
            }
            if (!first && gap.residual <= strategy::kResidualShare * std::max(gap.complementarity, 0.1 * target * scale)) break;
            if (iteration == max_iter) break;
            if (options.poll) options.poll();
            if (!method.step()) return method.offer(best);
            ++iteration, ++best.n_iter;
        }
        if (method.s_ >= strategy::kLargestPenalty) break;
        method.update_multipliers(strategy::kGrowth);
    }
    method.offer(best);
}

// An empty band leaves the intercept without curvature; the line search corrects the long step.
inline double intercept_curvature(Index n, const double* c) {
    double total = 0;
    for (Index i = 0; i < n; ++i) total += c[i];
    return 1e-9 * total;
}

// Newton's matrix, formed and factored.
template <class Rows>
class FormedSystem {
  public:
    FormedSystem(const Problem<Rows>& problem, const Options& options)
        : problem_(problem), options_(options), d_(problem.d()), D_(problem.D()),
          curvature_(intercept_curvature(problem.n(), problem.c)), gram_(problem.A, problem.c), narrow_(problem) {
        if constexpr (kFewFeatures)
            width_ = problem.A.width(), H_.resize(problem.A.padded_size());
        else
            width_ = D_, H_.resize(D_ * D_);
    }
    bool solve(const Band& band, const Vector& gradient, Vector& step) {
        if constexpr (kFewFeatures) {
            problem_.A.gram_rows(band.J, band.m, band.weights, H_.data());
        } else {
            if (strategy::narrow(band.m, D_) && narrow_.solve(band, curvature_, gradient, step)) return true;
            const Vector& G = gram_.of(band.J, band.m);
            for (Index k = 0; k < D_; ++k)
                for (Index l = k; l < D_; ++l) H_[k * D_ + l] = band.penalty * G[k * D_ + l];
        }
        if (options_.poll && problem_.n() >= kPollRows) options_.poll();
        problem_.B.add_to(H_.data(), width_);
        for (Index k = 0; k < D_; ++k) H_[k * width_ + k] *= 1.0 + 1e-12;
        if (problem_.intercept()) H_[d_ * width_ + d_] += curvature_;
        if constexpr (kFewFeatures) {
            for (Index k = 0; k < D_; ++k) H_[k * width_ + D_] = -gradient[k];
            return eliminate(H_.data(), width_, D_, step.data());
        } else {
            if (!blas::factorise(H_.data(), D_)) return false;
            for (Index k = 0; k < D_; ++k) step[k] = -gradient[k];
            cholesky_solve(H_.data(), D_, step.data());
            return true;
        }
    }

  private:
    static constexpr bool kFewFeatures = CanPadGram<Rows>;
    const Problem<Rows>& problem_;
    const Options& options_;
    Index d_, D_, width_;
    double curvature_;
    BandGram<Rows> gram_;
    NarrowBand<Rows> narrow_;
    Vector H_;
};

template <class Rows, class System = FormedSystem<Rows>>
class Newton {
  public:
    Newton(const Problem<Rows>& problem, const Options& options)
        : problem_(problem), options_(options), system_(problem, options), n_(problem.n()), d_(problem.d()), D_(problem.D()),
          a_(n_), ca_(n_), dz_(n_), weights_(n_), gradient_(D_), product_(D_), step_(D_), Bw_(D_), Bstep_(D_), J_(n_ + 1) {}

    // Runs from (theta, reference multipliers a0) and leaves the best certified pair in `best`, which holds that of zero.
    void run(const Vector& theta, Vector reference, double penalty, int max_iter, Solution& best) {
        reference_ = std::move(reference), s_ = penalty;
        start(theta, best.objective);
        run_augmented_lagrangian(*this, options_, max_iter, best);
    }

  private:
    friend void run_augmented_lagrangian<>(Newton&, const Options&, int, Solution&);
    // The product with the multipliers is updated by what changed; now and then it is computed anew, against rounding.
    void refresh() { known_.clear(); }
    void follow_multipliers() {
        if constexpr (CanAddRows<Rows>) {
            const Index m = known_.empty() ? n_ : differences(n_, ca_.data(), known_.data(), J_.data());
            if (strategy::few_changed(m, n_)) {
                for (Index j = 0; j < m; ++j) {
                    const Index i = J_[j];
                    weights_[j] = ca_[i] - known_[i], known_[i] = ca_[i];
                }
                return problem_.A.add_rows(J_.data(), m, weights_.data(), product_.data());
            }
        }
        problem_.A.transposed_times(ca_.data(), product_.data());
        known_ = ca_;
    }
    void poll_within_step() const {  // where one takes a while
        if (options_.poll && n_ >= kPollRows) options_.poll();
    }
    void offer(Solution& best) const { certify(problem_, theta_, ca_, best); }

    // From theta, unless there is none or it is worse than what is known: zero, or theta itself, summed in another order.
    void start(const Vector& theta, double known) {
        if (!theta.empty()) {
            theta_ = theta;
            problem_.margins(theta_, z_);
            const double objective = problem_.smooth_part(theta_) + hinge_loss(n_, problem_.c, z_.data());
            if (objective < known + 1e-9 * std::abs(known)) return;
        }
        theta_.assign(D_, 0.0), problem_.margins(theta_, z_);
    }

    // Multipliers, gradient and the two parts of the gap at the current point.
    Split evaluate() {
        const MarginSums sums =
            multiplier_step(n_, reference_.data(), z_.data(), s_, problem_.c, a_.data(), ca_.data());
        follow_multipliers();
        gradient_ = product_;
        problem_.B.times(theta_.data(), Bw_.data());
        double objective = 0.5 * dot(d_, theta_.data(), Bw_.data()) + sums.loss + problem_.constant;
        if (problem_.q) {
            axpy(D_, 1.0, problem_.q, gradient_.data());
            objective -= dot(D_, problem_.q, theta_.data());
        }
        for (Index k = 0; k < D_; ++k) gradient_[k] = (k < d_ ? Bw_[k] : 0.0) - gradient_[k];
        double residual = 0.5 * problem_.B.inverse_quadratic(gradient_.data());
        if (problem_.intercept()) residual += std::abs(gradient_[d_]);
        return {objective, residual, sums.complementarity};
    }

    bool step() {
        if (!newton_direction()) return false;
        for (Index k = 0; k < D_; ++k) Bstep_[k] = -step_[k];
        problem_.A.times(Bstep_.data(), dz_.data());
        const double t = line_search();
        if (!std::isfinite(t)) return false;
        axpy(D_, t, step_.data(), theta_.data());
        axpy(n_, t, dz_.data(), z_.data());
        return true;
    }

    void update_multipliers(double growth) {
        const Index m = band(n_, a_.data(), J_.data());
        if (strategy::expect_back(m, D_)) expected_.assign(J_.begin(), J_.begin() + m);
        reference_ = a_, s_ *= growth;
    }

    // Rows of the band that multipliers which have moved on throw out of it mostly come back. The step is that to the minimum of
    // the piece on which they are there; without them it would go far beyond the kinks at which they return, one after the other.
    bool expected_direction() {
        if constexpr (CanAddRows<Rows>) {
            Index out = 0;
            for (Index i : expected_) {
                const double beyond = reference_[i] + s_ * z_[i] - a_[i];
                if (beyond != 0.0) J_[out] = i, weights_[out++] = problem_.c[i] * beyond;
            }
            Vector gradient(D_, 0.0);
            problem_.A.add_rows(J_.data(), out, weights_.data(), gradient.data());
            for (Index k = 0; k < D_; ++k) gradient[k] = gradient_[k] - gradient[k];
            return solve(expected_.data(), Index(expected_.size()), gradient) && dot(D_, gradient_.data(), step_.data()) < 0;
        }
        return false;
    }

    bool newton_direction() {
        const bool expected = !expected_.empty() && expected_direction();
        expected_.clear();
        return expected || solve(J_.data(), band(n_, a_.data(), J_.data()), gradient_);
    }

    bool solve(const Index* J, Index m, const Vector& gradient) {
        for (Index j = 0; j < m; ++j) weights_[j] = s_ * problem_.c[J[j]];
        return system_.solve({J, m, weights_.data(), s_}, gradient, step_);
    }

    double line_search() {
        problem_.B.times(step_.data(), Bstep_.data());
        double linear = dot(d_, Bw_.data(), step_.data());
        if (problem_.q) linear -= dot(D_, problem_.q, step_.data());
        const double quadratic = dot(d_, step_.data(), Bstep_.data());
        auto slope_at = [&](double t) {
            poll_within_step();
            return linear + t * quadratic +
                   slope(n_, reference_.data(), z_.data(), dz_.data(), s_, t, problem_.c);
        };
        return slope_root(slope_at, dot(D_, gradient_.data(), step_.data()));
    }

    const Problem<Rows>& problem_;
    const Options& options_;
    System system_;
    Index n_, d_, D_;
    double s_ = 0;
    Vector theta_, reference_, z_, a_, ca_, dz_, weights_, known_, gradient_, product_, step_, Bw_, Bstep_;
    std::vector<Index> J_, expected_;
};

}  // namespace rm
