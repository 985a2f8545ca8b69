// Mehrotra's predictor-corrector for the same problem: slower than Newton, but it has never failed. It is the
// fallback when the semismooth steps stall.
//
//   A theta + xi - s = t,  s, xi >= 0 with multipliers alpha and beta = c - alpha;  one A'DA per iteration.
#pragma once
#include <numeric>

#include "problem.hpp"

namespace rm {

template <class Rows>
class InteriorPoint {
  public:
    InteriorPoint(const Problem<Rows>& problem, const Options& options)
        : problem_(problem), options_(options), n_(problem.n()), D_(problem.D()), H_(D_ * D_), all_(n_) {
        std::iota(all_.begin(), all_.end(), Index{0});
    }

    void run(Vector theta, int max_iter, Solution& best) {
        start(std::move(theta));
        for (int iteration = 0; iteration < max_iter; ++iteration, ++best.n_iter) {
            if (options_.poll) options_.poll();
            if (!certify(problem_, theta_, alpha_, best) || best.gap() <= options_.tol) return;
            if (!residuals() || stalls(best.gap()) || !factorise()) return;
            if (options_.poll) options_.poll();
            // Predictor: how far the undamped step gets decides the centring.
            Direction affine = direction(0.0, nullptr);
            const double reach = step_length(affine);
            const double reduced = complementarity(affine, reach) / mu_;
            Direction corrected = direction(mu_ * reduced * reduced * reduced, &affine);
            advance(corrected, std::min(1.0, 0.995 * step_length(corrected)));
        }
        certify(problem_, theta_, alpha_, best);
    }

  private:
    struct Direction {
        Vector theta, alpha, s, xi;
    };

    // Rounding of the Newton matrix ends all progress where the data are ill conditioned: neither the gap nor the
    // complementarity nor the residual of the dual constraints falls any more.
    bool stalls(double gap) {
        double residual = 0;
        for (double r : dual_) residual = std::max(residual, std::abs(r));
        if (gap < 0.9 * lowest_gap_ || mu_ < 0.9 * lowest_mu_ || residual < 0.9 * lowest_residual_) {
            lowest_gap_ = std::min(lowest_gap_, gap), lowest_mu_ = std::min(lowest_mu_, mu_);
            lowest_residual_ = std::min(lowest_residual_, residual);
            patience_ = strategy::kPatience;
        }
        return patience_-- == 0;
    }

    void start(Vector theta) {
        theta_ = std::move(theta);
        Vector z;
        problem_.margins(theta_, z);
        alpha_.resize(n_), beta_.resize(n_), s_.resize(n_), xi_.resize(n_), scaling_.resize(n_);
        for (Index i = 0; i < n_; ++i) {
            alpha_[i] = beta_[i] = 0.5 * problem_.c[i];  // kept apart: c - alpha would cancel
            s_[i] = std::max(-z[i], 0.0) + 1.0;
            xi_[i] = std::max(z[i], 0.0) + 1.0;
        }
    }

