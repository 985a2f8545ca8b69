// Rows of a kernel matrix, computed when first needed, in blocks, and kept in single precision within a budget.
#pragma once
#include <list>
#include <memory>
#include <numeric>

#include "regularizer.hpp"
#include "loops/kernel_values.hpp"
#include "loops/pairs.hpp"

namespace rm {

// Where kernel values come from: data and a function, a matrix that is there, or a caller's function.
class KernelSource {
  public:
    virtual ~KernelSource() = default;
    virtual Index n() const = 0;
    virtual Vector diagonal() const = 0;
    virtual void rows(const Index* I, Index m, float* const* out) const = 0;  // against all n
    // out (m x k, row-major) in double precision.
    virtual void block(const Index* I, Index m, const Index* J, Index k, double* out) const = 0;
    // Of these rows only; null where that would be no gain.
    virtual std::unique_ptr<KernelSource> part(const std::vector<Index>&) const { return nullptr; }
    virtual Index together() const { return 1; }  // rows that are best computed at once
    // How far a value of `rows` may be off, in single precision, and how far one of `block` typically is, in double precision.
    virtual double single_rounding() const = 0;
    virtual double double_rounding() const = 0;
};

// Relative rounding of one operation.
constexpr double kSingle = 6e-8, kDouble = 1.2e-16;

// Bound on the error of a value whose inner product, or distance, has `terms` terms; `square` is the longest row's |x|^2.
inline double value_rounding(const KernelParameters& kernel, double eps, double terms, double square) {
    switch (kernel.kind) {
        case KernelKind::rbf:
        case KernelKind::laplacian: return eps * (2 + 0.4 * (terms + 2));  // t exp(-t) <= 0.4
        case KernelKind::linear: return eps * (terms + 2) * square;
        case KernelKind::poly: {
            const double base = kernel.gamma * square + std::abs(kernel.coef0);
            return eps * (terms + 5) * double(kernel.degree) * std::pow(base, double(kernel.degree));
        }
        case KernelKind::sigmoid: return eps * (5 + (terms + 2) * kernel.gamma * square);  // tanh has slope one at most
    }
    return HUGE_VAL;
}

template <class T>
std::vector<T*> row_pointers(T* first, Index m, Index stride) {
    std::vector<T*> pointers(m);
    for (Index r = 0; r < m; ++r) pointers[r] = first + r * stride;
    return pointers;
}

class DenseKernel : public KernelSource {
  public:
    DenseKernel(const KernelParameters& kernel, const double* X, Index n, Index d)
        : kernel_(kernel), X_(X), n_(n), d_(d), columns_(X, nullptr, n, d, mean().data()) {
        measure_rows();
        choose_distances();
    }
    DenseKernel(const KernelParameters& kernel, Vector X, Index n, Index d)
        : kernel_(kernel), own_(std::move(X)), X_(own_.data()), n_(n), d_(d), columns_(X_, nullptr, n, d, mean().data()) {
        measure_rows();
        choose_distances();
    }
    Index n() const override { return n_; }
    Vector diagonal() const override {
        Vector values(n_);
        for (Index i = 0; i < n_; ++i) values[i] = kernel_of_square(kernel_, dot(d_, X_ + i * d_, X_ + i * d_));
        return values;
    }
    void rows(const Index* I, Index m, float* const* out) const override {
        std::vector<Index> order(m);  // those by inner products first
        std::iota(order.begin(), order.end(), Index(0));
        const auto middle = std::stable_partition(order.begin(), order.end(), [&](Index r) { return is_short(I[r]); });
        std::vector<float> own(m * d_), squares(m);
        std::vector<float*> to(m);
        for (Index r = 0; r < m; ++r) {
            columns_.copy_row(I[order[r]], own.data() + r * d_);
            squares[r] = is_short(I[order[r]]) ? columns_.squares()[I[order[r]]] : 0.0f;
            to[r] = out[order[r]];
        }
        const Index s = middle - order.begin();
        kernel_values(kernel_, own.data(), s, columns_, to.data(), squares.data());
        kernel_values(kernel_, own.data() + s * d_, m - s, columns_, to.data() + s);
    }
    void block(const Index* I, Index m, const Index* J, Index k, double* out) const override {
        Vector own(m * d_);
        for (Index r = 0; r < m; ++r) std::copy_n(X_ + I[r] * d_, d_, own.data() + r * d_);
        kernel_values(kernel_, own.data(), m, PackedRows<double>(X_, J, k, d_), row_pointers(out, m, k).data());
    }
    std::unique_ptr<KernelSource> part(const std::vector<Index>& J) const override {
        Vector X(J.size() * d_);
        for (std::size_t r = 0; r < J.size(); ++r) std::copy_n(X_ + J[r] * d_, d_, X.data() + r * d_);
        return std::make_unique<DenseKernel>(kernel_, std::move(X), Index(J.size()), d_);
    }
    // One row alone is a pass over all data: with many features, as slow as memory.
    Index together() const override { return strategy::rows_at_once(d_); }
    // Differences inherit the rounding of the rows to single precision, however close these are; 2 sqrt(t) exp(-t) <= 0.86.
    double single_rounding() const override {
        double offset = longest_ > 0.0 ? strategy::kRoundingOfProducts : 0.0;
        if (kernel_.kind == KernelKind::rbf) offset += 0.86 * 2 * kSingle * std::sqrt(kernel_.gamma * largest_square_);
        if (kernel_.kind == KernelKind::laplacian)
            offset += 2 * kSingle * kernel_.gamma * std::sqrt(double(d_) * largest_square_);
        return offset + value_rounding(kernel_, kSingle, terms_in_sum(d_), largest_square_);
    }
    double double_rounding() const override {
        return value_rounding(kernel_, kDouble, std::sqrt(terms_in_sum(d_)), largest_square_);
    }

