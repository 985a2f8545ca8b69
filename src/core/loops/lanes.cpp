#include "loops/lanes.hpp"

#include <algorithm>

#include "loops/clones.hpp"

namespace rm {

RM_CLONES Lanes dot_lanes(const SparseRow& row, const Lanes* W) {
    double even[kLanes] = {}, odd[kLanes] = {};  // two sums: one would wait for itself
    Index p = 0;
    for (; p + 1 < row.size; p += 2) {
        const double x = row.values[p], z = row.values[p + 1];
        const double *u = W[row.indices[p]].at, *v = W[row.indices[p + 1]].at;
#pragma omp simd
        for (Index l = 0; l < kLanes; ++l) even[l] += x * u[l];
#pragma omp simd
        for (Index l = 0; l < kLanes; ++l) odd[l] += z * v[l];
    }
    if (p < row.size)
        for (Index l = 0; l < kLanes; ++l) even[l] += row.values[p] * W[row.indices[p]].at[l];
    Lanes out;
    for (Index l = 0; l < kLanes; ++l) out.at[l] = even[l] + odd[l];
    return out;
}

RM_CLONES void add_lanes(const SparseRow& row, const Lanes& t, const Lanes* s, Lanes* W) {
    const Lanes step = t;  // not in memory that W could be
    for (Index p = 0; p < row.size; ++p) {
        const double x = row.values[p];
        Lanes& w = W[row.indices[p]];
        if (s) {
            const Lanes& factor = s[row.indices[p]];
#pragma omp simd
            for (Index l = 0; l < kLanes; ++l) w.at[l] += x * step.at[l] * factor.at[l];
        } else {
#pragma omp simd
            for (Index l = 0; l < kLanes; ++l) w.at[l] += x * step.at[l];
        }
    }
}

RM_CLONES Lanes square_lanes(const SparseRow& row, const Lanes* s) {
    Lanes sum;
    for (Index p = 0; p < row.size; ++p) {
        const double square = row.values[p] * row.values[p];
        for (Index l = 0; l < kLanes; ++l) sum.at[l] += square * (s ? s[row.indices[p]].at[l] : 1.0);
    }
    return sum;
}

RM_CLONES Visit visit_lanes(LaneRow& row, LaneState& state, Lanes& t) {
    double active = 0, moved = 0;
    Lanes alpha = row.alpha;
    const Lanes y = row.y, score = row.score, bound = row.bound, square = row.square;
#pragma omp simd reduction(+ : active, moved)
    for (Index l = 0; l < kLanes; ++l) {
        const double c = bound.at[l], a = alpha.at[l];
        const double slope = y.at[l] * (score.at[l] + state.b.at[l] + state.rho.at[l] * state.sum.at[l]) - 1.0;
        const bool low = a <= 0.0, high = a >= c;
        const bool gone = (low & (slope > state.most.at[l])) | (high & (slope < state.least.at[l]));
        const double inward = low ? std::min(slope, 0.0) : high ? std::max(slope, 0.0) : slope;
        const double wrong = (c > 0.0) & !gone ? inward : 0.0;
        const double best = std::min(std::max(a - slope / (square.at[l] + state.rho.at[l]), 0.0), c);
        const double next = wrong != 0.0 ? best : a;
        const double step = y.at[l] * (next - a);
        active += (c > 0.0) & !gone ? 1.0 : 0.0;
        moved += step != 0.0 ? 1.0 : 0.0;
        state.highest.at[l] = std::max(state.highest.at[l], wrong);
        state.lowest.at[l] = std::min(state.lowest.at[l], wrong);
        state.sum.at[l] += step;
        state.square.at[l] += step * (2 * score.at[l] + step * square.at[l]);
        alpha.at[l] = next, t.at[l] = step;
    }
    if (active == 0.0) return Visit::shrunk;
    if (moved == 0.0) return Visit::still;
    row.alpha = alpha;
    return Visit::moved;
}

RM_CLONES LaneSums sum_lanes(Index n, const LaneRow* rows, const Lanes& b, const Lanes& excess) {
    LaneSums sums;
    for (const LaneRow* row = rows; row < rows + n; ++row) {
        const double *y = row->y.at, *bound = row->bound.at, *alpha = row->alpha.at, *score = row->score.at;
#pragma omp simd
        for (Index l = 0; l < kLanes; ++l) {
            const double z = 1.0 - y[l] * (score[l] + b.at[l]), a = alpha[l], c = bound[l];
            const double hinge = c * std::max(z, 0.0), heavy = y[l] * excess.at[l] > 0.0 ? a : 0.0;
            sums.loss.at[l] += hinge;
            sums.total.at[l] += a;
            sums.shares.at[l] += c > 0.0 ? hinge - a * z : 0.0;
            sums.free.at[l] += a < c ? heavy : 0.0;
            sums.bound.at[l] += a < c ? 0.0 : heavy;
            sums.slack.at[l] += a < c ? 0.0 : heavy * z;
        }
    }
    return sums;
}

}  // namespace rm
