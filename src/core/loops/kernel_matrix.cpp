#include "loops/kernel_matrix.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "loops/exponential.hpp"

namespace rm {
namespace {

// A tile of 6 x 8 sums fills the registers of AVX2 (12 of 16) and hides the latency of AVX-512.
constexpr Index kRows = 6, kColumns = 8;
constexpr Index kPanel = 64;  // tiles of columns between two visits of the same rows: they stay in cache

// Kernel values of kRows rows (the last repeated where there are fewer) against one packed tile of kColumns columns.
template <Distance distance>
RM_INLINE void tile(const double* const* rows, const double* packed, Index d, double gamma, double* values) {
    double sums[kRows][kColumns] = {};
    for (Index k = 0; k < d; ++k) {
        const double* y = packed + k * kColumns;
#pragma GCC unroll 6
        for (Index r = 0; r < kRows; ++r) {
            const double x = rows[r][k];
#pragma omp simd
            for (Index j = 0; j < kColumns; ++j) {
                const double difference = x - y[j];
                if constexpr (distance == Distance::squared)
                    sums[r][j] += difference * difference;
                else
                    sums[r][j] += difference < 0.0 ? -difference : difference;
            }
        }
    }
    for (Index r = 0; r < kRows; ++r) {
#pragma omp simd
        for (Index j = 0; j < kColumns; ++j) values[r * kColumns + j] = exp_minus(gamma * sums[r][j]);
    }
}

// Feature-major tiles of kColumns rows of Y; the last row is repeated up to a full tile.
std::vector<double> pack(const double* Y, Index m, Index d) {
    const Index tiles = (m + kColumns - 1) / kColumns;
    std::vector<double> packed(static_cast<std::size_t>(tiles) * kColumns * d);
    for (Index j = 0; j < tiles * kColumns; ++j) {
        const double* from = Y + std::min(j, m - 1) * d;
        double* to = packed.data() + j / kColumns * kColumns * d + j % kColumns;
        for (Index k = 0; k < d; ++k) to[k * kColumns] = from[k];
    }
    return packed;
}

RM_INLINE void copy(const double* from, double* to, Index width) {
    if (width == kColumns)
        std::memcpy(to, from, kColumns * sizeof(double));  // a size known to the compiler: no call
    else
        std::memcpy(to, from, width * sizeof(double));
}

// `symmetric` (Y is X) leaves out the tiles below the diagonal and stores the others twice, while they are in cache.
template <Distance distance>
RM_INLINE void fill(const double* X, Index n, const double* packed, Index m, Index d, double gamma, bool symmetric,
                    double* out) {
    const Index tiles = (m + kColumns - 1) / kColumns;
    double values[kRows * kColumns];
    for (Index panel = 0; panel < tiles; panel += kPanel) {
        for (Index i = 0; i < n; i += kRows) {
            const Index height = std::min(kRows, n - i);
            const double* rows[kRows];
            for (Index r = 0; r < kRows; ++r) rows[r] = X + std::min(i + r, n - 1) * d;
            const Index first = symmetric ? std::max(panel, i / kColumns) : panel;
            for (Index t = first; t < std::min(panel + kPanel, tiles); ++t) {
                tile<distance>(rows, packed + t * kColumns * d, d, gamma, values);
                double* to = out + i * m + t * kColumns;
                const Index width = std::min(kColumns, m - t * kColumns);
                for (Index r = 0; r < height; ++r) copy(values + r * kColumns, to + r * m, width);
                if (symmetric)
                    for (Index j = 0; j < width; ++j)
                        for (Index r = 0; r < height; ++r)
                            out[(t * kColumns + j) * m + i + r] = values[r * kColumns + j];
            }
        }
    }
}

RM_CLONES void fill_squared(const double* X, Index n, const double* packed, Index m, Index d, double gamma,
                            bool symmetric, double* out) {
    fill<Distance::squared>(X, n, packed, m, d, gamma, symmetric, out);
}

RM_CLONES void fill_absolute(const double* X, Index n, const double* packed, Index m, Index d, double gamma,
                             bool symmetric, double* out) {
    fill<Distance::absolute>(X, n, packed, m, d, gamma, symmetric, out);
}

}  // namespace

void exponential_kernel(Distance distance, const double* X, Index n, const double* Y, Index m, Index d,
                        double gamma, double* out) {
    const auto packed = pack(Y, m, d);
    (distance == Distance::squared ? fill_squared : fill_absolute)(X, n, packed.data(), m, d, gamma, false, out);
}

void exponential_gram(Distance distance, const double* X, Index n, Index d, double gamma, double* out) {
    const auto packed = pack(X, n, d);
    (distance == Distance::squared ? fill_squared : fill_absolute)(X, n, packed.data(), n, d, gamma, true, out);
}

}  // namespace rm
