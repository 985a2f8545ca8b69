// Sparse rows of several problems side by side: their numbers lie next to each other, one lane a problem, so that what is read of
// a row serves all of them.
#pragma once
#include <cstdint>

#include "loops/vector.hpp"

namespace rm {

struct alignas(64) Lanes {  // a cache line
    double at[kLanes] = {};
    double& operator[](Index l) { return at[l]; }
    double operator[](Index l) const { return at[l]; }
};

struct SparseRow {
    const double* values;
    const std::int32_t* indices;
    Index size;
};

Lanes dot_lanes(const SparseRow& row, const Lanes* W);
// W += t s x, for factors s of the features, or none.
void add_lanes(const SparseRow& row, const Lanes& t, const Lanes* s, Lanes* W);
// sum s x^2.
Lanes square_lanes(const SparseRow& row, const Lanes* s);

// What coordinate descent knows of every lane; see methods/coordinate_descent.hpp.
struct LaneState {
    Lanes b, rho, sum, square;  // intercept, penalty of its moves, sum y alpha, w'Bw
    Lanes most, least;          // slopes beyond which a row at its bound is shrunk
    Lanes highest, lowest;      // slopes in the wrong, of this epoch
};
// A row in every lane; where it takes no part its bound is zero.
struct LaneRow {
    Lanes y, bound, square, alpha, score;
};
enum class Visit { shrunk, still, moved };
// Takes the multipliers of a row with these scores to their best values, and what they change by, times y, into t.
Visit visit_lanes(LaneRow& row, LaneState& state, Lanes& t);

// Sums over n rows at scores and intercepts: of the loss, of the multipliers, of the rows' shares of the gap
// (methods/coordinate_descent.hpp), and of the multipliers on the side of the labels that `excess` has the sign of.
struct LaneSums {
    Lanes loss, total, shares;
    Lanes free, bound, slack;
};
LaneSums sum_lanes(Index n, const LaneRow* rows, const Lanes& b, const Lanes& excess);

}  // namespace rm