  private:
    // By inner products where rows are dear. Rounding is that of gamma |x| |y| exp(-gamma |x - y|^2), at most gamma |x|^2 and
    // a half: rows that are too long for it get differences, also against short ones.
    void choose_distances() {
        if (kernel_.kind != KernelKind::rbf || strategy::rows_at_once(d_) == 1) return;
        longest_ = (strategy::kRoundingOfProducts / (2.0 * kSingle * (terms_in_sum(d_ + 2) + 2)) - 0.5) / kernel_.gamma;
        if (longest_ > 0.0) columns_.add_squares();
    }
    void measure_rows() {
        const Vector origin = mean();
        for (Index i = 0; i < n_; ++i) {
            double square = 0;
            for (Index k = 0; k < d_; ++k) square += (X_[i * d_ + k] - origin[k]) * (X_[i * d_ + k] - origin[k]);
            largest_square_ = std::max(largest_square_, square);
        }
    }
    bool is_short(Index i) const { return longest_ > 0.0 && columns_.squares()[i] <= longest_; }
    // Distances know no origin; near the mean single precision has most to say about them.
    Vector mean() const {
        Vector sum(d_, 0.0);
        if (!kernel_.of_distance()) return sum;
        for (Index i = 0; i < n_; ++i) axpy(d_, 1.0 / double(n_), X_ + i * d_, sum.data());
        return sum;
    }
    KernelParameters kernel_;
    Vector own_;
    const double* X_;
    Index n_, d_;
    PackedRows<float> columns_;
    double largest_square_ = 0.0;  // |x|^2, from the mean where the kernel is of distances
    double longest_ = 0.0;  // |x|^2 of rows whose distances come from inner products
};

class SparseKernel : public KernelSource {
  public:
    SparseKernel(const KernelParameters& kernel, const SparseView& X) : kernel_(kernel), X_(X) {}
    Index n() const override { return X_.n; }
    Vector diagonal() const override {
        Vector values(X_.n);
        for (Index i = 0; i < X_.n; ++i) {
            const auto first = X_.indptr[i], count = X_.indptr[i + 1] - first;
            values[i] = kernel_of_square(kernel_, dot(count, X_.values + first, X_.values + first));
        }
        return values;
    }
    void rows(const Index* I, Index m, float* const* out) const override {
        kernel_values(kernel_, X_, I, m, X_, nullptr, X_.n, out);
    }
    void block(const Index* I, Index m, const Index* J, Index k, double* out) const override {
        kernel_values(kernel_, X_, I, m, X_, J, k, row_pointers(out, m, k).data());
    }
    Index together() const override { return strategy::kSparseAtOnce; }
    std::unique_ptr<KernelSource> part(const std::vector<Index>& J) const override {
        auto chosen = std::make_unique<Chosen>();
        chosen->indptr.push_back(0);
        for (Index j : J) {
            chosen->values.insert(chosen->values.end(), X_.values + X_.indptr[j], X_.values + X_.indptr[j + 1]);
            chosen->indices.insert(chosen->indices.end(), X_.indices + X_.indptr[j], X_.indices + X_.indptr[j + 1]);
            chosen->indptr.push_back(std::int64_t(chosen->values.size()));
        }
        const SparseView view{chosen->values.data(), chosen->indices.data(), chosen->indptr.data(), Index(J.size()), X_.d};
        auto source = std::make_unique<SparseKernel>(kernel_, view);
        source->own_ = std::move(chosen);
        return source;
    }
    double single_rounding() const override { return rounding(kSingle); }
    double double_rounding() const override { return rounding(kDouble); }

