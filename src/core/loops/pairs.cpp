#include "pairs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "clones.hpp"

namespace rm {
namespace {
constexpr Index kStretch = 128;      // values between two looks at the best so far
constexpr float kFlat = 1e-7f;       // relative curvature of a pair below which it is rounding
constexpr float kTiny = 1e-30f;      // so that there is something to divide by
constexpr Index kBlock = 1024;       // numbers of f that stay in the first-level cache while rows are subtracted

// Where value(k) is largest. Values of one stretch are kept, to find the place in the one that has the largest.
template <class Value>
RM_INLINE void largest(Index begin, Index end, Value value, Best& best) {
    float buffers[2][kStretch], *values = buffers[0], *winners = buffers[1];
    Index from = -1;
    for (Index start = begin; start < end; start += kStretch) {
        const Index count = std::min(end - start, kStretch);
        float most = -HUGE_VALF;
#pragma omp simd reduction(max : most)
        for (Index k = 0; k < count; ++k) {
            const float v = values[k] = value(start + k);
            most = v > most ? v : most;
        }
        if (most > best.value) best.value = most, from = start, std::swap(values, winners);
    }
    if (from < 0) return;
    best.place = from;
    while (winners[best.place - from] != best.value) ++best.place;
}
}  // namespace

RM_CLONES void first_of_pair(Index begin, Index end, const float* Ki, const float* Kj, float t, float u, const float* up, float* f,
                             Best& best) {
    largest(begin, end, [=](Index k) { return (f[k] -= t * Ki[k] + u * Kj[k]) + up[k]; }, best);
}

RM_CLONES void second_of_pair(Index begin, Index end, float fi, float own, const float* Ki, const float* diagonal,
                              const float* down, const float* f, Best& best) {
    auto gain = [=](Index k) {
        const float difference = fi - f[k], slope = down[k] * (difference > 0.0f ? difference : 0.0f);
        const float sum = own + diagonal[k], curvature = sum - 2.0f * Ki[k], flat = kFlat * std::abs(sum) + kTiny;
        return slope * slope / (curvature > flat ? curvature : flat);
    };
    largest(begin, end, gain, best);
}

RM_CLONES void best_single(Index begin, Index end, const float* diagonal, const float* up, const float* down, const float* f,
                           Best& best) {
    auto gain = [=](Index k) {
        const float slope = f[k] > 0.0f ? (up[k] < 0.0f ? 0.0f : f[k]) : down[k] * f[k];
        return slope * slope / (diagonal[k] > kTiny ? diagonal[k] : kTiny);
    };
    largest(begin, end, gain, best);
}

RM_CLONES void widen_corridor(Index n, const float* f, const float* up, const float* down, double& highest, double& lowest) {
    float most = -HUGE_VALF, least = HUGE_VALF;
#pragma omp simd reduction(max : most) reduction(min : least)
    for (Index k = 0; k < n; ++k) {
        const float high = f[k] + up[k], low = down[k] > 0.0f ? f[k] : HUGE_VALF;
        most = high > most ? high : most;
        least = low < least ? low : least;
    }
    highest = std::max(highest, double(most)), lowest = std::min(lowest, double(least));
}

RM_CLONES PairSums pair_sums(Index n, const float* f, const double* y, const double* c, const double* alpha, double b,
                             double origin) {
    double gap = 0, loss = 0, square = 0;
#pragma omp simd reduction(+ : gap, loss, square)
    for (Index k = 0; k < n; ++k) {
        const double value = f[k], z = y[k] * (value - b), positive = c[k] * (z > 0.0 ? z : 0.0);
        gap += positive - alpha[k] * z;
        loss += positive;
        square += alpha[k] * (1.0 - y[k] * (value + origin));
    }
    return {gap, loss, square};
}

RM_CLONES void subtract_row(Index n, float t, const float* K, float* f) {
#pragma omp simd
    for (Index k = 0; k < n; ++k) f[k] -= t * K[k];
}

RM_CLONES void subtract_rows(Index n, Index m, const double* t, const float* const* K, double* f) {
    for (Index start = 0; start < n; start += kBlock) {
        const Index end = std::min(n, start + kBlock);
        Index r = 0;
        for (; r + 4 <= m; r += 4) {
            const float *a = K[r], *b = K[r + 1], *c = K[r + 2], *e = K[r + 3];
            const double p = t[r], q = t[r + 1], s = t[r + 2], w = t[r + 3];
#pragma omp simd
            for (Index k = start; k < end; ++k) f[k] -= p * a[k] + q * b[k] + s * c[k] + w * e[k];
        }
        for (; r < m; ++r) {
            const float* a = K[r];
            const double p = t[r];
#pragma omp simd
            for (Index k = start; k < end; ++k) f[k] -= p * a[k];
        }
    }
}

}  // namespace rm
