// The caller's compressed sparse matrix, and rows of it.
#pragma once
#include <cstdint>

#include "loops/lanes.hpp"
#include "rows/dense.hpp"

namespace rm {

struct SparseArray {
    const double* values;
    const std::int32_t* indices;
    const std::int64_t* indptr;
    Index n, d;

    SparseRow row(Index i) const { return {values + indptr[i], indices + indptr[i], static_cast<Index>(indptr[i + 1] - indptr[i])}; }
    void fetch(Index i) const {  // says that row i comes soon
        constexpr Index kLine = 64;  // bytes
        const auto first = indptr[i], last = indptr[i + 1];
        for (auto p = first; p < last; p += kLine / Index{sizeof(double)}) prefetch(values + p);
        for (auto p = first; p < last; p += kLine / Index{sizeof(std::int32_t)}) prefetch(indices + p);
    }
    std::uint64_t fingerprint(Index i) const {
        const SparseRow own = row(i);
        return mixed(own.values, own.size, mixed(own.indices, own.size));
    }
    bool same(Index i, Index j) const {
        const SparseRow one = row(i), other = row(j);
        return one.size == other.size && std::equal(one.values, one.values + one.size, other.values) &&
               std::equal(one.indices, one.indices + one.size, other.indices);
    }
    double score(Index i, const double* w) const {
        double even = 0, odd = 0;  // two sums: one would wait for itself
        auto p = indptr[i];
        const auto last = indptr[i + 1];
        for (; p + 1 < last; p += 2) even += values[p] * w[indices[p]], odd += values[p + 1] * w[indices[p + 1]];
        return p < last ? even + odd + values[p] * w[indices[p]] : even + odd;
    }
    TwiceDouble exact_score(Index i, const double* w, Vector&) const {
        TwiceDouble out;
        for (auto p = indptr[i]; p < indptr[i + 1]; ++p) out.add_product(values[p], w[indices[p]]);
        return out;
    }
    void exact_add(Index i, double t, double* sum, double* rest, Vector&) const {
        for (auto p = indptr[i]; p < indptr[i + 1]; ++p) exact_axpy(1, t, values + p, sum + indices[p], rest + indices[p]);
    }
    Sizes sizes() const {
        Sizes out{Vector(d, 0.0), 0.0, 0};
        const Index step = strategy::rows_between_sizes(n, indptr[n] / std::max<Index>(n, 1));
        for (Index i = 0; i < n; i += step) {
            const SparseRow own = row(i);
            double square = 0;
            for (Index p = 0; p < own.size; ++p) {
                double& largest = out.features[own.indices[p]];
                largest = std::max(largest, std::abs(own.values[p]));
                square += own.values[p] * own.values[p];
            }
            out.norm = std::max(out.norm, std::sqrt(square)), out.terms = std::max(out.terms, own.size);
        }
        return out;
    }
    void add(Index i, double t, double* out) const {
        for (auto p = indptr[i]; p < indptr[i + 1]; ++p) out[indices[p]] += t * values[p];
    }
    // Rows that visits lead through in any order are not centred: it would cost a pass, and d numbers a problem.
    Vector centre(const std::vector<Index>& J) const {
        if (strategy::visit(d)) return Vector(d, 0.0);
        return middle(d, J, [this](Index i, double* sum) { add(i, 1.0, sum); });
    }
    template <class F>
    void with_form(const Chosen& chosen, bool sift, const Poll& poll, F&& f) const;
};

// What a dense array stores that is not zero.
class SparseCopy {
  public:
    explicit SparseCopy(const DenseArray& X) : n_(X.n), d_(X.d), indptr_(X.n + 1, 0) {
        const auto expected = static_cast<std::size_t>(1.1 * stored_share(X) * double(n_) * double(d_));
        values_.reserve(expected), indices_.reserve(expected);
        Vector values(d_ + 1);
        std::vector<std::int32_t> indices(d_ + 1);
        for (Index i = 0; i < n_; ++i) {
            const double* row = X.X + i * X.row_stride;
            Index m = 0;
            for (Index k = 0; k < d_; ++k) {  // without a branch, which would be wrong as often as not
                values[m] = row[k], indices[m] = static_cast<std::int32_t>(k);
                m += row[k] != 0.0;
            }
            values_.insert(values_.end(), values.begin(), values.begin() + m);
            indices_.insert(indices_.end(), indices.begin(), indices.begin() + m);
            indptr_[i + 1] = indptr_[i] + m;
        }
    }
    SparseArray array() const { return {values_.data(), indices_.data(), indptr_.data(), n_, d_}; }

