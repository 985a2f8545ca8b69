// Vectorised loops of the pair method, in single precision over the rows it works on.
#pragma once
#include <new>
#include <vector>

#include "vector.hpp"

namespace rm {

// Rows from begin to end, both multiples of kRowsAtOnce: arrays and rows of K are padded. Row i has the number i - shift in K.
constexpr Index kRowsAtOnce = 32;
struct Run {
    Index begin, end, shift;
};
using Runs = std::vector<Run>;

// Numbers that start where a line of the cache does: a whole vector that lies across two lines is read twice.
template <class T>
struct OnLines {
    using value_type = T;
    static constexpr std::align_val_t kLine{64};
    OnLines() = default;
    template <class U>
    OnLines(const OnLines<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
    bool operator==(const OnLines&) const { return true; }
    bool operator!=(const OnLines&) const { return false; }
};
using FloatRow = std::vector<float, OnLines<float>>;

// f -= t Ki + u Kj; where f + up is largest, or -1, here and below.
Index first_of_pair(const Runs& runs, const float* Ki, const float* Kj, float t, float u, const float* up, float* f);
// Where a step with i gains most, (f_i - f_j)^2 over the curvature, among those with f_j < f_i and down = 1.
Index second_of_pair(const Runs& runs, float fi, float own, const float* Ki, const float* diagonal, const float* down,
                     const float* f);
// Where moving one multiplier alone gains most, f^2 over the diagonal.
Index best_single(const Runs& runs, const float* diagonal, const float* up, const float* down, const float* f);
// The largest f + up and the smallest f with down = 1, if they are beyond what is there.
void widen_corridor(Index n, const float* f, const float* up, const float* down, double& highest, double& lowest);
// Sums over rows with z = y (f - b): gap = c max(z, 0) - alpha z, loss = c max(z, 0), square = alpha (t - y (f + origin)).
struct PairSums {
    double gap, loss, square;
};
PairSums pair_sums(Index n, const float* f, const double* y, const double* t, const double* c, const double* alpha, double b, double origin);
void subtract_row(Index n, float t, const float* K, float* f);
// f -= sum over the m rows of t[r] K[r].
void subtract_rows(Index n, Index m, const double* t, const float* const* K, double* f);

}  // namespace rm
