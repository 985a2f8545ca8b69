// The regulariser w'Bw of a hinge problem.
#pragma once
#include <cmath>
#include <vector>

#include "blas.hpp"
#include "loops/vector.hpp"

namespace rm {

using Vector = std::vector<double>;

// B: the identity, a diagonal, or a dense symmetric matrix (column-major), with what its inverse needs.
class Regularizer {
  public:
    Regularizer(const double* B, Index d, bool dense) : d_(d), dense_(dense), B_(B) {
        if (!dense_) return;
        factor_.assign(B, B + d * d);
        valid_ = blas::factorise(factor_.data(), d);
    }
    bool valid() const { return valid_; }
    bool dense() const { return dense_; }
    bool identity() const { return B_ == nullptr; }
    void times(const double* w, double* out) const {
        if (dense_)
            columns_times(B_, d_, d_, d_, w, out);
        else
            for (Index k = 0; k < d_; ++k) out[k] = (B_ ? B_[k] : 1.0) * w[k];
    }
    double quadratic(const double* w) const {  // w'Bw
        Vector Bw(d_);
        times(w, Bw.data());
        return dot(d_, w, Bw.data());
    }
    double sum_of_sizes(const double* w) const {  // no less than the sum of all |w_k B_kl w_l|
        if (!dense_) return quadratic(w);
        double sum = 0;
        for (Index k = 0; k < d_; ++k) sum += std::sqrt(B_[k * d_ + k]) * std::abs(w[k]);
        return sum * sum;
    }
    void exact_times(const double* w, double* out, double* rest) const {  // out + rest += Bw
        const double one = 1.0;
        for (Index k = 0; k < d_; ++k) {
            if (dense_)
                exact_axpy(d_, w[k], B_ + k * d_, out, rest);
            else
                exact_axpy(1, w[k], B_ ? B_ + k : &one, out + k, rest + k);
        }
    }
    void whiten(double* x) const {  // x <- L^{-1} x for B = LL'
        if (dense_)
            for (Index k = 0; k < d_; ++k) {
                x[k] /= factor_[k * d_ + k];
                axpy(d_ - k - 1, -x[k], factor_.data() + k * d_ + k + 1, x + k + 1);
            }
        else if (B_)
            for (Index k = 0; k < d_; ++k) x[k] /= std::sqrt(B_[k]);
    }
    void unwhiten(double* x) const {  // x <- L^{-T} x
        if (dense_)
            for (Index k = d_ - 1; k >= 0; --k) {
                const double* column = factor_.data() + k * d_;
                x[k] = (x[k] - dot(d_ - k - 1, column + k + 1, x + k + 1)) / column[k];
            }
        else
            whiten(x);
    }
    void divide(double* w) const {  // w <- B^{-1} w
        if (dense_)
            cholesky_solve(factor_.data(), d_, w);
        else if (B_)
            for (Index k = 0; k < d_; ++k) w[k] /= B_[k];
    }
    double inverse_quadratic(const double* g) const {  // g' B^{-1} g
        if (!dense_) {
            double sum = 0;
            for (Index k = 0; k < d_; ++k) sum += g[k] * g[k] / (B_ ? B_[k] : 1.0);
            return sum;
        }
        Vector x(g, g + d_);
        whiten(x.data());
        return dot(d_, x.data(), x.data());
    }
    void add_to(double* H, Index D) const {  // lower triangle
        for (Index k = 0; k < d_; ++k) {
            if (dense_)
                axpy(d_ - k, 1.0, B_ + k * d_ + k, H + k * D + k);
            else
                H[k * D + k] += B_ ? B_[k] : 1.0;
        }
    }

  private:
    Index d_;
    bool dense_, valid_ = true;
    const double* B_;
    Vector factor_;
};

}  // namespace rm
