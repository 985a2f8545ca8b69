// Values of a kernel between two sets of rows, in one fused loop: distances or inner products, the function, the store.
// In single precision for the rows that a solver works with, in double precision for certificates and predictions.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "vector.hpp"

namespace rm {

enum class KernelKind { rbf, laplacian, linear, poly, sigmoid };

struct KernelParameters {
    KernelKind kind;
    double gamma, coef0;
    int degree;
    bool of_distance() const { return kind == KernelKind::rbf || kind == KernelKind::laplacian; }
};

// Columns of a kernel matrix: rows of data in feature-major tiles, the last row repeated up to a full tile.
template <class T>
class PackedRows {
  public:
    static constexpr Index kColumns = 64 / sizeof(T);  // of a tile: one vector of AVX-512, four of SSE2
    // The n rows J of X (d numbers each; the first n without J), less `origin` if there is one.
    PackedRows(const double* X, const Index* J, Index n, Index d, const double* origin = nullptr);
    Index n() const { return n_; }
    Index d() const { return d_; }
    const T* tile(Index t) const { return tiles_.data() + t * kColumns * d_; }
    void add_squares();
    const std::vector<T>& squares() const { return squares_; }  // |row|^2, if they were added
    void copy_row(Index i, T* out) const {
        const T* from = tile(i / kColumns) + i % kColumns;
        for (Index k = 0; k < d_; ++k) out[k] = from[k * kColumns];
    }

  private:
    Index n_, d_;
    std::vector<T> tiles_, squares_;
};

// Sums over d features are made of sums over so many: rounding grows with this and with how many of these there are.
constexpr Index kFeaturesAtOnce = 64;
inline double terms_in_sum(Index d) { return double(std::min<Index>(d, kFeaturesAtOnce + d / kFeaturesAtOnce)); }

// out[r][j] = k(row r, column j) for m rows of d numbers each, one after the other. With the squares of the rows, and those of
// the columns added to these, distances come from inner products: half of the arithmetic, and more rounding.
template <class T>
void kernel_values(const KernelParameters& kernel, const T* rows, Index m, const PackedRows<T>& columns, T* const* out,
                   const T* squares = nullptr);
// Where the rows are the columns: half of the work, and exactly symmetric.
void kernel_gram(const KernelParameters& kernel, const double* rows, const PackedRows<double>& columns, double* const* out);

// Compressed sparse rows.
struct SparseView {
    const double* values;
    const std::int32_t* indices;
    const std::int64_t* indptr;
    Index n, d;
};

// Rows I of X (m of them) against rows J of Y (k of them; the first k if J is null).
template <class T>
void kernel_values(const KernelParameters& kernel, const SparseView& X, const Index* I, Index m, const SparseView& Y,
                   const Index* J, Index k, T* const* out);

double kernel_of_square(const KernelParameters& kernel, double square);  // k(x, x) for |x|^2 = square

}  // namespace rm
