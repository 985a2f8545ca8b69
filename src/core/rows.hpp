// The data matrix of a hinge problem, in the forms that are worth having (one more: inner_products.hpp).
//
// A problem sees the n x D matrix A = y * [x - mean, 1] (the last column only with an intercept) through
//   times(theta, out)            A theta
//   transposed_times(v, out)     A' v
//   gram(J, m, weights, H)       lower triangle of sum_{i in J} weights_i a_i a_i'
//   row_gram(B)                  A B^{-1} A' without the intercept, where has_row_gram()
//   copy_row(i, out)             y_i (x_i - mean)
// Centring is free (it moves the intercept only) and keeps features with large means well conditioned.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "regularizer.hpp"

namespace rm {

using Poll = std::function<void()>;  // throws when the user interrupts; may be empty
constexpr Index kPollRows = 1 << 15;  // rows that are copied between two polls: a multiple of the blocks

// The upper triangle of a symmetric matrix from its lower one, in blocks that stay in cache.
inline void mirror(double* H, Index n) {
    constexpr Index kBlock = 64;
    for (Index J = 0; J < n; J += kBlock)
        for (Index I = J; I < n; I += kBlock)
            for (Index j = J; j < std::min(J + kBlock, n); ++j)
                for (Index i = std::max(I, j + 1); i < std::min(I + kBlock, n); ++i) H[i * n + j] = H[j * n + i];
}

// From the inner products K (n_K x n_K, at any origin) of rows of which J are wanted to those of the centred and signed
// ones; `means` becomes the inner products of the rows J with their mean.
inline Vector centred_gram(const double* K, Index n_K, const std::vector<Index>& J, const double* y, Vector& means) {
    const Index n = static_cast<Index>(J.size());
    Vector G(static_cast<std::size_t>(n) * n);
    means.assign(n, 0.0);
    for (Index i = 0; i < n; ++i) {
        const double* row = K + J[i] * n_K;
        for (Index j = 0; j < n; ++j) means[j] += G[i * n + j] = row[J[j]];
    }
    double mean = 0;
    for (auto& m : means) mean += (m /= double(n)) / double(n);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) G[i * n + j] = y[i] * y[j] * (G[i * n + j] - means[i] - means[j] + mean);
    return G;
}

// Dense, centred and signed at construction: the form for few features. Kept feature-major for the products, and once
// more row-major (padded) for Gram matrices of a few rows out of many.
class Columns {
  public:
    Columns(Index n, Index d, bool intercept)
        : n_(n), d_(d), D_(d + intercept), ld_(padded(n)), width_(padded(D_ + 1)),
          A_(new double[static_cast<std::size_t>(ld_) * D_]), R_(new double[static_cast<std::size_t>(n) * width_]) {}

    Index n() const { return n_; }
    Index d() const { return d_; }
    Index D() const { return D_; }
    void set(Index i, Index k, double value) { A_[k * ld_ + i] = R_[i * width_ + k] = value; }
    void pad(Index i) { std::fill(R_.get() + i * width_ + D_, R_.get() + (i + 1) * width_, 0.0); }

    void times(const double* theta, double* out) const { columns_times(A_.get(), ld_, n_, D_, theta, out); }
    void transposed_times(const double* v, double* out) const {
        columns_transposed_times(A_.get(), ld_, n_, D_, v, out);
    }
    // A Gram matrix as `eliminate` wants it, with room for the right-hand side: `width` numbers a row.
    Index width() const { return width_; }
    Index padded_size() const { return padded(D_, 4) * width_; }
    void gram_rows(const Index* J, Index m, const double* weights, double* H) const {
        padded_gram(R_.get(), width_, D_, J, m, weights, H);
    }
    void gram(const Index* J, Index m, const double* weights, double* H) const {
        buffer_.resize(padded_size());
        gram_rows(J, m, weights, buffer_.data());
        for (Index k = 0; k < D_; ++k)
            std::copy_n(buffer_.data() + k * width_ + k, D_ - k, H + k * D_ + k);
    }
    static constexpr bool has_row_gram() { return false; }
    const Vector& row_gram(const Regularizer&) const { return buffer_; }
    void copy_row(Index i, double* out) const { std::copy_n(R_.get() + i * width_, d_, out); }
    Columns(Columns&&) = default;
    Columns(const Columns&) = delete;

  private:
    Index n_, d_, D_, ld_, width_;
    std::unique_ptr<double[]> A_, R_;  // not filled with zeros first: that takes as long as filling them
    mutable Vector buffer_;
};

// Dense, row-major: the form for many features, and a view of the caller's array for passes over all rows.
class DenseRows {
  public:
    DenseRows(const double* X, Index row_stride, Index column_stride, Index n, Index d, const double* y,
              const double* mean, bool intercept, const double* gram = nullptr)
        : X_(X), row_(row_stride), col_(column_stride), n_(n), d_(d), D_(d + intercept), y_(y), mean_(mean),
          gram_(gram), gram_size_(n) {}
    DenseRows(DenseRows&&) = default;
    DenseRows(const DenseRows&) = delete;