    bool residuals() {
        primal_.resize(n_), dual_.assign(D_, 0.0);
        Vector Bw(D_), g(D_);
        problem_.A.times(theta_.data(), primal_.data());
        mu_ = 0;
        for (Index i = 0; i < n_; ++i) {
            primal_[i] += xi_[i] - s_[i] - problem_.target(i);
            mu_ += s_[i] * alpha_[i] + xi_[i] * beta_[i];
        }
        mu_ /= 2.0 * n_;
        problem_.A.transposed_times(alpha_.data(), g.data());
        problem_.B.times(theta_.data(), Bw.data());
        for (Index k = 0; k < D_; ++k)
            dual_[k] = (k < problem_.d() ? Bw[k] : 0.0) - (problem_.q ? problem_.q[k] : 0.0) - g[k];
        return std::isfinite(mu_) && mu_ > 0;
    }
    bool factorise() {
        for (Index i = 0; i < n_; ++i) {
            scaling_[i] = 1.0 / (xi_[i] / beta_[i] + s_[i] / alpha_[i]);
            if (!std::isfinite(scaling_[i])) return false;
        }
        problem_.A.gram(all_.data(), n_, scaling_.data(), H_.data());
        problem_.B.add_to(H_.data(), D_);
        for (Index k = 0; k < D_; ++k) H_[k * D_ + k] *= 1.0 + 1e-14;
        return blas::factorise(H_.data(), D_);
    }
    Direction direction(double target, const Direction* affine) {
        Vector rs(n_), rx(n_), h(n_), weighted(n_);
        for (Index i = 0; i < n_; ++i) {
            rs[i] = target - s_[i] * alpha_[i] - (affine ? affine->s[i] * affine->alpha[i] : 0.0);
            rx[i] = target - xi_[i] * beta_[i] + (affine ? affine->xi[i] * affine->alpha[i] : 0.0);
            h[i] = -primal_[i] - rx[i] / beta_[i] + rs[i] / alpha_[i];
            weighted[i] = scaling_[i] * h[i];
        }
        Direction out{Vector(D_), Vector(n_), Vector(n_), Vector(n_)};
        problem_.A.transposed_times(weighted.data(), out.theta.data());
        axpy(D_, -1.0, dual_.data(), out.theta.data());
        const Vector right = out.theta;
        cholesky_solve(H_.data(), D_, out.theta.data());
        refine(right, out.theta);
        problem_.A.times(out.theta.data(), out.alpha.data());
        for (Index i = 0; i < n_; ++i) {
            out.alpha[i] = scaling_[i] * (h[i] - out.alpha[i]);
            out.s[i] = (rs[i] - s_[i] * out.alpha[i]) / alpha_[i];
            out.xi[i] = (rx[i] + xi_[i] * out.alpha[i]) / beta_[i];
        }
        return out;
    }
    // Iterative refinement by products with the rows, which are not rounded as the Gram matrix is.
    void refine(const Vector& right, Vector& x) const {
        Vector weighted(n_), residual(D_), Bx(D_, 0.0);
        for (int step = 0; step < strategy::kRefinements; ++step) {
            problem_.A.times(x.data(), weighted.data());
            for (Index i = 0; i < n_; ++i) weighted[i] *= scaling_[i];
            problem_.A.transposed_times(weighted.data(), residual.data());
            problem_.B.times(x.data(), Bx.data());
            for (Index k = 0; k < D_; ++k) residual[k] = right[k] - residual[k] - Bx[k];
            cholesky_solve(H_.data(), D_, residual.data());
            axpy(D_, 1.0, residual.data(), x.data());
        }
    }
    double step_length(const Direction& step) const {
        double t = 1.0 / 0.995;
        for (Index i = 0; i < n_; ++i) {
            if (step.s[i] < 0) t = std::min(t, -s_[i] / step.s[i]);
            if (step.xi[i] < 0) t = std::min(t, -xi_[i] / step.xi[i]);
            if (step.alpha[i] < 0) t = std::min(t, -alpha_[i] / step.alpha[i]);
            if (step.alpha[i] > 0) t = std::min(t, beta_[i] / step.alpha[i]);
        }
        return t;
    }
    double complementarity(const Direction& step, double t) const {
        t = std::min(t, 1.0);
        double sum = 0;
        for (Index i = 0; i < n_; ++i) {
            const double alpha = alpha_[i] + t * step.alpha[i];
            sum += (s_[i] + t * step.s[i]) * alpha + (xi_[i] + t * step.xi[i]) * (beta_[i] - t * step.alpha[i]);
        }
        return sum / (2.0 * n_);
    }
    void advance(const Direction& step, double t) {
        axpy(D_, t, step.theta.data(), theta_.data());
        axpy(n_, t, step.alpha.data(), alpha_.data());
        axpy(n_, -t, step.alpha.data(), beta_.data());
        axpy(n_, t, step.s.data(), s_.data());
        axpy(n_, t, step.xi.data(), xi_.data());
    }

    const Problem<Rows>& problem_;
    const Options& options_;
    Index n_, D_;
    double mu_ = 0, lowest_mu_ = HUGE_VAL, lowest_gap_ = HUGE_VAL, lowest_residual_ = HUGE_VAL;
    int patience_ = strategy::kPatience;
    Vector theta_, alpha_, beta_, s_, xi_, scaling_, primal_, dual_, H_;
    std::vector<Index> all_;
};

}  // namespace rm
