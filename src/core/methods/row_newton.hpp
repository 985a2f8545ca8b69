// Newton's method of newton.hpp for about as many features as rows, in the coordinates of the rows and from where
// sequential minimal optimisation got to.
//
// With Bw = X'v, X the signed rows, everything that an iteration needs follows from G = X B^{-1} X', which is computed
// once: the margins are z = t - Gv - yb and the gradient in w is X'(v - ca). By Woodbury a step solves
//   (1/(s c) + G_JJ) u - y_J beta = -(G(v - ca))_J,   y_J'u = y'ca   (dv = ca - v - u, db = beta)
// in the rows J of the band instead of all features.
#pragma once
#include "methods/newton.hpp"
#include "methods/smo.hpp"

namespace rm {

template <class Rows>
class RowNewton {
    static_assert(CanRowGram<Rows>);

  public:
    RowNewton(const Problem<Rows>& problem, const Options& options)
        : problem_(problem), options_(options), n_(problem.n()), G_(problem.A.row_gram(problem.B, options.poll)), v_(n_, 0.0),
          h_(n_, 0.0), z_(n_), a_(n_), ca_(n_), known_(n_, 0.0), product_(n_, 0.0), dv_(n_), dh_(n_), dz_(n_), J_(n_ + 1) {
        for (Index i = 0; i < n_; ++i) total_weight_ += problem.c[i];
    }

    // Runs from multipliers, if there are any, and leaves the best certified pair in `best`. Returns the method that finished.
    Solver run(const Vector& start, Vector reference, double penalty, int max_iter, Solution& best) {
        reference_ = std::move(reference), s_ = penalty;
        const int before = best.n_iter;
        if (problem_.intercept())
            approach(start, max_iter, best);
        else if (!start.empty())
            begin_at(start);
        if (best.gap() <= options_.tol) return Solver::smo;
        run_augmented_lagrangian(*this, options_, max_iter - (best.n_iter - before), best);
        return Solver::row_newton;
    }

  private:
    friend void run_augmented_lagrangian<>(RowNewton&, const Options&, int, Solution&);

    const double* column(Index i) const { return G_.data() + i * n_; }
    void multiply(const Vector& x, Vector& out) const {
        std::fill(out.begin(), out.end(), 0.0);
        for (Index i = 0; i < n_; ++i)
            if (x[i] != 0.0) axpy(n_, x[i], column(i), out.data());
    }
    // Pairs of rows first; a sweep over all counts as a step.
    void approach(const Vector& start, int max_iter, Solution& best) {
        Smo smo(G_, n_, problem_.y, problem_.c, problem_.t);
        double total;
        Vector alpha = start;
        if (!alpha.empty() && balance(problem_, alpha, total)) smo.begin_at(std::move(alpha));
        best.n_iter += smo.run(std::max(options_.tol, strategy::kNear), std::min(max_iter, strategy::kSweeps), options_.poll);
        v_ = ca_ = smo.alpha(), b_ = smo.intercept();
        for (Index i = 0; i < n_; ++i) reference_[i] = v_[i] / problem_.c[i];
        offer(best);
        // Far from the solution, where C is large, multipliers that follow the margins closely take many more steps.
        s_ = strategy::is_near(best.gap()) ? strategy::kWarmPenalty : strategy::kColdPenalty;
    }
    // The best multiple of multipliers that were scaled from those of another C.
    void begin_at(const Vector& alpha) {
        multiply(v_ = alpha, h_);
        const double square = dot(n_, v_.data(), h_.data()), total = std::max(reward(problem_, v_), 0.0);
        if (square > total)
            for (auto& v : v_) v *= total / square;
    }
    void update_margins() {
        for (Index i = 0; i < n_; ++i) z_[i] = problem_.target(i) - h_[i] - problem_.y[i] * b_;
    }
    // Products are updated by what changed; now and then they are computed anew, against rounding.
    void refresh() {
        multiply(v_, h_);
        multiply(known_, product_);
        update_margins();
    }

    void update_multipliers(double growth) { reference_ = a_, s_ *= growth; }

