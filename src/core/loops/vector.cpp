#include "loops/vector.hpp"

#include <algorithm>
#include <cmath>

#include "loops/clones.hpp"

namespace rm {
namespace {
constexpr Index kBlock = 512;  // rows of a block: its partial results stay in the first-level cache

// A vector of kLanes numbers that may start anywhere; the compiler cuts it to the registers of each clone.
#if defined(__GNUC__)
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double)), aligned(sizeof(double)), may_alias));
#else
struct Lanes {
    double v[kLanes];
    void operator+=(const Lanes& o) { for (Index i = 0; i < kLanes; ++i) v[i] += o.v[i]; }
    void operator-=(const Lanes& o) { for (Index i = 0; i < kLanes; ++i) v[i] -= o.v[i]; }
    friend Lanes operator*(double t, Lanes o) { for (double& x : o.v) x *= t; return o; }
};
#endif
RM_INLINE const Lanes& lanes(const double* p) { return *reinterpret_cast<const Lanes*>(p); }
RM_INLINE Lanes& lanes(double* p) { return *reinterpret_cast<Lanes*>(p); }
}  // namespace

RM_CLONES void columns_times(const double* A, Index ld, Index n, Index D, const double* x, double* out) {
    for (Index start = 0; start < n; start += kBlock) {
        const Index m = std::min(kBlock, n - start);
        double* o = out + start;
        std::fill(o, o + m, 0.0);
        Index k = 0;
        for (; k + 4 <= D; k += 4) {
            const double *a = A + k * ld + start, *b = a + ld, *c = b + ld, *e = c + ld;
            const double p = x[k], q = x[k + 1], r = x[k + 2], s = x[k + 3];
#pragma omp simd
            for (Index i = 0; i < m; ++i) o[i] += p * a[i] + q * b[i] + r * c[i] + s * e[i];
        }
        for (; k < D; ++k) {
            const double* a = A + k * ld + start;
            const double p = x[k];
#pragma omp simd
            for (Index i = 0; i < m; ++i) o[i] += p * a[i];
        }
    }
}

RM_CLONES void columns_transposed_times(const double* A, Index ld, Index n, Index D, const double* v,
                                        double* out) {
    std::fill(out, out + D, 0.0);
    for (Index start = 0; start < n; start += kBlock) {
        const Index m = std::min(kBlock, n - start);
        const double* u = v + start;
        Index k = 0;
        for (; k + 4 <= D; k += 4) {
            const double *a = A + k * ld + start, *b = a + ld, *c = b + ld, *e = c + ld;
            double p = 0, q = 0, r = 0, s = 0;
#pragma omp simd reduction(+ : p, q, r, s)
            for (Index i = 0; i < m; ++i) {
                p += a[i] * u[i];
                q += b[i] * u[i];
                r += c[i] * u[i];
                s += e[i] * u[i];
            }
            out[k] += p, out[k + 1] += q, out[k + 2] += r, out[k + 3] += s;
        }
        for (; k < D; ++k) {
            const double* a = A + k * ld + start;
            double p = 0;
#pragma omp simd reduction(+ : p)
            for (Index i = 0; i < m; ++i) p += a[i] * u[i];
            out[k] += p;
        }
    }
}

RM_CLONES_256 void add_rows(const double* X, Index stride, Index d, const Index* J, Index m, const double* weights,
                            double* out) {
    Index j = 0;
    for (; j + 4 <= m; j += 4) {
        const double *a = X + J[j] * stride, *b = X + J[j + 1] * stride, *c = X + J[j + 2] * stride, *e = X + J[j + 3] * stride;
        const double p = weights[j], q = weights[j + 1], r = weights[j + 2], s = weights[j + 3];
#pragma omp simd
        for (Index k = 0; k < d; ++k) out[k] += p * a[k] + q * b[k] + r * c[k] + s * e[k];
    }
    for (; j < m; ++j) axpy(d, weights[j], X + J[j] * stride, out);
}

// One tile of the Gram matrix: four rows, C vectors wide, in registers over all of J.
template <int C>
RM_INLINE void gram_tile(const double* R, Index W, const Index* J, Index m, const double* weights, Index k, Index l,
                         double* H) {
    Lanes sum[4][C] = {};
    for (Index j = 0; j < m; ++j) {
        const double* row = R + J[j] * W;
        for (int p = 0; p < 4; ++p) {
            const double factor = weights[j] * row[k + p];
            for (int c = 0; c < C; ++c) sum[p][c] += factor * lanes(row + l + kLanes * c);
        }
    }
    for (int p = 0; p < 4; ++p)
        for (int c = 0; c < C; ++c) lanes(H + (k + p) * W + l + kLanes * c) = sum[p][c];
}

