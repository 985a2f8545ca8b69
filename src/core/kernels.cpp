#include "kernels.hpp"

#include <algorithm>
#include <cmath>

#include "clones.hpp"

namespace rm {
namespace {
constexpr Index kBlock = 512;  // rows of a block: its partial results stay in the first-level cache
}

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

RM_CLONES void columns_gram(const double* A, Index ld, Index n, Index D, double* H) {
    for (Index k = 0; k < D; ++k) std::fill(H + k * D + k, H + (k + 1) * D, 0.0);
    for (Index start = 0; start < n; start += kBlock) {
        const Index m = std::min(kBlock, n - start);
        // Tiles of 4 x 4 columns: eight loads feed sixteen products. Past the last column a tile repeats it.
        for (Index k = 0; k < D; k += 4) {
            const double* u[4];
            for (Index p = 0; p < 4; ++p) u[p] = A + std::min(k + p, D - 1) * ld + start;
            for (Index l = k; l < D; l += 4) {
                const double* v[4];
                for (Index q = 0; q < 4; ++q) v[q] = A + std::min(l + q, D - 1) * ld + start;
                const double *u0 = u[0], *u1 = u[1], *u2 = u[2], *u3 = u[3];
                const double *v0 = v[0], *v1 = v[1], *v2 = v[2], *v3 = v[3];
                double s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
                double s20 = 0, s21 = 0, s22 = 0, s23 = 0, s30 = 0, s31 = 0, s32 = 0, s33 = 0;
#pragma omp simd reduction(+ : s00, s01, s02, s03, s10, s11, s12, s13, s20, s21, s22, s23, s30, s31, s32, s33)
                for (Index i = 0; i < m; ++i) {
                    s00 += u0[i] * v0[i], s01 += u0[i] * v1[i], s02 += u0[i] * v2[i], s03 += u0[i] * v3[i];
                    s10 += u1[i] * v0[i], s11 += u1[i] * v1[i], s12 += u1[i] * v2[i], s13 += u1[i] * v3[i];
                    s20 += u2[i] * v0[i], s21 += u2[i] * v1[i], s22 += u2[i] * v2[i], s23 += u2[i] * v3[i];
                    s30 += u3[i] * v0[i], s31 += u3[i] * v1[i], s32 += u3[i] * v2[i], s33 += u3[i] * v3[i];
                }
                const double sums[4][4] = {
                    {s00, s01, s02, s03}, {s10, s11, s12, s13}, {s20, s21, s22, s23}, {s30, s31, s32, s33}};
                for (Index p = 0; p < 4 && k + p < D; ++p)
                    for (Index q = 0; q < 4 && l + q < D; ++q)
                        if (l + q >= k + p) H[(k + p) * D + l + q] += sums[p][q];
            }
        }
    }
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

Index band(Index n, const double* a, Index* out) {
    Index m = 0;
    for (Index i = 0; i < n; ++i) {
        out[m] = i;
        m += (a[i] > 0.0) & (a[i] < 1.0);
    }
    return m;
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

RM_CLONES double dot(Index n, const double* a, const double* b) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

RM_CLONES void axpy(Index n, double t, const double* x, double* y) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) y[i] += t * x[i];
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