  private:
    // Distances come from inner products here, whose rounding is that of the lengths of the rows.
    double rounding(double eps) const {
        double square = 0, terms = 0;
        for (Index i = 0; i < X_.n; ++i) {
            const auto first = X_.indptr[i], count = X_.indptr[i + 1] - first;
            square = std::max(square, dot(count, X_.values + first, X_.values + first));
            terms = std::max(terms, double(count));
        }
        double lengths = 0;
        if (kernel_.of_distance())
            lengths = kernel_.gamma * (kernel_.kind == KernelKind::laplacian ? std::sqrt(square * terms) : square);
        return 4 * eps * (terms + 4) * lengths + value_rounding(kernel_, eps, terms, square);
    }
    struct Chosen {
        Vector values;
        std::vector<std::int32_t> indices;
        std::vector<std::int64_t> indptr;
    };
    KernelParameters kernel_;
    SparseView X_;
    std::unique_ptr<Chosen> own_;
};

class GivenKernel : public KernelSource {
  public:
    GivenKernel(const double* K, Index n) : K_(K), n_(n) {}
    Index n() const override { return n_; }
    Vector diagonal() const override {
        Vector values(n_);
        for (Index i = 0; i < n_; ++i) values[i] = K_[i * n_ + i];
        return values;
    }
    void rows(const Index* I, Index m, float* const* out) const override {
        for (Index r = 0; r < m; ++r) std::copy_n(K_ + I[r] * n_, n_, out[r]);
    }
    void block(const Index* I, Index m, const Index* J, Index k, double* out) const override {
        for (Index r = 0; r < m; ++r)
            for (Index j = 0; j < k; ++j) out[r * k + j] = K_[I[r] * n_ + J[j]];
    }
    double single_rounding() const override {
        double largest = 0;
        for (Index i = 0; i < n_ * n_; ++i) largest = std::max(largest, std::abs(K_[i]));
        return kSingle * largest;
    }
    double double_rounding() const override { return 0.0; }

  private:
    const double* K_;
    Index n_;
};

// Room for n numbers, and zeros up to where passes end.
inline FloatRow padded_row(Index n) { return FloatRow(padded(n, kRowsAtOnce), 0.0f); }

// The rows of a source that were asked for last, as many as the budget holds.
class KernelRows {
  public:
    static constexpr Index kFewest = 64;  // rows that are kept whatever the budget
    KernelRows(std::unique_ptr<KernelSource> source, double cache_bytes)
        : source_(std::move(source)), n_(source_->n()), budget_(cache_bytes), diagonal_(source_->diagonal()), slot_(n_, -1) {
        for (double k : diagonal_) largest_ = std::max(largest_, std::abs(k));
        single_rounding_ = source_->single_rounding(), double_rounding_ = source_->double_rounding();
        const double rows = cache_bytes / (sizeof(float) * double(n_));
        capacity_ = std::clamp(Index(std::min(rows, double(n_))), std::min(kFewest, n_), n_);
    }

    Index n() const { return n_; }
    Index capacity() const { return capacity_; }
    double budget() const { return budget_; }
    double single_rounding() const { return single_rounding_; }
    double double_rounding() const { return double_rounding_; }
    double largest() const { return largest_; }  // of the diagonal
    const Vector& diagonal() const { return diagonal_; }
    const KernelSource& source() const { return *source_; }
    bool has(Index i) const { return slot_[i] >= 0; }

    // Makes the m <= capacity rows I available, computing those that are missing together.
    void fetch(const Index* I, Index m) {
        std::vector<Index> missing;
        for (Index r = 0; r < m; ++r) has(I[r]) ? touch(slot_[I[r]]) : missing.push_back(I[r]);
        if (missing.empty()) return;
        std::vector<float*> out;
        for (Index i : missing) out.push_back(take_slot(i));
        source_->rows(missing.data(), Index(missing.size()), out.data());
    }
    // Valid until kFewest - 1 other rows have been asked for.
    const float* row(Index i) {
        has(i) ? touch(slot_[i]) : fetch(&i, 1);
        return slots_[slot_[i]].values.data();
    }

  private:
    struct Slot {
        FloatRow values;
        Index owner;
        std::list<Index>::iterator place;
    };
    void touch(Index s) {
        if (capacity_ < n_) order_.splice(order_.end(), order_, slots_[s].place);
    }
    float* take_slot(Index i) {
        if (Index(slots_.size()) < capacity_) {
            slot_[i] = Index(slots_.size());
            slots_.push_back({padded_row(n_), i, order_.insert(order_.end(), slot_[i])});
        } else {
            Slot& oldest = slots_[order_.front()];
            slot_[oldest.owner] = -1;
            slot_[i] = order_.front(), oldest.owner = i;
            touch(slot_[i]);
        }
        return slots_[slot_[i]].values.data();
    }

    std::unique_ptr<KernelSource> source_;
    Index n_, capacity_;
    double budget_, largest_ = 0.0, single_rounding_, double_rounding_;
    Vector diagonal_;
    std::vector<Index> slot_;  // of each row, or -1
    std::vector<Slot> slots_;
    std::list<Index> order_;  // slots, the one that was used longest ago first
};

}  // namespace rm