RM_CLONES void padded_gram(const double* R, Index W, Index D, const Index* J, Index m, const double* weights,
                           double* H) {
    for (Index k = 0; k < D; k += 4) {
        Index l = k / kLanes * kLanes;
        for (; l + 3 * kLanes <= W; l += 3 * kLanes) gram_tile<3>(R, W, J, m, weights, k, l, H);
        if (l + 2 * kLanes <= W)
            gram_tile<2>(R, W, J, m, weights, k, l, H);
        else if (l < W)
            gram_tile<1>(R, W, J, m, weights, k, l, H);
    }
}

RM_CLONES bool eliminate(double* H, Index W, Index D, double* x) {
    for (Index k = 0; k < D; ++k) {
        const double* row = H + k * W;
        if (!(row[k] > 0.0) || !std::isfinite(row[k])) return false;
        const double inverse = x[k] = 1.0 / row[k];
        // Whole vectors are cheaper than whole triangles: what is left of column k, or below the diagonal, is rubbish from
        // here on and never read; by symmetry the rows above have it.
        for (Index i = 0; i < D; ++i) {
            if (i == k) continue;
            double* target = H + i * W;
            const double factor = (i < k ? target[k] : row[i]) * inverse;
            for (Index l = (i < k ? k + 1 : i) / kLanes * kLanes; l < W; l += kLanes)
                lanes(target + l) -= factor * lanes(row + l);
        }
    }
    for (Index k = 0; k < D; ++k) x[k] *= H[k * W + D];
    return true;
}

RM_CLONES_256 void rows_times(const double* X, Index stride, Index n, Index d, const double* x, double* out) {
    for (Index i = 0; i < n; ++i) {
        const double* row = X + i * stride;
        double p = 0;
#pragma omp simd reduction(+ : p)
        for (Index k = 0; k < d; ++k) p += row[k] * x[k];
        out[i] = p;
    }
}

RM_CLONES_256 void rows_transposed_times(const double* X, Index stride, Index n, Index d, const double* v,
                                     double* out) {
    std::fill(out, out + d, 0.0);
    Index i = 0;
    for (; i + 4 <= n; i += 4) {
        const double *a = X + i * stride, *b = a + stride, *c = b + stride, *e = c + stride;
        const double p = v[i], q = v[i + 1], r = v[i + 2], s = v[i + 3];
        if (p == 0 && q == 0 && r == 0 && s == 0) continue;
#pragma omp simd
        for (Index k = 0; k < d; ++k) out[k] += p * a[k] + q * b[k] + r * c[k] + s * e[k];
    }
    for (; i < n; ++i) {
        const double* a = X + i * stride;
        const double p = v[i];
#pragma omp simd
        for (Index k = 0; k < d; ++k) out[k] += p * a[k];
    }
}

RM_CLONES MarginSums multiplier_step(Index n, const double* reference, const double* z, double s,
                                     const double* c, double* a, double* ca) {
    double loss = 0, multipliers = 0, complementarity = 0;
#pragma omp simd reduction(+ : loss, multipliers, complementarity)
    for (Index i = 0; i < n; ++i) {
        const double p = reference[i] + s * z[i];
        const double q = p < 0.0 ? 0.0 : p;
        const double ai = q > 1.0 ? 1.0 : q;
        const double positive = z[i] > 0.0 ? z[i] : 0.0;
        a[i] = ai;
        ca[i] = c[i] * ai;
        loss += c[i] * positive;
        multipliers += c[i] * ai;
        complementarity += c[i] * (positive - ai * z[i]);
    }
    return {loss, multipliers, complementarity};
}

// Indices that `is_in` holds for: vectors without any, which are most of them, are passed over at once.
template <class F>
RM_INLINE Index indices(Index n, Index* out, const F& is_in) {
    Index m = 0, start = 0;
    for (; start + kLanes <= n; start += kLanes) {
        int any = 0;
#pragma omp simd reduction(| : any)
        for (Index i = start; i < start + kLanes; ++i) any |= is_in(i);
        if (!any) continue;
        for (Index i = start; i < start + kLanes; ++i) {
            out[m] = i;
            m += is_in(i);
        }
    }
    for (Index i = start; i < n; ++i) {
        out[m] = i;
        m += is_in(i);
    }
    return m;
}