    static bool pays(const DenseArray& X) {
        return strategy::visit(X.d) && X.column_stride == 1 && strategy::mostly_zeros(stored_share(X));
    }

  private:
    // The share of numbers that are not zero, by some of the rows.
    static double stored_share(const DenseArray& X) {
        const Index step = std::max<Index>(1, X.n / strategy::kDensitySample);
        double seen = 0, stored = 0;
        for (Index i = 0; i < X.n; i += step, seen += double(X.d))
            for (Index k = 0; k < X.d; ++k) stored += X.X[i * X.row_stride + k] != 0.0;
        return stored / std::max(seen, 1.0);
    }

    Index n_, d_;
    Vector values_;
    std::vector<std::int32_t> indices_;
    std::vector<std::int64_t> indptr_;
};

// Some or all of the caller's rows, where they are; centred implicitly: the matrix is neither filled nor copied.
class SparseRows {
  public:
    static constexpr bool kSparse = true;
    SparseRows(const SparseArray& X, std::vector<Index> places, Vector y, const double* mean, bool intercept)
        : X_(X), places_(std::move(places)), D_(X.d + intercept), y_(std::move(y)), mean_(mean) {}
    SparseRows(SparseRows&&) = default;
    SparseRows(const SparseRows&) = delete;

    Index n() const { return static_cast<Index>(places_.size()); }
    Index d() const { return X_.d; }
    Index D() const { return D_; }

    void times(const double* theta, double* out) const {
        const double b = (D_ > d() ? theta[d()] : 0.0) - dot(d(), mean_, theta);
        for (Index i = 0; i < n(); ++i) out[i] = y_[i] * (dot_row(i, theta) + b);
    }
    void transposed_times(const double* v, double* out) const {
        std::fill(out, out + D_, 0.0);
        double total = 0;
        for (Index i = 0; i < n(); ++i) {
            const double t = v[i] * y_[i];
            if (t == 0.0) continue;
            total += t;
            X_.add(places_[i], t, out);
        }
        axpy(d(), -total, mean_, out);
        if (D_ > d()) out[d()] = total;
    }
    void gram(const Index* J, Index m, const double* weights, double* H) const {
        const Index d = X_.d;
        for (Index k = 0; k < D_; ++k) std::fill(H + k * D_ + k, H + (k + 1) * D_, 0.0);
        Vector sum(d, 0.0);
        double total = 0;
        for (Index j = 0; j < m; ++j) {
            const auto first = X_.indptr[places_[J[j]]], last = X_.indptr[places_[J[j]] + 1];
            for (auto p = first; p < last; ++p) {  // sorted indices: q >= p stays in the lower triangle
                double* column = H + X_.indices[p] * D_;
                const double t = weights[j] * X_.values[p];
                for (auto q = p; q < last; ++q) column[X_.indices[q]] += t * X_.values[q];
                sum[X_.indices[p]] += t;
            }
            total += weights[j];
        }
        // sum w (x - m)(x - m)' = sum w x x' - s m' - m s' + (sum w) m m'
        for (Index k = 0; k < d; ++k) {
            axpy(d - k, total * mean_[k] - sum[k], mean_ + k, H + k * D_ + k);
            axpy(d - k, -mean_[k], sum.data() + k, H + k * D_ + k);
            if (D_ > d) H[k * D_ + d] = sum[k] - total * mean_[k];
        }
        if (D_ > d) H[d * D_ + d] = total;
    }
    // Row by row, against a dense copy of B^{-1} times one of them.
    const Vector& row_gram(const Regularizer& B, const Poll& poll) const {
        if (!row_gram_.empty()) return row_gram_;
        const Index n = this->n();
        Vector products(static_cast<std::size_t>(n) * n), row(d());
        for (Index i = 0; i < n; ++i) {
            if (poll) poll();
            std::fill(row.begin(), row.end(), 0.0);
            X_.add(places_[i], 1.0, row.data());
            B.divide(row.data());
            for (Index j = i; j < n; ++j) products[i * n + j] = products[j * n + i] = dot_row(j, row.data());
        }
        centre_products(B, products);
        return row_gram_ = std::move(products);
    }
    void copy_row(Index i, double* out) const {
        for (Index k = 0; k < d(); ++k) out[k] = -y_[i] * mean_[k];
        X_.add(places_[i], y_[i], out);
    }