    Split evaluate() {
        const MarginSums sums =
            multiplier_step(n_, reference_.data(), z_.data(), s_, problem_.c, a_.data(), ca_.data());
        balance_ = 0;
        for (Index i = 0; i < n_; ++i) {
            balance_ += problem_.y[i] * ca_[i];
            if (ca_[i] == known_[i]) continue;
            axpy(n_, ca_[i] - known_[i], column(i), product_.data());
            known_[i] = ca_[i];
        }
        double residual = 0;
        for (Index i = 0; i < n_; ++i) residual += (v_[i] - ca_[i]) * (h_[i] - product_[i]);
        residual = 0.5 * std::max(residual, 0.0) + (problem_.intercept() ? std::abs(balance_) : 0.0);
        return {0.5 * dot(n_, v_.data(), h_.data()) + sums.loss, residual, sums.complementarity};
    }

    bool step() {
        const Index m = band(n_, a_.data(), J_.data());
        M_.resize(m * m), u_.resize(m), w_.resize(m);
        for (Index j = 0; j < m; ++j) {
            const double* from = column(J_[j]);
            for (Index i = j; i < m; ++i) M_[j * m + i] = from[J_[i]];
            M_[j * m + j] = M_[j * m + j] * (1.0 + 1e-14) + 1.0 / (s_ * problem_.c[J_[j]]);
            u_[j] = product_[J_[j]] - h_[J_[j]];
            w_[j] = problem_.y[J_[j]];
        }
        if (m > 0 && !blas::factorise(M_.data(), m)) return false;
        cholesky_solve(M_.data(), m, u_.data());
        double beta = 0;
        if (problem_.intercept()) {
            cholesky_solve(M_.data(), m, w_.data());
            // An empty band leaves the intercept without curvature; the line search corrects the long step.
            double slope = balance_, curvature = 1e-9 * total_weight_;
            for (Index j = 0; j < m; ++j) {
                slope -= problem_.y[J_[j]] * u_[j];
                curvature += problem_.y[J_[j]] * w_[j];
            }
            beta = slope / curvature;
            axpy(m, beta, w_.data(), u_.data());
        }
        for (Index i = 0; i < n_; ++i) dv_[i] = ca_[i] - v_[i], dh_[i] = product_[i] - h_[i];
        for (Index j = 0; j < m; ++j) {
            dv_[J_[j]] -= u_[j];
            axpy(n_, -u_[j], column(J_[j]), dh_.data());
        }
        for (Index i = 0; i < n_; ++i) dz_[i] = -dh_[i] - beta * problem_.y[i];
        const double t = line_search(beta);
        if (!std::isfinite(t)) return false;
        axpy(n_, t, dv_.data(), v_.data());
        axpy(n_, t, dh_.data(), h_.data());
        axpy(n_, t, dz_.data(), z_.data());
        b_ += t * beta;
        return true;
    }

    double line_search(double beta) const {
        const double linear = dot(n_, v_.data(), dh_.data()), quadratic = dot(n_, dv_.data(), dh_.data());
        auto slope_at = [&](double t) {
            return linear + t * quadratic +
                   slope(n_, reference_.data(), z_.data(), dz_.data(), s_, t, problem_.c);
        };
        // (Bw - X'ca)'dw - beta y'ca: the slope at zero.
        const double at_zero = linear - dot(n_, ca_.data(), dh_.data()) - beta * balance_;
        return slope_root(slope_at, at_zero);
    }

    void offer(Solution& best) const {
        Vector theta(problem_.D());
        problem_.A.transposed_times(v_.data(), theta.data());
        problem_.B.divide(theta.data());
        if (problem_.intercept()) theta[problem_.d()] = b_;
        certify(problem_, theta, ca_, best);
    }

    const Problem<Rows>& problem_;
    const Options& options_;
    Index n_;
    const Vector& G_;
    double s_ = 0, b_ = 0, balance_ = 0, total_weight_ = 0;
    Vector v_, h_, z_, a_, ca_, known_, product_, dv_, dh_, dz_, reference_, M_, u_, w_;
    std::vector<Index> J_;
};

}  // namespace rm