RM_CLONES Index band(Index n, const double* a, Index* out) {
    return indices(n, out, [a](Index i) { return (a[i] > 0.0) & (a[i] < 1.0); });
}

RM_CLONES Index differences(Index n, const double* a, const double* b, Index* out) {
    return indices(n, out, [a, b](Index i) { return a[i] != b[i]; });
}

RM_CLONES double slope(Index n, const double* reference, const double* z, const double* dz, double s,
                       double t, const double* c) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) {
        const double p = reference[i] + s * (z[i] + t * dz[i]);
        const double q = p < 0.0 ? 0.0 : p;
        sum += c[i] * (q > 1.0 ? 1.0 : q) * dz[i];
    }
    return sum;
}

RM_CLONES BoxSums clip_to_box(Index n, const double* y, const double* c, double* alpha) {
    double up = 0, down = 0, room_up = 0, room_down = 0;
#pragma omp simd reduction(+ : up, down, room_up, room_down)
    for (Index i = 0; i < n; ++i) {
        const double low = alpha[i] > 0.0 ? alpha[i] : 0.0, a = low < c[i] ? low : c[i];
        const double positive = y[i] > 0.0 ? 1.0 : 0.0, room = c[i] - a;
        alpha[i] = a;
        up += positive * a, down += (1.0 - positive) * a;
        room_up += positive * room, room_down += (1.0 - positive) * room;
    }
    return {up, down, room_up, room_down};
}

RM_CLONES void shift_in_box(Index n, const double* y, double label, double scale, double fill, const double* c,
                            double* alpha) {
#pragma omp simd
    for (Index i = 0; i < n; ++i)
        alpha[i] = y[i] == label ? scale * alpha[i] : alpha[i] + fill * (c[i] - alpha[i]);
}

RM_CLONES double hinge_loss(Index n, const double* c, const double* z) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += c[i] * (z[i] > 0.0 ? z[i] : 0.0);
    return sum;
}

RM_CLONES double dot(Index n, const double* a, const double* b) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

// Knuth's exact sum of two numbers: what rounding took from s + p is added to `rest`.
static inline void add_exactly(double p, double& s, double& rest) {
    const double sum = s + p, added = sum - s;
    rest += (s - (sum - added)) + (p - added);
    s = sum;
}

RM_CLONES void compensated_axpy(Index n, double t, const double* x, double* y, double* rest) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) add_exactly(t * x[i], y[i], rest[i]);
}

RM_CLONES void compensated_dot(Index n, const double* a, const double* b, double& sum, double& rest) {
    constexpr Index kWidth = 8;
    double sums[kWidth] = {}, rests[kWidth] = {};
    Index i = 0;
    for (; i + kWidth <= n; i += kWidth)
#pragma omp simd
        for (Index k = 0; k < kWidth; ++k) add_exactly(a[i + k] * b[i + k], sums[k], rests[k]);
    for (; i < n; ++i) add_exactly(a[i] * b[i], sums[0], rests[0]);
    for (Index k = 0; k < kWidth; ++k) add_exactly(sums[k], sum, rest), rest += rests[k];
}

RM_INLINE void add_product_exactly(double a, double b, double& s, double& rest) {
    const double product = a * b;
    rest += std::fma(a, b, -product);
    add_exactly(product, s, rest);
}

RM_CLONES void exact_axpy(Index n, double t, const double* x, double* y, double* rest) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) add_product_exactly(t, x[i], y[i], rest[i]);
}

RM_CLONES void exact_dot(Index n, const double* a, const double* b, double& sum, double& rest) {
    constexpr Index kWidth = 8;
    double sums[kWidth] = {}, rests[kWidth] = {};
    Index i = 0;
    for (; i + kWidth <= n; i += kWidth)
#pragma omp simd
        for (Index k = 0; k < kWidth; ++k) add_product_exactly(a[i + k], b[i + k], sums[k], rests[k]);
    for (; i < n; ++i) add_product_exactly(a[i], b[i], sums[0], rests[0]);
    for (Index k = 0; k < kWidth; ++k) add_exactly(sums[k], sum, rest), rest += rests[k];
}

RM_CLONES void keep_largest(Index n, const double* x, double* largest) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double size = x[i] < 0.0 ? -x[i] : x[i];
        largest[i] = size > largest[i] ? size : largest[i];
    }
}

RM_CLONES void axpy(Index n, double t, const double* x, double* y) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) y[i] += t * x[i];
}

