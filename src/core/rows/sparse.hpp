// The caller's compressed sparse matrix, and rows of it.
#pragma once
#include <cstdint>
#include <numeric>

#include "rows/inner_products.hpp"

namespace rm {

struct SparseArray : FeatureSource {
    const double* values;
    const std::int32_t* indices;
    const std::int64_t* indptr;
    Index n, d;

    SparseArray(const double* values, const std::int32_t* indices, const std::int64_t* indptr, Index n, Index d)
        : values(values), indices(indices), indptr(indptr), n(n), d(d) {}
    double score(Index i, const double* w) const {
        double sum = 0;
        for (auto p = indptr[i]; p < indptr[i + 1]; ++p) sum += values[p] * w[indices[p]];
        return sum;
    }
    Vector centre(const std::vector<Index>& J) const {
        return middle(d, J, [this](Index i, double* sum) {
            for (auto p = indptr[i]; p < indptr[i + 1]; ++p) sum[indices[p]] += values[p];
        });
    }
    template <class F>
    void with_form(const Chosen& chosen, bool sift, const Poll& poll, F&& f) const;
};

// Compressed sparse rows with sorted indices, centred implicitly: the matrix is never filled.
class SparseRows : public Features {
  public:
    static constexpr bool kSparse = true;
    SparseRows(const SparseArray& X, const double* y, const double* mean, bool intercept)
        : values_(X.values), indices_(X.indices), indptr_(X.indptr), n_(X.n), d_(X.d), D_(X.d + intercept), y_(y),
          mean_(mean) {}
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
    // Row by row, against a dense copy of B^{-1} times one of them.
    const Vector& row_gram(const Regularizer& B, const Poll& poll) const {
        if (!row_gram_.empty()) return row_gram_;
        Vector products(static_cast<std::size_t>(n_) * n_), row(d_);
        std::vector<Index> all(n_);
        std::iota(all.begin(), all.end(), Index{0});
        for (Index i = 0; i < n_; ++i) {
            if (poll) poll();
            std::fill(row.begin(), row.end(), 0.0);
            for (auto p = indptr_[i]; p < indptr_[i + 1]; ++p) row[indices_[p]] = values_[p];
            B.divide(row.data());
            for (Index j = i; j < n_; ++j) {
                double sum = 0;
                for (auto p = indptr_[j]; p < indptr_[j + 1]; ++p) sum += values_[p] * row[indices_[p]];
                products[i * n_ + j] = products[j * n_ + i] = sum;
            }
        }
        return row_gram_ = signed_gram(products.data(), n_, all, y_, D_ > d_);
    }
    void copy_row(Index i, double* out) const {
        for (Index k = 0; k < d_; ++k) out[k] = -y_[i] * mean_[k];
        for (auto p = indptr_[i]; p < indptr_[i + 1]; ++p) out[indices_[p]] += y_[i] * values_[p];
    }
    SparseRows rows(const Index* J, Index m, const Poll& poll) const {
        SparseRows out({nullptr, nullptr, nullptr, m, d_}, nullptr, mean_, D_ > d_);
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

    template <class F>
    void with_rows(const std::vector<Index>& J, const Poll& poll, F&& f) const {
        f(rows(J.data(), static_cast<Index>(J.size()), poll));
    }

  private:
    const double* values_;
    const std::int32_t* indices_;
    const std::int64_t* indptr_;
    Index n_, d_, D_;
    const double* y_;
    const double* mean_;
    Vector own_values_, own_y_;
    mutable Vector row_gram_;
    std::vector<std::int32_t> own_indices_;
    std::vector<std::int64_t> own_indptr_;
};

template <class F>
void SparseArray::with_form(const Chosen& chosen, bool, const Poll& poll, F&& f) const {
    const SparseRows view(*this, chosen.labels, chosen.mean.data(), chosen.intercept);
    chosen.all(n) ? f(view) : f(view.rows(chosen.J.data(), static_cast<Index>(chosen.J.size()), poll));
}

static_assert(IsRows<SparseRows> && CanGram<SparseRows> && CanRowGram<SparseRows>);
static_assert(CanCopy<SparseRows> && CanPick<SparseRows>);

}  // namespace rm
