// Sequential minimal optimisation (Platt 1998) with second-order pairs (Fan, Chen and Lin 2005), for few rows whose inner
// products are there: it comes near the solution sooner than Newton's method, which then finishes.
//
//   max over alpha:  t'alpha - 1/2 alpha'G alpha,   0 <= alpha <= c,   y'alpha = 0
//
// A pair moves by t along y_i e_i - y_j e_j. With f = y (t - G alpha) it is optimal that f_i <= f_j for all i that may go
// up and all j that may go down; the intercept lies between them.
#pragma once
#include <functional>
#include <numeric>

#include "regularizer.hpp"

namespace rm {

class Smo {
  public:
    Smo(const Vector& G, Index n, const double* y, const double* c, const double* targets)
        : G_(G.data()), n_(n), y_(y), c_(c), t_(n, 1.0), alpha_(n, 0.0), f_(n), diagonal_(n), up_(n), down_(n), scores_(n) {
        if (targets) t_.assign(targets, targets + n);
        for (Index i = 0; i < n; ++i) f_[i] = y_[i] * t_[i], diagonal_[i] = column(i)[i];
    }

    // From a feasible point, shrunk to the best multiple of it.
    void begin_at(Vector start) {
        Vector h(n_);
        columns_times(G_, n_, n_, n_, start.data(), h.data());
        const double square = dot(n_, start.data(), h.data()), total = std::max(dot(n_, t_.data(), start.data()), 0.0);
        const double scale = square > total ? total / square : 1.0;
        alpha_ = std::move(start);
        for (Index i = 0; i < n_; ++i) alpha_[i] *= scale, f_[i] = y_[i] * (t_[i] - scale * h[i]);
    }

    // Sweeps of n pairs until the relative gap is `tol`; returns how many were begun.
    int run(double tol, int max_sweeps, const std::function<void()>& poll) {
        for (Index i = 0; i < n_; ++i) mark(i);
        const Index often = strategy::pairs_between_looks(n_);
        Index i = first_of_pair(n_, y_, {G_, G_, 0.0, 0.0}, up_.data(), f_.data(), scores_.data());
        for (Index k = 0; k < max_sweeps * n_; ++k) {
            if (k % n_ == 0 && poll) poll();
            if (k % often == 0 && relative_gap() <= tol) return static_cast<int>((k + n_ - 1) / n_);
            const Index j = second_of_pair(n_, y_, i, column(i), diagonal_.data(), down_.data(), f_.data(), scores_.data());
            if (j < 0) return static_cast<int>(k / n_) + 1;  // to rounding
            const double curvature = diagonal_[i] + diagonal_[j] - 2.0 * y_[i] * y_[j] * column(i)[j];
            double t = (f_[i] - f_[j]) / std::max(curvature, kFlatPair * (diagonal_[i] + diagonal_[j]));
            t = std::min({t, y_[i] > 0 ? c_[i] - alpha_[i] : alpha_[i], y_[j] > 0 ? alpha_[j] : c_[j] - alpha_[j]});
            move(i, t), move(j, -t);
            const PairStep step{column(i), column(j), y_[i] * t, -y_[j] * t};
            i = first_of_pair(n_, y_, step, up_.data(), f_.data(), scores_.data());
        }
        return max_sweeps;
    }

    const Vector& alpha() const { return alpha_; }
    double intercept() const { return between_pairs(n_, f_.data(), up_.data(), down_.data()); }

  private:
    const double* column(Index i) const { return G_ + i * n_; }
    void move(Index i, double t) {
        alpha_[i] = std::clamp(alpha_[i] + y_[i] * t, 0.0, c_[i]);
        mark(i);
    }
    // Which way y_i alpha_i may go: 0 or minus infinity, to be added, and 1 or 0, to be multiplied with.
    void mark(Index i) {
        const bool more = alpha_[i] < c_[i], less = alpha_[i] > 0;
        up_[i] = (y_[i] > 0 ? more : less) ? 0.0 : -HUGE_VAL;
        down_[i] = (y_[i] > 0 ? less : more) ? 1.0 : 0.0;
    }
    double relative_gap() const { return pair_gap(n_, y_, t_.data(), c_, alpha_.data(), f_.data(), intercept()); }

    const double* G_;
    Index n_;
    const double *y_, *c_;
    Vector t_, alpha_, f_, diagonal_, up_, down_, scores_;
};

}  // namespace rm