RM_CLONES void scaled_axpy(Index n, double t, const double* s, const double* x, double* y) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) y[i] += t * s[i] * x[i];
}

// Where value(k), to be kept in `values`, is largest; `best` becomes it where it is more. The block is found with vectors,
// the place in it one by one.
template <class Value>
RM_INLINE Index largest(Index n, const Value& value, double* values, double& best) {
    constexpr Index kFew = 64;
    Index place = 0;
    for (Index start = 0; start < n; start += kFew) {
        const Index end = std::min(start + kFew, n);
        double most = -HUGE_VAL;
#pragma omp simd reduction(max : most)
        for (Index k = start; k < end; ++k) {
            const double v = values[k] = value(k);
            most = v > most ? v : most;
        }
        if (most > best) best = most, place = start;
    }
    while (place < n - 1 && values[place] != best) ++place;
    return place;
}

RM_CLONES Index first_of_pair(Index n, const double* y, const PairStep& step, const double* up, double* f,
                              double* scores) {
    const double *Gi = step.Gi, *Gj = step.Gj, t = step.t, u = step.u;
    double best = -HUGE_VAL;
    return largest(n, [=](Index k) { return (f[k] -= y[k] * (t * Gi[k] + u * Gj[k])) + up[k]; }, scores, best);
}

RM_CLONES Index second_of_pair(Index n, const double* y, Index i, const double* Gi, const double* diagonal,
                               const double* down, const double* f, double* scores) {
    const double top = f[i], own = diagonal[i], twice = 2.0 * y[i];
    auto gain = [=](Index k) {
        const double slope = down[k] * (top > f[k] ? top - f[k] : 0.0);
        const double curvature = own + diagonal[k] - twice * y[k] * Gi[k], flat = kFlatPair * (own + diagonal[k]);
        return slope * slope / (curvature > flat ? curvature : flat);
    };
    double best = 0;
    const Index place = largest(n, gain, scores, best);
    return best > 0 ? place : -1;
}

RM_CLONES double between_pairs(Index n, const double* f, const double* up, const double* down) {
    double most = -HUGE_VAL, least = HUGE_VAL;
#pragma omp simd reduction(max : most) reduction(min : least)
    for (Index k = 0; k < n; ++k) {
        const double high = f[k] + up[k], low = down[k] > 0.0 ? f[k] : HUGE_VAL;
        most = high > most ? high : most;
        least = low < least ? low : least;
    }
    return std::isfinite(most) && std::isfinite(least) ? 0.5 * (most + least) : 0.0;
}

RM_CLONES double pair_gap(Index n, const double* y, const double* t, const double* c, const double* alpha, const double* f,
                         double b) {
    double total = 0, square = 0, loss = 0;
#pragma omp simd reduction(+ : total, square, loss)
    for (Index k = 0; k < n; ++k) {
        const double z = y[k] * (f[k] - b);
        total += t[k] * alpha[k];
        square += alpha[k] * (t[k] - y[k] * f[k]);
        loss += c[k] * (z > 0.0 ? z : 0.0);
    }
    return (square + loss - total) / (0.5 * square + loss);
}

RM_CLONES_256 bool cholesky(double* H, Index D) {
    for (Index k = 0; k < D; ++k) {
        double* column = H + k * D;
        if (!(column[k] > 0.0) || !std::isfinite(column[k])) return false;
        const double pivot = std::sqrt(column[k]);
        const double inverse = 1.0 / pivot;
        column[k] = pivot;
#pragma omp simd
        for (Index i = k + 1; i < D; ++i) column[i] *= inverse;
        for (Index j = k + 1; j < D; ++j) {
            double* target = H + j * D;
            const double factor = column[j];
#pragma omp simd
            for (Index i = j; i < D; ++i) target[i] -= factor * column[i];
        }
    }
    return true;
}

RM_CLONES_256 void cholesky_solve(const double* L, Index D, double* x) {
    for (Index k = 0; k < D; ++k) {
        const double* column = L + k * D;
        x[k] /= column[k];
        const double xk = x[k];
#pragma omp simd
        for (Index i = k + 1; i < D; ++i) x[i] -= xk * column[i];
    }
    for (Index k = D - 1; k >= 0; --k) {
        const double* column = L + k * D;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (Index i = k + 1; i < D; ++i) sum += column[i] * x[i];
        x[k] = (x[k] - sum) / column[k];
    }
}

}  // namespace rm
