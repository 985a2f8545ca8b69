#include "kernel_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "clones.hpp"
#if defined(__GNUC__)
#define RM_INLINE inline __attribute__((always_inline))  // into every clone, for its instruction set
#else
#define RM_INLINE inline
#endif

namespace rm {
namespace {

constexpr int kRows = 6;              // with a vector of columns: 12 of the 16 registers of AVX2
constexpr Index kPanelBytes = 1 << 17;  // of columns between two visits of the same rows: they stay in cache
constexpr Index kSparseRows = 16;     // rows of a sparse matrix that are laid out side by side

// exp(-t) for t >= 0 without a branch, so that it vectorises: 2^-k exp(r) with |r| <= ln(2) / 2 and a Taylor polynomial,
// to one or two units in the last place.
RM_INLINE double exp_minus(double t) {
    constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, kept in the low bits
    t = t < 708.0 ? t : 708.0;                     // 3e-308: there is nothing below to tell apart
    const double shifted = -t * 1.4426950408889634 + kShift;
    const double k = shifted - kShift;
    const double r = (-t - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    std::uint64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // the rounded integer becomes the exponent
    double power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

RM_INLINE float exp_minus(float t) {
    constexpr float kShift = 12582912.0f;  // 1.5 * 2^23
    t = t < 87.0f ? t : 87.0f;
    const float shifted = -t * 1.44269504f + kShift;
    const float k = shifted - kShift;
    const float r = (-t - k * 0.693145752f) - k * 1.42860677e-06f;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    std::uint32_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

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

template <int R, KernelKind kind, class T>
RM_INLINE void tile(const Parameters<T>& p, const T* rows, const T* packed, Index d, T (*values)[64 / sizeof(T)]) {
    constexpr Index kColumns = PackedRows<T>::kColumns;
    T sums[R][kColumns] = {};
    for (Index k = 0; k < d; ++k) {
        const T* y = packed + k * kColumns;
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
            const T x = rows[r * d + k];
#pragma omp simd
            for (Index j = 0; j < kColumns; ++j) sums[r][j] += term<kind>(x, y[j]);
        }
    }
    for (int r = 0; r < R; ++r) {
#pragma omp simd
        for (Index j = 0; j < kColumns; ++j) values[r][j] = finish<kind>(p, sums[r][j]);
    }
}

template <int R, KernelKind kind, class T>
RM_INLINE void strip(const Parameters<T>& p, const T* rows, const PackedRows<T>& columns, Index first, Index last,
                     T* const* out) {
    constexpr Index kColumns = PackedRows<T>::kColumns;
    T values[R][kColumns];
    for (Index t = first; t < last; ++t) {
        tile<R, kind>(p, rows, columns.tile(t), columns.d(), values);
        const Index start = t * kColumns, width = std::min(kColumns, columns.n() - start);
        for (int r = 0; r < R; ++r) {
            if (width == kColumns)
                std::memcpy(out[r] + start, values[r], kColumns * sizeof(T));  // a size known to the compiler: no call
            else
                std::memcpy(out[r] + start, values[r], width * sizeof(T));
        }
    }
}

template <KernelKind kind, class T>
RM_INLINE void fill(const KernelParameters& kernel, const T* rows, Index m, const PackedRows<T>& columns, T* const* out) {
    const Parameters<T> p(kernel);
    const Index d = columns.d(), tiles = (columns.n() + PackedRows<T>::kColumns - 1) / PackedRows<T>::kColumns;
    const Index panel = std::max<Index>(1, kPanelBytes / (64 * std::max<Index>(d, 1)));
    for (Index first = 0; first < tiles; first += panel) {
        const Index last = std::min(first + panel, tiles);
        Index i = 0;
        for (; i + kRows <= m; i += kRows) strip<kRows, kind>(p, rows + i * d, columns, first, last, out + i);
        for (; i + 2 <= m; i += 2) strip<2, kind>(p, rows + i * d, columns, first, last, out + i);
        if (i < m) strip<1, kind>(p, rows + i * d, columns, first, last, out + i);
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
                      float* const* out) {
    choose(kernel, rows, m, columns, out);
}
RM_CLONES void twofold(const KernelParameters& kernel, const double* rows, Index m, const PackedRows<double>& columns,
                       double* const* out) {
    choose(kernel, rows, m, columns, out);
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
template class PackedRows<float>;
template class PackedRows<double>;

template <>
void kernel_values(const KernelParameters& kernel, const float* rows, Index m, const PackedRows<float>& columns,
                   float* const* out) {
    single(kernel, rows, m, columns, out);
}
template <>
void kernel_values(const KernelParameters& kernel, const double* rows, Index m, const PackedRows<double>& columns,
                   double* const* out) {
    twofold(kernel, rows, m, columns, out);
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
