// A last resort where the interior point stalls: the same problem in the principal axes of its rows.
//
// The Newton matrix of ill-conditioned rows is that of the large directions, and rounding drowns the small ones. In principal
// axes it is nearly diagonal, so that every direction keeps its digits, whatever its size. With B = LL' and V the eigenvectors
// of L^{-1} X'X L^{-T}, the rows become V'L^{-1}x, the regulariser |u|^2 / 2, and w = L^{-T}Vu. What is found is certified in
// the given coordinates.
#pragma once
#include "interior_point.hpp"

namespace rm {

constexpr double kAxesNumbers = 1e8;  // of the rows, which are needed dense: 800 MB

template <class Rows>
class PrincipalAxes {
  public:
    PrincipalAxes(const Problem<Rows>& problem, const Options& options)
        : problem_(problem), options_(options), n_(problem.n()), d_(problem.d()), V_(d_ * d_) {}

    static bool possible(const Problem<Rows>& problem) {
        return double(problem.n() + problem.d()) * problem.d() <= kAxesNumbers;
    }

    void run(int max_iter, Solution& best) {
        Vector rows = rotated_rows();
        if (rows.empty()) return;
        const Vector zero(d_, 0.0), q = rotated_linear_term();
        const Regularizer identity(nullptr, d_, false);
        const DenseRows A(rows.data(), d_, 1, n_, d_, problem_.y, zero.data(), problem_.intercept());
        const Problem<DenseRows> rotated{A, identity, problem_.c, problem_.y, problem_.q ? q.data() : nullptr, problem_.constant};
        Solution found;
        certify_zero(rotated, found);
        Options options = options_;
        options.tol *= 0.5;  // the given coordinates round differently
        InteriorPoint<DenseRows>(rotated, options).run(Vector(problem_.D(), 0.0), max_iter, found);
        best.n_iter += found.n_iter;
        certify(problem_, rotated_back(found.theta), found.alpha, best);
    }

  private:
    // (x_i - mean)'L^{-T}V for all rows, after V was found; empty if it was not.
    Vector rotated_rows() {
        Vector rows(n_ * d_), out(n_ * d_);
        for (Index i = 0; i < n_; ++i) {
            double* row = rows.data() + i * d_;
            problem_.A.copy_row(i, row);
            for (Index k = 0; k < d_; ++k) row[k] *= problem_.y[i];
            problem_.B.whiten(row);
        }
        blas::outer_gram(rows.data(), d_, n_, V_.data());
        if (!blas::eigenvectors(V_.data(), d_)) return {};
        blas::rotate(V_.data(), d_, rows.data(), n_, out.data());
        return out;
    }
    Vector rotated_linear_term() {
        Vector q(problem_.D(), 0.0);
        if (!problem_.q) return q;
        std::copy_n(problem_.q, problem_.D(), q.begin());
        problem_.B.whiten(q.data());
        const Vector white(q.begin(), q.begin() + d_);
        columns_transposed_times(V_.data(), d_, d_, d_, white.data(), q.data());
        return q;
    }
    Vector rotated_back(const Vector& u) const {
        Vector theta = u;
        columns_times(V_.data(), d_, d_, d_, u.data(), theta.data());
        problem_.B.unwhiten(theta.data());
        return theta;
    }

    const Problem<Rows>& problem_;
    const Options& options_;
    Index n_, d_;
    Vector V_;
};

}  // namespace rm
