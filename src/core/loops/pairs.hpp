// Vectorised loops of the pair method, in single precision over the rows it works on.
#pragma once
#include "vector.hpp"

namespace rm {

// The largest value so far, and where; `value` is at first the least that counts.
struct Best {
    float value;
    Index place = -1;
};
// The passes below are over rows from begin to end, both multiples of this: arrays and rows of K are padded.
constexpr Index kRowsAtOnce = 32;

// f -= t Ki + u Kj; where f + up is largest.
void first_of_pair(Index begin, Index end, const float* Ki, const float* Kj, float t, float u, const float* up, float* f, Best& best);
// Where a step with i gains most, (f_i - f_j)^2 over the curvature, among those with f_j < f_i and down = 1.
void second_of_pair(Index begin, Index end, float fi, float own, const float* Ki, const float* diagonal, const float* down,
                    const float* f, Best& best);
// Where moving one multiplier alone gains most, f^2 over the diagonal.
void best_single(Index begin, Index end, const float* diagonal, const float* up, const float* down, const float* f, Best& best);
// The largest f + up and the smallest f with down = 1, if they are beyond what is there.
void widen_corridor(Index n, const float* f, const float* up, const float* down, double& highest, double& lowest);
// Sums over rows with z = y (f - b): gap = c max(z, 0) - alpha z, loss = c max(z, 0), square = alpha (1 - y (f + origin)).
struct PairSums {
    double gap, loss, square;
};
PairSums pair_sums(Index n, const float* f, const double* y, const double* c, const double* alpha, double b, double origin);
void subtract_row(Index n, float t, const float* K, float* f);
// f -= sum over the m rows of t[r] K[r].
void subtract_rows(Index n, Index m, const double* t, const float* const* K, double* f);

}  // namespace rm
