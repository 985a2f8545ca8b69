// A last resort where the interior point stalls: the same problem in the principal axes of its rows.
//
// The Newton matrix of ill-conditioned rows is that of the large directions, and rounding drowns the small ones. In principal
// axes it is nearly diagonal, so that every direction keeps its digits, whatever its size. With B = LL' and V the eigenvectors
// of L^{-1} X'X L^{-T}, the rows become V'L^{-1}x, the regulariser |u|^2 / 2, and w = L^{-T}Vu. With fewer rows than features
// the eigenvectors of X B^{-1} X' = VEV' are enough: the rows are those of V E^{1/2}, and w = B^{-1} X'V E^{-1/2} u. What is
// found is certified in the given coordinates.
#pragma once
#include "methods/interior_point.hpp"
#include "rows/dense.hpp"

namespace rm {

template <class Rows>
class PrincipalAxes {
  public:
    PrincipalAxes(const Problem<Rows>& problem, const Options& options)
        : problem_(problem), options_(options), n_(problem.n()), d_(problem.d()),
          by_rows_(CanRowGram<Rows> && d_ > n_), r_(by_rows_ ? n_ : d_) {}

    void run(int max_iter, Solution& best) {
        if (by_rows_ && problem_.q) return;  // a linear term may point out of the span of the rows
        Vector rows(n_ * r_);
        if (!find_axes(rows)) return;
        const Vector zero(r_, 0.0), q = rotated_linear_term();
        const Regularizer identity(nullptr, r_, false);
        const DenseRows A({rows.data(), r_, 1, n_, r_}, problem_.y, zero.data(), problem_.intercept());
        const Problem<DenseRows> rotated{A, identity, problem_.c, problem_.y, problem_.q ? q.data() : nullptr,
                                         problem_.constant, problem_.t};
        Solution found;
        certify_zero(rotated, found);
        Options options = options_;
        options.tol *= 0.5;  // the given coordinates round differently
        InteriorPoint<DenseRows>(rotated, options).run(Vector(A.D(), 0.0), max_iter, found);
        best.n_iter += found.n_iter;
        certify(problem_, rotated_back(found.theta), found.alpha, best);
    }

  private:
    bool find_axes(Vector& rows) {
        if constexpr (CanRowGram<Rows>)
            if (by_rows_) return axes_of_rows(rows);
        return axes_of_features(rows);
    }
    bool axes_of_features(Vector& rows) {
        Vector given(n_ * d_);
        for (Index i = 0; i < n_; ++i) {
            double* row = given.data() + i * d_;
            problem_.A.copy_row(i, row);
            for (Index k = 0; k < d_; ++k) row[k] *= problem_.y[i];
            problem_.B.whiten(row);
        }
        V_.resize(d_ * d_);
        blas::outer_gram(given.data(), d_, n_, V_.data());
        if (!blas::eigenvectors(V_.data(), d_, values_)) return false;
        blas::rotate(V_.data(), d_, given.data(), n_, rows.data());
        return true;
    }
    bool axes_of_rows(Vector& rows) {
        V_ = problem_.A.row_gram(problem_.B, options_.poll);
        if (!blas::eigenvectors(V_.data(), n_, values_)) return false;
        for (auto& value : values_) value = std::sqrt(std::max(value, 1e-14 * values_.back()));
        for (Index i = 0; i < n_; ++i)
            for (Index k = 0; k < n_; ++k) rows[i * n_ + k] = problem_.y[i] * values_[k] * V_[k * n_ + i];
        return true;
    }
    Vector rotated_linear_term() const {
        Vector q(r_ + problem_.intercept(), 0.0);
        if (!problem_.q) return q;
        std::copy_n(problem_.q, problem_.D(), q.begin());
        problem_.B.whiten(q.data());
        const Vector white(q.begin(), q.begin() + d_);
        columns_transposed_times(V_.data(), d_, d_, d_, white.data(), q.data());
        return q;
    }
    Vector rotated_back(const Vector& u) const {
        Vector theta(problem_.D()), scaled(u.begin(), u.begin() + r_), v(r_);
        if (by_rows_)
            for (Index k = 0; k < r_; ++k) scaled[k] /= values_[k] > 0 ? values_[k] : 1.0;
        columns_times(V_.data(), r_, r_, r_, scaled.data(), v.data());
        if (by_rows_) {
            problem_.A.transposed_times(v.data(), theta.data());
            problem_.B.divide(theta.data());
        } else {
            std::copy(v.begin(), v.end(), theta.begin());
            problem_.B.unwhiten(theta.data());
        }
        if (problem_.intercept()) theta[d_] = u[r_];
        return theta;
    }

    const Problem<Rows>& problem_;
    const Options& options_;
    Index n_, d_;
    bool by_rows_;
    Index r_;
    Vector V_, values_;
};

}  // namespace rm
