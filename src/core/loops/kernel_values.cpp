#include "kernel_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "clones.hpp"
#include "exponential.hpp"

namespace rm {
namespace {

constexpr int kRows = 6;              // with a vector of columns: 12 of the 16 registers of AVX2
constexpr Index kPanelBytes = 1 << 17;  // of columns between two visits of the same rows: they stay in cache
constexpr Index kSparseRows = 16;     // rows of a sparse matrix that are laid out side by side

template <class T>
struct Parameters {
    explicit Parameters(const KernelParameters& k) : gamma(T(k.gamma)), coef0(T(k.coef0)), degree(k.degree) {}
    T gamma, coef0;
    int degree;
};

template <KernelKind kind, class T>
RM_INLINE T term(T x, T y) {
    if constexpr (kind == KernelKind::rbf) return (x - y) * (x - y);
    if constexpr (kind == KernelKind::laplacian) return std::abs(x - y);
    return x * y;
}

// The kernel from a distance, or from an inner product.
template <KernelKind kind, class T>
RM_INLINE T finish(const Parameters<T>& p, T s) {
    if constexpr (kind == KernelKind::rbf || kind == KernelKind::laplacian) return exp_minus(p.gamma * s);
    if constexpr (kind == KernelKind::linear) return s;
    const T u = p.gamma * s + p.coef0;
    if constexpr (kind == KernelKind::poly) {
        T power = 1;
        for (int k = 0; k < p.degree; ++k) power *= u;
        return power;
    }
    const T e = exp_minus(T(2) * std::abs(u)), t = (T(1) - e) / (T(1) + e);  // tanh
    return u < 0 ? -t : t;
}

// Sums over features of one tile: terms of the kernel, or products where distances come from these.
template <int R, KernelKind kind, class T>
RM_INLINE void tile(const T* rows, const T* packed, Index d, T (*sums)[64 / sizeof(T)]) {
    constexpr Index kColumns = PackedRows<T>::kColumns;
    for (Index first = 0; first < std::max<Index>(d, 1); first += kFeaturesAtOnce) {
        T own[R][kColumns] = {};  // in registers
        for (Index k = first; k < std::min(first + kFeaturesAtOnce, d); ++k) {
            const T* y = packed + k * kColumns;
#pragma GCC unroll 6
            for (int r = 0; r < R; ++r) {
                const T x = rows[r * d + k];
#pragma omp simd
                for (Index j = 0; j < kColumns; ++j) own[r][j] += term<kind>(x, y[j]);
            }
        }
        for (int r = 0; r < R; ++r) {
#pragma omp simd
            for (Index j = 0; j < kColumns; ++j) sums[r][j] = first ? sums[r][j] + own[r][j] : own[r][j];
        }
    }
}

// squares + own - 2 products, which rounding may take below zero.
template <int R, class T>
RM_INLINE void distances(const T* own, const T* squares, T (*sums)[64 / sizeof(T)]) {
    for (int r = 0; r < R; ++r) {
#pragma omp simd
        for (Index j = 0; j < PackedRows<T>::kColumns; ++j) {
            const T s = own[r] + squares[j] - 2 * sums[r][j];
            sums[r][j] = s > 0 ? s : T(0);
        }
    }
}

template <class T>
RM_INLINE void store(const T* values, Index width, T* out) {
    if (width == PackedRows<T>::kColumns)
        std::memcpy(out, values, PackedRows<T>::kColumns * sizeof(T));  // a size known to the compiler: no call
    else
        std::memcpy(out, values, width * sizeof(T));
}

// R rows, number i and those after it, against some tiles; `own` are the squares of the rows, where distances come from products.
// Values of a symmetric matrix are stored on both sides of its diagonal while they are in cache.
template <int R, KernelKind kind, bool symmetric, class T>
RM_INLINE void strip(const Parameters<T>& p, const T* rows, const T* own, const PackedRows<T>& columns, Index first,
                     Index last, T* const* out, [[maybe_unused]] Index i) {
    constexpr Index kColumns = PackedRows<T>::kColumns;
    T values[R][kColumns];
    for (Index t = first; t < last; ++t) {
        const Index start = t * kColumns, width = std::min(kColumns, columns.n() - start);
        if (own) {
            tile<R, KernelKind::linear>(rows, columns.tile(t), columns.d(), values);
            distances<R>(own, columns.squares().data() + start, values);
        } else {
            tile<R, kind>(rows, columns.tile(t), columns.d(), values);
        }
        for (int r = 0; r < R; ++r) {
#pragma omp simd
            for (Index j = 0; j < kColumns; ++j) values[r][j] = finish<kind>(p, values[r][j]);
            if constexpr (!symmetric) store(values[r], width, out[r] + start);
        }
        if constexpr (symmetric) {
            for (int r = 0; r < R; ++r) store(values[r], width, out[r] + start);
            for (Index j = 0; j < width; ++j)
                for (int r = 0; r < R; ++r) out[start + j - i][i + r] = values[r][j];
        }
    }
}

template <KernelKind kind, class T, bool symmetric>
RM_INLINE void fill(const KernelParameters& kernel, const T* rows, Index m, const PackedRows<T>& columns, T* const* out,
                    const T* squares, std::bool_constant<symmetric>) {
    const Parameters<T> p(kernel);
    const Index d = columns.d(), tiles = (columns.n() + PackedRows<T>::kColumns - 1) / PackedRows<T>::kColumns;
    const Index panel = std::max<Index>(1, kPanelBytes / (64 * std::max<Index>(d, 1)));
    auto from = [=](Index i) { return kind == KernelKind::rbf && squares ? squares + i : nullptr; };
    for (Index begin = 0; begin < tiles; begin += panel) {
        const Index last = std::min(begin + panel, tiles);
        auto first = [=](Index i) { return symmetric ? std::max(begin, i / PackedRows<T>::kColumns) : begin; };
        Index i = 0;
        for (; i + kRows <= m; i += kRows)
            strip<kRows, kind, symmetric>(p, rows + i * d, from(i), columns, first(i), last, out + i, i);
        for (; i + 2 <= m; i += 2) strip<2, kind, symmetric>(p, rows + i * d, from(i), columns, first(i), last, out + i, i);
        if (i < m) strip<1, kind, symmetric>(p, rows + i * d, from(i), columns, first(i), last, out + i, i);
    }
}

// What a sparse column adds to the distance or product of the row side by side with 15 others.
template <KernelKind kind, class T>
RM_INLINE T sparse_term(T x, T y) {
    if constexpr (kind == KernelKind::laplacian) return std::abs(x - y) - std::abs(x);
    return x * y;
}

template <class T>
T size_of_row(const KernelParameters& kernel, const SparseView& X, Index i) {
    double sum = 0;
    for (auto p = X.indptr[i]; p < X.indptr[i + 1]; ++p)
        sum += kernel.kind == KernelKind::laplacian ? std::abs(X.values[p]) : X.values[p] * X.values[p];
    return T(sum);
}

template <KernelKind kind, class T>
RM_INLINE void sparse_column(const Parameters<T>& p, const SparseView& Y, Index j, const T* side, const T* sizes, T own,
                             T* values) {
    T sums[kSparseRows] = {};
    for (auto q = Y.indptr[j]; q < Y.indptr[j + 1]; ++q) {
        const T y = T(Y.values[q]);
        const T* x = side + Index(Y.indices[q]) * kSparseRows;
#pragma omp simd
        for (Index r = 0; r < kSparseRows; ++r) sums[r] += sparse_term<kind>(x[r], y);
    }
#pragma omp simd
    for (Index r = 0; r < kSparseRows; ++r) {
        T s = sums[r];
        if constexpr (kind == KernelKind::rbf) s = sizes[r] + own - 2 * s;
        if constexpr (kind == KernelKind::laplacian) s = sizes[r] + s;
        if constexpr (kind == KernelKind::rbf || kind == KernelKind::laplacian) s = s > 0 ? s : T(0);
        values[r] = finish<kind>(p, s);
    }
}

template <KernelKind kind, class T>
RM_INLINE void fill(const KernelParameters& kernel, const SparseView& X, const Index* I, Index m, const SparseView& Y,
                    const Index* J, Index k, T* const* out) {
    const Parameters<T> p(kernel);
    std::vector<T> side(Y.d * kSparseRows, T(0)), own(k);
    for (Index j = 0; j < k; ++j) own[j] = size_of_row<T>(kernel, Y, J ? J[j] : j);
    for (Index first = 0; first < m; first += kSparseRows) {
        const Index height = std::min(kSparseRows, m - first);
        T sizes[kSparseRows] = {}, values[kSparseRows];
        auto lay_out = [&](bool there) {
            for (Index r = 0; r < height; ++r)
                for (auto q = X.indptr[I[first + r]]; q < X.indptr[I[first + r] + 1]; ++q)
                    side[Index(X.indices[q]) * kSparseRows + r] = there ? T(X.values[q]) : T(0);
        };
        lay_out(true);
        for (Index r = 0; r < height; ++r) sizes[r] = size_of_row<T>(kernel, X, I[first + r]);
        for (Index j = 0; j < k; ++j) {
            sparse_column<kind>(p, Y, J ? J[j] : j, side.data(), sizes, own[j], values);
            for (Index r = 0; r < height; ++r) out[first + r][j] = values[r];
        }
        lay_out(false);
    }
}

template <class... Arguments>
RM_INLINE void choose(const KernelParameters& kernel, const Arguments&... arguments) {
    switch (kernel.kind) {
        case KernelKind::rbf: return fill<KernelKind::rbf>(kernel, arguments...);
        case KernelKind::laplacian: return fill<KernelKind::laplacian>(kernel, arguments...);
        case KernelKind::linear: return fill<KernelKind::linear>(kernel, arguments...);
        case KernelKind::poly: return fill<KernelKind::poly>(kernel, arguments...);
        case KernelKind::sigmoid: return fill<KernelKind::sigmoid>(kernel, arguments...);
    }
}

RM_CLONES void single(const KernelParameters& kernel, const float* rows, Index m, const PackedRows<float>& columns,
                      float* const* out, const float* squares) {
    choose(kernel, rows, m, columns, out, squares, std::false_type());
}
RM_CLONES void twofold(const KernelParameters& kernel, const double* rows, Index m, const PackedRows<double>& columns,
                       double* const* out, const double* squares) {
    choose(kernel, rows, m, columns, out, squares, std::false_type());
}
RM_CLONES void single(const KernelParameters& kernel, const SparseView& X, const Index* I, Index m, const SparseView& Y,
                      const Index* J, Index k, float* const* out) {
    choose(kernel, X, I, m, Y, J, k, out);
}
RM_CLONES void twofold(const KernelParameters& kernel, const SparseView& X, const Index* I, Index m, const SparseView& Y,
                       const Index* J, Index k, double* const* out) {
    choose(kernel, X, I, m, Y, J, k, out);
}

}  // namespace

template <class T>
PackedRows<T>::PackedRows(const double* X, const Index* J, Index n, Index d, const double* origin)
    : n_(n), d_(d), tiles_((n + kColumns - 1) / kColumns * kColumns * d) {
    for (Index j = 0; j < padded(n, kColumns); ++j) {
        const Index i = std::min(j, n - 1);
        const double* from = X + (J ? J[i] : i) * d;
        T* to = tiles_.data() + j / kColumns * kColumns * d + j % kColumns;
        for (Index k = 0; k < d; ++k) to[k * kColumns] = T(origin ? from[k] - origin[k] : from[k]);
    }
}
template <class T>
void PackedRows<T>::add_squares() {
    squares_.resize(padded(n_, kColumns));
    for (Index t = 0; t < Index(squares_.size()); t += kColumns) {
        const T* from = tile(t / kColumns);
        double sums[kColumns] = {};
        for (Index k = 0; k < d_; ++k)
            for (Index j = 0; j < kColumns; ++j) sums[j] += double(from[k * kColumns + j]) * double(from[k * kColumns + j]);
        std::copy_n(sums, kColumns, squares_.data() + t);
    }
}
template class PackedRows<float>;
template class PackedRows<double>;

template <>
void kernel_values(const KernelParameters& kernel, const float* rows, Index m, const PackedRows<float>& columns,
                   float* const* out, const float* squares) {
    single(kernel, rows, m, columns, out, squares);
}
template <>
void kernel_values(const KernelParameters& kernel, const double* rows, Index m, const PackedRows<double>& columns,
                   double* const* out, const double* squares) {
    twofold(kernel, rows, m, columns, out, squares);
}
template <>
void kernel_values(const KernelParameters& kernel, const SparseView& X, const Index* I, Index m, const SparseView& Y,
                   const Index* J, Index k, float* const* out) {
    single(kernel, X, I, m, Y, J, k, out);
}
template <>
void kernel_values(const KernelParameters& kernel, const SparseView& X, const Index* I, Index m, const SparseView& Y,
                   const Index* J, Index k, double* const* out) {
    twofold(kernel, X, I, m, Y, J, k, out);
}

RM_CLONES void kernel_gram(const KernelParameters& kernel, const double* rows, const PackedRows<double>& columns,
                           double* const* out) {
    choose(kernel, rows, columns.n(), columns, out, static_cast<const double*>(nullptr), std::true_type());
}

double kernel_of_square(const KernelParameters& kernel, double square) {
    const Parameters<double> p(kernel);
    switch (kernel.kind) {
        case KernelKind::linear: return square;
        case KernelKind::poly: return finish<KernelKind::poly>(p, square);
        case KernelKind::sigmoid: return finish<KernelKind::sigmoid>(p, square);
        default: return 1.0;
    }
}

}  // namespace rm
