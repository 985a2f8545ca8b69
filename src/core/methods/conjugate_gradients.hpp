// Newton's systems (newton.hpp) where neither their matrix nor inner products of the rows can be formed: by conjugate gradients,
// of which an iteration takes two products with the rows of the band. They finish what coordinate descent began: it slows down
// where many multipliers are between their bounds.
#pragma once
#include "methods/newton.hpp"

namespace rm {

// At most so many iterations a system.
template <class Rows, int kSteps>
class IteratedSystem {
    static_assert(CanVisit<Rows>);

  public:
    IteratedSystem(const Problem<Rows>& problem, const Options& options)
        : problem_(problem), options_(options), d_(problem.d()), D_(problem.D()),
          curvature_(intercept_curvature(problem.n(), problem.c)), diagonal_(D_), residual_(D_), scaled_(D_), direction_(D_),
          product_(D_) {}

    bool solve(const Band& band, const Vector& gradient, Vector& step) {
        find_diagonal(band);
        std::fill(step.begin(), step.end(), 0.0);
        for (Index k = 0; k < D_; ++k) residual_[k] = -gradient[k];
        double size = scale_residual();
        const double enough = strategy::kReduction * strategy::kReduction * size;
        direction_ = scaled_;
        for (int iteration = 0; iteration < kSteps && size > enough; ++iteration) {
            if (options_.poll) options_.poll();
            multiply(band, direction_, product_);
            const double t = size / dot(D_, direction_.data(), product_.data());
            if (!std::isfinite(t)) return false;
            axpy(D_, t, direction_.data(), step.data());
            axpy(D_, -t, product_.data(), residual_.data());
            const double before = size;
            size = scale_residual();
            for (Index k = 0; k < D_; ++k) direction_[k] = scaled_[k] + size / before * direction_[k];
        }
        return true;
    }

  private:

    // r'M^{-1}r, with M the diagonal.
    double scale_residual() {
        for (Index k = 0; k < D_; ++k) scaled_[k] = residual_[k] / diagonal_[k];
        return dot(D_, residual_.data(), scaled_.data());
    }
    void find_diagonal(const Band& band) {
        const Vector ones(d_, 1.0);
        problem_.B.times(ones.data(), diagonal_.data());
        double total = curvature_;
        for (Index j = 0; j < band.m; ++j) {
            problem_.A.add_squares(band.J[j], band.weights[j], diagonal_.data());
            total += band.weights[j];
        }
        if (problem_.intercept()) diagonal_[d_] = total;
    }
    // (diag(B, 0) + sum weights a a') v, a the rows of the band with their last entry of one.
    void multiply(const Band& band, const Vector& v, Vector& out) const {
        const double* mean = problem_.A.mean();
        const double shift = (problem_.intercept() ? v[d_] : 0.0) - dot(d_, mean, v.data());
        problem_.B.times(v.data(), out.data());
        double total = 0;
        for (Index j = 0; j < band.m; ++j) {
            if (j + 1 < band.m) problem_.A.fetch_row(band.J[j + 1]);
            const double t = band.weights[j] * (problem_.A.dot_row(band.J[j], v.data()) + shift);
            problem_.A.add_row(band.J[j], t, nullptr, out.data());
            total += t;
        }
        axpy(d_, -total, mean, out.data());
        if (problem_.intercept()) out[d_] = total + curvature_ * v[d_];
    }

    const Problem<Rows>& problem_;
    const Options& options_;
    Index d_, D_;
    double curvature_;
    Vector diagonal_, residual_, scaled_, direction_, product_;
};

}  // namespace rm