    static bool contiguous() { return true; }
    Index stored(Index i) const { return X_.indptr[places_[i] + 1] - X_.indptr[places_[i]]; }
    const double* mean() const { return mean_; }
    double dot_row(Index i, const double* w) const { return X_.score(places_[i], w); }
    void add_row(Index i, double t, const double* scale, double* w) const {
        if (!scale) return X_.add(places_[i], t, w);
        for (auto p = X_.indptr[places_[i]]; p < X_.indptr[places_[i] + 1]; ++p)
            w[X_.indices[p]] += t * X_.values[p] * scale[X_.indices[p]];
    }
    void add_squares(Index i, double t, double* out) const {
        const SparseRow row = X_.row(places_[i]);
        for (Index p = 0; p < row.size; ++p) out[row.indices[p]] += t * row.values[p] * row.values[p];
    }
    double square_row(Index i, const double* scale) const {
        double sum = 0;
        for (auto p = X_.indptr[places_[i]]; p < X_.indptr[places_[i] + 1]; ++p)
            sum += X_.values[p] * X_.values[p] * (scale ? scale[X_.indices[p]] : 1.0);
        return sum;
    }
    void fetch_row(Index i) const { X_.fetch(places_[i]); }
    std::uint64_t fingerprint(Index i) const { return X_.fingerprint(places_[i]); }
    bool same(Index i, Index j) const { return X_.same(places_[i], places_[j]); }

    template <class F>
    void with_rows(const std::vector<Index>& J, const Poll&, F&& f) const {
        std::vector<Index> places(J.size());
        for (std::size_t j = 0; j < J.size(); ++j) places[j] = places_[J[j]];
        f(SparseRows(X_, std::move(places), pick(y_.data(), J), mean_, D_ > d()));
    }

  private:
    // From the inner products of the rows to those of the signed and centred ones.
    void centre_products(const Regularizer& B, Vector& G) const {
        const Index n = this->n();
        Vector centre(mean_, mean_ + d()), with_centre(n);
        B.divide(centre.data());
        const double square = dot(d(), mean_, centre.data());
        for (Index i = 0; i < n; ++i) with_centre[i] = dot_row(i, centre.data());
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < n; ++j)
                G[i * n + j] = y_[i] * y_[j] * (G[i * n + j] - with_centre[i] - with_centre[j] + square);
    }

    const SparseArray& X_;
    std::vector<Index> places_;
    Index D_;
    Vector y_;
    const double* mean_;
    mutable Vector row_gram_;
};

template <class F>
void SparseArray::with_form(const Chosen& chosen, bool, const Poll&, F&& f) const {
    f(SparseRows(*this, chosen.J, chosen.y, chosen.mean.data(), chosen.intercept));
}

static_assert(IsRows<SparseRows> && CanRowGram<SparseRows> && CanVisit<SparseRows>);

}  // namespace rm
