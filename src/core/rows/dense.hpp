// The caller's array, and rows of it.
#pragma once
#include <cmath>

#include "rows/columns.hpp"
#include "rows/source.hpp"

namespace rm {

struct DenseArray {
    const double* X;
    Index row_stride, column_stride, n, d;

    const double* row(Index i, Vector& buffer) const {  // side by side
        if (column_stride == 1) return X + i * row_stride;
        buffer.resize(d);
        for (Index k = 0; k < d; ++k) buffer[k] = X[i * row_stride + k * column_stride];
        return buffer.data();
    }
    TwiceDouble exact_score(Index i, const double* w, Vector& buffer) const {
        TwiceDouble out;
        exact_dot(d, row(i, buffer), w, out.sum, out.rest);
        return out;
    }
    void exact_add(Index i, double t, double* sum, double* rest, Vector& buffer) const {
        exact_axpy(d, t, row(i, buffer), sum, rest);
    }
    Sizes sizes() const {
        Sizes out{Vector(d, 0.0), HUGE_VAL, d};
        Vector buffer;
        for (Index i = 0; i < n; i += strategy::rows_between_sizes(n, d)) keep_largest(d, row(i, buffer), out.features.data());
        return out;
    }
    Vector centre(const std::vector<Index>& J) const {
        return middle(d, J, [this](Index i, double* sum) {
            for (Index k = 0; k < d; ++k) sum[k] += X[i * row_stride + k * column_stride];
        });
    }
    template <class F>
    void with_form(const Chosen& chosen, bool sift, const Poll& poll, F&& f) const;
};

// The upper triangle of a symmetric matrix from its lower one, in blocks that stay in cache.
inline void mirror(double* H, Index n) {
    constexpr Index kBlock = 64;
    for (Index J = 0; J < n; J += kBlock)
        for (Index I = J; I < n; I += kBlock)
            for (Index j = J; j < std::min(J + kBlock, n); ++j)
                for (Index i = std::max(I, j + 1); i < std::min(I + kBlock, n); ++i) H[i * n + j] = H[j * n + i];
}

// Dense, row-major: the form for many features, and a view of the caller's array for passes over all rows.
class DenseRows {
  public:
    DenseRows(const DenseArray& X, const double* y, const double* mean, bool intercept)
        : X_(X.X), row_(X.row_stride), col_(X.column_stride), n_(X.n), d_(X.d), D_(X.d + intercept), y_(y), mean_(mean) {}
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
    void add_rows(const Index* J, Index m, const double* weights, double* out) const {
        signed_.resize(m);
        double total = 0;
        for (Index j = 0; j < m; ++j) total += signed_[j] = weights[j] * y_[J[j]];
        if (col_ == 1)
            rm::add_rows(X_, row_, d_, J, m, signed_.data(), out);
        else
            for (Index k = 0; k < d_; ++k)
                for (Index j = 0; j < m; ++j) out[k] += signed_[j] * X_[J[j] * row_ + k * col_];
        axpy(d_, -total, mean_, out);
        if (D_ > d_) out[d_] += total;
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
    const Vector& row_gram(const Regularizer& B, const Poll& poll) const {  // computed once: every C of a path needs it again
        if (!row_gram_.empty()) return row_gram_;
        Vector rows(static_cast<std::size_t>(n_) * d_);
        for (Index i = 0; i < n_; ++i) {
            for (Index k = 0; k < d_; ++k) rows[i * d_ + k] = y_[i] * (X_[i * row_ + k * col_] - mean_[k]);
            B.whiten(rows.data() + i * d_);
        }
        row_gram_.resize(static_cast<std::size_t>(n_) * n_);
        blas::inner_gram_in_blocks(rows.data(), d_, n_, row_gram_.data(), poll);
        mirror(row_gram_.data(), n_);
        return row_gram_;
    }
    void copy_row(Index i, double* out) const {
        for (Index k = 0; k < d_; ++k) out[k] = y_[i] * (X_[i * row_ + k * col_] - mean_[k]);
    }
    bool contiguous() const { return col_ == 1; }
    Index stored(Index) const { return d_; }
    const double* mean() const { return mean_; }
    double dot_row(Index i, const double* w) const { return dot(d_, X_ + i * row_, w); }
    void add_row(Index i, double t, const double* scale, double* w) const {
        const double* x = X_ + i * row_;
        if (scale)
            scaled_axpy(d_, t, scale, x, w);
        else
            axpy(d_, t, x, w);
    }
    void add_squares(Index i, double t, double* out) const {
        const double* x = X_ + i * row_;
        for (Index k = 0; k < d_; ++k) out[k] += t * x[k] * x[k];
    }
    double square_row(Index i, const double* scale) const {
        const double* x = X_ + i * row_;
        double sum = 0;
        for (Index k = 0; k < d_; ++k) sum += x[k] * x[k] * (scale ? scale[k] : 1.0);
        return sum;
    }
    std::uint64_t fingerprint(Index i) const { return mixed(X_ + i * row_, d_); }
    bool same(Index i, Index j) const { return std::equal(X_ + i * row_, X_ + i * row_ + d_, X_ + j * row_); }
    static void fetch_row(Index) {}  // long rows are fetched while they are read
    // The rows J with labels y, feature-major: blocked so that reads and writes both stay in cache.
    Columns columns(const std::vector<Index>& J, const Vector& y, const Poll& poll) const {
        const Index m = static_cast<Index>(J.size());
        Columns out(m, d_, D_ > d_);
        constexpr Index kBlock = 64;
        for (Index start = 0; start < m; start += kBlock) {
            if (start % kPollRows == 0 && poll) poll();
            for (Index j = start; j < std::min(start + kBlock, m); ++j) out.pad(j);
            for (Index k = 0; k < d_; ++k)
                for (Index j = start; j < std::min(start + kBlock, m); ++j)
                    out.set(j, k, y[j] * (X_[J[j] * row_ + k * col_] - mean_[k]));
        }
        if (D_ > d_)
            for (Index j = 0; j < m; ++j) out.set(j, d_, y[j]);
        return out;
    }
    // The rows J with labels y as an array of its own.
    DenseRows rows(const std::vector<Index>& J, const Vector& y, const Poll& poll) const {
        const Index m = static_cast<Index>(J.size());
        DenseRows out({nullptr, d_, 1, m, d_}, nullptr, mean_, D_ > d_);
        out.owned_.resize(static_cast<std::size_t>(m) * (d_ + 1));
        std::copy(y.begin(), y.end(), out.owned_.begin() + m * d_);
        for (Index j = 0; j < m; ++j) {
            if (j % kPollRows == 0 && poll) poll();
            for (Index k = 0; k < d_; ++k) out.owned_[j * d_ + k] = X_[J[j] * row_ + k * col_];
        }
        out.X_ = out.owned_.data();
        out.y_ = out.X_ + m * d_;
        return out;
    }

    template <class F>
    void with_rows(const std::vector<Index>& J, const Poll& poll, F&& f) const {
        const Vector y = pick(y_, J);
        strategy::in_columns(d_) ? f(columns(J, y, poll)) : f(rows(J, y, poll));
    }

  private:
    const double* X_;
    Index row_, col_, n_, d_, D_;
    const double* y_;
    const double* mean_;
    Vector owned_;
    mutable Vector buffer_, signed_, row_gram_;
};

template <class F>
void DenseArray::with_form(const Chosen& chosen, bool sift, const Poll& poll, F&& f) const {
    const DenseRows view(*this, chosen.y.data(), chosen.mean.data(), chosen.intercept);
    if (!sift && strategy::in_columns(d)) return f(view.columns(chosen.J, chosen.y, poll));
    const bool as_it_is = chosen.all(n) && (column_stride == 1 || row_stride == 1);
    as_it_is ? f(view) : f(view.rows(chosen.J, chosen.y, poll));
}

static_assert(IsRows<DenseRows> && CanAddRows<DenseRows> && CanRowGram<DenseRows> && CanVisit<DenseRows>);

}  // namespace rm