    Index n() const { return n_; }
    Index d() const { return d_; }
    Index D() const { return D_; }

    void times(const double* theta, double* out) const {
        if (col_ == 1)
            rows_times(X_, row_, n_, d_, theta, out);
        else
            columns_times(X_, col_, n_, d_, theta, out);
        const double shift = (D_ > d_ ? theta[d_] : 0.0) - dot(d_, mean_, theta);
        for (Index i = 0; i < n_; ++i) out[i] = y_[i] * (out[i] + shift);
    }
    void transposed_times(const double* v, double* out) const {
        signed_.resize(n_);
        double total = 0;
        for (Index i = 0; i < n_; ++i) total += signed_[i] = v[i] * y_[i];
        if (col_ == 1)
            rows_transposed_times(X_, row_, n_, d_, signed_.data(), out);
        else
            columns_transposed_times(X_, col_, n_, d_, signed_.data(), out);
        axpy(d_, -total, mean_, out);
        if (D_ > d_) out[d_] = total;
    }
    void gram(const Index* J, Index m, const double* weights, double* H) const {
        buffer_.resize(static_cast<std::size_t>(std::max<Index>(m, 1)) * D_);
        for (Index j = 0; j < m; ++j) {
            const double* row = X_ + J[j] * row_;
            double* to = buffer_.data() + j * D_;
            const double root = std::sqrt(weights[j]);
            for (Index k = 0; k < d_; ++k) to[k] = root * (row[k * col_] - mean_[k]);
            if (D_ > d_) to[d_] = root;
        }
        blas::outer_gram(buffer_.data(), D_, m, H);
    }
    static constexpr bool has_row_gram() { return true; }
    const Vector& row_gram(const Regularizer& B) const {  // computed once: every C of a path needs it again
        if (!row_gram_.empty()) return row_gram_;
        if (gram_ && B.identity()) {
            Vector means;
            return row_gram_ = centred_gram(gram_, gram_size_, places(), y_, means);
        }
        Vector rows(static_cast<std::size_t>(n_) * d_);
        for (Index i = 0; i < n_; ++i) {
            for (Index k = 0; k < d_; ++k) rows[i * d_ + k] = y_[i] * (X_[i * row_ + k * col_] - mean_[k]);
            B.whiten(rows.data() + i * d_);
        }
        row_gram_.resize(static_cast<std::size_t>(n_) * n_);
        blas::inner_gram(rows.data(), d_, n_, row_gram_.data());
        mirror(row_gram_.data(), n_);
        return row_gram_;
    }
    void copy_row(Index i, double* out) const {
        for (Index k = 0; k < d_; ++k) out[k] = y_[i] * (X_[i * row_ + k * col_] - mean_[k]);
    }
    // The rows J, feature-major: blocked so that reads and writes both stay in cache.
    Columns columns(const Index* J, Index m, const Poll& poll) const {
        Columns out(m, d_, D_ > d_);
        constexpr Index kBlock = 64;
        for (Index start = 0; start < m; start += kBlock) {
            if (start % kPollRows == 0 && poll) poll();
            for (Index j = start; j < std::min(start + kBlock, m); ++j) out.pad(j);
            for (Index k = 0; k < d_; ++k)
                for (Index j = start; j < std::min(start + kBlock, m); ++j)
                    out.set(j, k, y_[J[j]] * (X_[J[j] * row_ + k * col_] - mean_[k]));
        }
        if (D_ > d_)
            for (Index j = 0; j < m; ++j) out.set(j, d_, y_[J[j]]);
        return out;
    }
    // The rows J as an array of its own.
    DenseRows rows(const Index* J, Index m, const Poll& poll) const {
        DenseRows out(nullptr, d_, 1, m, d_, nullptr, mean_, D_ > d_);
        out.owned_.resize(static_cast<std::size_t>(m) * (d_ + 1));
        double* y = out.owned_.data() + m * d_;
        for (Index j = 0; j < m; ++j) {
            if (j % kPollRows == 0 && poll) poll();
            for (Index k = 0; k < d_; ++k) out.owned_[j * d_ + k] = X_[J[j] * row_ + k * col_];
            y[j] = y_[J[j]];
        }
        out.X_ = out.owned_.data();
        out.y_ = y;
        if (gram_) {
            out.gram_ = gram_, out.gram_size_ = gram_size_;
            const std::vector<Index> known = places();
            for (Index j = 0; j < m; ++j) out.places_.push_back(known[J[j]]);
        }
        return out;
    }

  private:
    // Of the rows among those whose inner products are known.
    std::vector<Index> places() const {
        if (!places_.empty()) return places_;
        std::vector<Index> all(n_);
        std::iota(all.begin(), all.end(), Index{0});
        return all;
    }

