#include "pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "clones.hpp"

namespace rm {
namespace {
constexpr float kFlat = 1e-7f;       // relative curvature of a pair below which it is rounding
constexpr float kTiny = 1e-30f;      // so that there is something to divide by
constexpr Index kBlock = 1024;       // numbers of f that stay in the first-level cache while rows are subtracted

// A vector of numbers that may start anywhere, or one number: the same expressions serve both. The compiler left to itself
// branches where a lane has a new best.
#if defined(__GNUC__)
constexpr Index kWidth = 16;
typedef float Floats __attribute__((vector_size(kWidth * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef std::int32_t Ints __attribute__((vector_size(kWidth * sizeof(float))));
#else
constexpr Index kWidth = 1;
using Floats = float;
using Ints = std::int32_t;
#endif
RM_INLINE const Floats& at(const float* p) { return *reinterpret_cast<const Floats*>(p); }
RM_INLINE Floats& at(float* p) { return *reinterpret_cast<Floats*>(p); }

constexpr int kVectors = kWidth == 1 ? 1 : 2;  // at a time, so that one need not wait for the other

// Where the best of all lanes was, from the best value of each, if it is more than `least`; else -1.
RM_INLINE Index join(const Floats* most, const Ints* where, float least) {
    float values[kVectors * kWidth], top = least;
    std::int32_t places[kVectors * kWidth];
    std::memcpy(values, most, sizeof values), std::memcpy(places, where, sizeof places);
#pragma omp simd reduction(max : top)
    for (int l = 0; l < kVectors * kWidth; ++l) top = values[l] > top ? values[l] : top;
    if (!(top > least)) return -1;
    int lane = 0;
    while (values[lane] != top) ++lane;
    return places[lane] + lane;
}

// Where value(k, j), of kWidth rows from k, j in K, is largest: each lane knows its own best, and where.
template <class Value>
RM_INLINE Index largest(const Runs& runs, Value value) {
    Floats most[kVectors];
    Ints where[kVectors];
    for (int v = 0; v < kVectors; ++v) most[v] = Floats{} - HUGE_VALF, where[v] = Ints{} - 1;
    for (const auto [begin, end, shift] : runs)
        for (Index k = begin; k < end; k += kVectors * kWidth) {
#pragma GCC unroll 2
            for (int v = 0; v < kVectors; ++v) {
                const Floats now = value(k + v * kWidth, k + v * kWidth - shift);
                where[v] = now > most[v] ? Ints{} + std::int32_t(k) : where[v];
                most[v] = now > most[v] ? now : most[v];
            }
        }
    return join(most, where, -HUGE_VALF);
}

// Where the ratio of ratio(k, j), above and below the line, is largest, if it is positive: compared by products, since divisions
// take long. One comparison chooses all three, the same way round: GCC 12 makes two of `more ? new : old`.
template <class Ratio>
RM_INLINE Index largest_ratio(const Runs& runs, Ratio ratio) {
    Floats above[kVectors], below[kVectors];
    Ints where[kVectors];
    for (int v = 0; v < kVectors; ++v) above[v] = Floats{}, below[v] = Floats{} + 1.0f, where[v] = Ints{} - 1;
    for (const auto [begin, end, shift] : runs)
        for (Index k = begin; k < end; k += kVectors * kWidth) {
#pragma GCC unroll 2
            for (int v = 0; v < kVectors; ++v) {
                Floats a, b;
                ratio(k + v * kWidth, k + v * kWidth - shift, a, b);
                const auto kept = a * below[v] <= above[v] * b;
                where[v] = kept ? where[v] : Ints{} + std::int32_t(k);
                above[v] = kept ? above[v] : a, below[v] = kept ? below[v] : b;
            }
        }
    for (int v = 0; v < kVectors; ++v) above[v] /= below[v];
    return join(above, where, 0.0f);
}
}  // namespace

RM_CLONES Index first_of_pair(const Runs& runs, const float* Ki, const float* Kj, float t, float u, const float* up, float* f) {
    return largest(runs, [=](Index k, Index j) { return (at(f + k) -= t * at(Ki + j) + u * at(Kj + j)) + at(up + k); });
}

RM_CLONES Index second_of_pair(const Runs& runs, float fi, float own, const float* Ki, const float* diagonal, const float* down,
                               const float* f) {
    const Floats flat = Floats{} + (2.0f * kFlat * std::abs(own) + kTiny);
    return largest_ratio(runs, [=](Index k, Index j, Floats& square, Floats& curvature) {
        const Floats zero{}, difference = at(down + k) * (fi - at(f + k)), slope = difference > zero ? difference : zero;
        const Floats sum = own + at(diagonal + k) - 2.0f * at(Ki + j);
        curvature = flat < sum ? sum : flat;
        square = slope * slope;
    });
}

RM_CLONES Index best_single(const Runs& runs, const float* diagonal, const float* up, const float* down, const float* f) {
    return largest_ratio(runs, [=](Index k, Index, Floats& square, Floats& curvature) {
        const Floats zero{}, here = at(f + k), own = at(diagonal + k), tiny = zero + kTiny;
        const Floats above = at(up + k) < zero ? zero : here, below = at(down + k) * here;
        const Floats slope = here > zero ? above : below;
        curvature = own > tiny ? own : tiny;
        square = slope * slope;
    });
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

RM_CLONES PairSums pair_sums(Index n, const float* f, const double* y, const double* t, const double* c, const double* alpha,
                             double b, double origin) {
    double gap = 0, loss = 0, square = 0;
#pragma omp simd reduction(+ : gap, loss, square)
    for (Index k = 0; k < n; ++k) {
        const double value = f[k], z = y[k] * (value - b), positive = c[k] * (z > 0.0 ? z : 0.0);
        gap += positive - alpha[k] * z;
        loss += positive;
        square += alpha[k] * (t[k] - y[k] * (value + origin));
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