    const double* X_;
    Index row_, col_, n_, d_, D_;
    const double* y_;
    const double* mean_;
    const double* gram_;
    Index gram_size_;
    std::vector<Index> places_;
    Vector owned_;
    mutable Vector buffer_, signed_, row_gram_;
};

// Compressed sparse rows with sorted indices, centred implicitly: the matrix is never filled.
class SparseRows {
  public:
    SparseRows(const double* values, const std::int32_t* indices, const std::int64_t* indptr, Index n, Index d,
               const double* y, const double* mean, bool intercept)
        : values_(values), indices_(indices), indptr_(indptr), n_(n), d_(d), D_(d + intercept), y_(y), mean_(mean) {}
    SparseRows(SparseRows&&) = default;
    SparseRows(const SparseRows&) = delete;

    Index n() const { return n_; }
    Index d() const { return d_; }
    Index D() const { return D_; }

    void times(const double* theta, double* out) const {
        const double b = (D_ > d_ ? theta[d_] : 0.0) - dot(d_, mean_, theta);
        for (Index i = 0; i < n_; ++i) {
            double sum = b;
            for (auto p = indptr_[i]; p < indptr_[i + 1]; ++p) sum += values_[p] * theta[indices_[p]];
            out[i] = y_[i] * sum;
        }
    }
    void transposed_times(const double* v, double* out) const {
        std::fill(out, out + D_, 0.0);
        double total = 0;
        for (Index i = 0; i < n_; ++i) {
            const double t = v[i] * y_[i];
            if (t == 0.0) continue;
            total += t;
            for (auto p = indptr_[i]; p < indptr_[i + 1]; ++p) out[indices_[p]] += t * values_[p];
        }
        axpy(d_, -total, mean_, out);
        if (D_ > d_) out[d_] = total;
    }
    void gram(const Index* J, Index m, const double* weights, double* H) const {
        for (Index k = 0; k < D_; ++k) std::fill(H + k * D_ + k, H + (k + 1) * D_, 0.0);
        Vector sum(d_, 0.0);
        double total = 0;
        for (Index j = 0; j < m; ++j) {
            const auto first = indptr_[J[j]], last = indptr_[J[j] + 1];
            for (auto p = first; p < last; ++p) {  // sorted indices: q >= p stays in the lower triangle
                double* column = H + indices_[p] * D_;
                const double t = weights[j] * values_[p];
                for (auto q = p; q < last; ++q) column[indices_[q]] += t * values_[q];
                sum[indices_[p]] += t;
            }
            total += weights[j];
        }
        // sum w (x - m)(x - m)' = sum w x x' - s m' - m s' + (sum w) m m'
        for (Index k = 0; k < d_; ++k) {
            axpy(d_ - k, total * mean_[k] - sum[k], mean_ + k, H + k * D_ + k);
            axpy(d_ - k, -mean_[k], sum.data() + k, H + k * D_ + k);
            if (D_ > d_) H[k * D_ + d_] = sum[k] - total * mean_[k];
        }
        if (D_ > d_) H[d_ * D_ + d_] = total;
    }
    static constexpr bool has_row_gram() { return false; }
    const Vector& row_gram(const Regularizer&) const { return own_values_; }
    void copy_row(Index i, double* out) const {
        for (Index k = 0; k < d_; ++k) out[k] = -y_[i] * mean_[k];
        for (auto p = indptr_[i]; p < indptr_[i + 1]; ++p) out[indices_[p]] += y_[i] * values_[p];
    }
    SparseRows rows(const Index* J, Index m, const Poll& poll) const {
        SparseRows out(nullptr, nullptr, nullptr, m, d_, nullptr, mean_, D_ > d_);
        out.own_indptr_.push_back(0);
        for (Index j = 0; j < m; ++j) {
            if (j % kPollRows == 0 && poll) poll();
            const auto first = indptr_[J[j]], last = indptr_[J[j] + 1];
            out.own_values_.insert(out.own_values_.end(), values_ + first, values_ + last);
            out.own_indices_.insert(out.own_indices_.end(), indices_ + first, indices_ + last);
            out.own_indptr_.push_back(static_cast<std::int64_t>(out.own_values_.size()));
            out.own_y_.push_back(y_[J[j]]);
        }
        out.values_ = out.own_values_.data(), out.indices_ = out.own_indices_.data();
        out.indptr_ = out.own_indptr_.data(), out.y_ = out.own_y_.data();
        return out;
    }

  private:
    const double* values_;
    const std::int32_t* indices_;
    const std::int64_t* indptr_;
    Index n_, d_, D_;
    const double* y_;
    const double* mean_;
    Vector own_values_, own_y_;
    std::vector<std::int32_t> own_indices_;
    std::vector<std::int64_t> own_indptr_;
};

}  // namespace rm
