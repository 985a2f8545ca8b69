// Vectorised loops of the hinge solver. Everything that touches n numbers at a time lives here, so that one
// translation unit can be compiled for several instruction sets.
#pragma once
#include <cmath>
#include <cstddef>

namespace rm {

using Index = std::ptrdiff_t;

// A is stored feature-major: column k starts at A + k * ld.
void columns_times(const double* A, Index ld, Index n, Index D, const double* x, double* out);
void columns_transposed_times(const double* A, Index ld, Index n, Index D, const double* v, double* out);

constexpr Index kLanes = 8;  // rows of small matrices are padded to whole vectors of this many numbers
inline Index padded(Index m, Index unit = kLanes) { return (m + unit - 1) / unit * unit; }
// Upper triangle (row-major, W numbers a row, the number of rows padded to 4) of sum_{i in J} weights_i r_i r_i', for
// rows r_i of W numbers, D of them in use.
void padded_gram(const double* R, Index W, Index D, const Index* J, Index m, const double* weights, double* H);
// Solves H x = h by Gauss-Jordan elimination, for the upper triangle of a positive definite H as above, whose column D
// holds h; false if H is not positive definite. H is lost. As stable here as a factorisation, and half the latency.
bool eliminate(double* H, Index W, Index D, double* x);

// X is stored row-major: row i starts at X + i * stride.
void rows_times(const double* X, Index stride, Index n, Index d, const double* x, double* out);
void rows_transposed_times(const double* X, Index stride, Index n, Index d, const double* v, double* out);

// out += sum_j weights_j r_{J_j}: some of the rows, d numbers of each.
void add_rows(const double* X, Index stride, Index d, const Index* J, Index m, const double* weights, double* out);

// Sums over the rows that the multiplier step needs at once.
struct MarginSums {
    double loss;             // sum c max(z, 0)
    double multipliers;      // sum c a
    double complementarity;  // sum c (max(z, 0) - a z) >= 0
};
// a = clip(reference + s z, 0, 1) and ca = c a.
MarginSums multiplier_step(Index n, const double* reference, const double* z, double s, const double* c,
                           double* a, double* ca);
// Indices of the band 0 < a < 1; returns how many.
Index band(Index n, const double* a, Index* out);
// Indices at which two vectors differ; returns how many.
Index differences(Index n, const double* a, const double* b, Index* out);
// sum c clip(reference + s (z + t dz), 0, 1) dz: the hinge part of the slope along a direction.
double slope(Index n, const double* reference, const double* z, const double* dz, double s, double t,
             const double* c);
// Sums of multipliers and of the room above them, by label.
struct BoxSums {
    double up, down, room_up, room_down;
};
// Clips alpha to [0, c] first.
BoxSums clip_to_box(Index n, const double* y, const double* c, double* alpha);
// Multiplies the multipliers of one label by `scale`, and fills a share of the room of those of the other.
void shift_in_box(Index n, const double* y, double label, double scale, double fill, const double* c, double* alpha);
double hinge_loss(Index n, const double* c, const double* z);  // sum c max(z, 0)
double dot(Index n, const double* a, const double* b);
// y + rest += t x, and sum + rest += a'b, in which no sum is rounded (only products and the rests are).
void compensated_axpy(Index n, double t, const double* x, double* y, double* rest);
void compensated_dot(Index n, const double* a, const double* b, double& sum, double& rest);
// The same with exact products: as if in twice the digits.
void exact_axpy(Index n, double t, const double* x, double* y, double* rest);
void exact_dot(Index n, const double* a, const double* b, double& sum, double& rest);
// A sum of such numbers, one after the other.
struct TwiceDouble {
    double sum = 0.0, rest = 0.0;
    void add(double x) {  // Knuth's exact sum of two numbers
        const double next = sum + x, added = next - sum;
        rest += (sum - (next - added)) + (x - added);
        sum = next;
    }
    void add_product(double a, double b) {
        const double product = a * b;
        rest += std::fma(a, b, -product);
        add(product);
    }
    double value() const { return sum + rest; }
};
void keep_largest(Index n, const double* x, double* largest);  // largest = max(largest, |x|)
void axpy(Index n, double t, const double* x, double* y);
void scaled_axpy(Index n, double t, const double* s, const double* x, double* y);  // y += t s x

constexpr double kFlatPair = 1e-12;  // relative curvature below which that of a pair of rows is rounding
// A step of the pair of rows i, j: alpha_i grew by t and alpha_j by u; Gi and Gj are their inner products with all.
struct PairStep {
    const double *Gi, *Gj;
    double t, u;
};
// f -= y (t Gi + u Gj); returns where f + up is largest. `scores` has room for n numbers, here and below.
Index first_of_pair(Index n, const double* y, const PairStep& step, const double* up, double* f, double* scores);
// Where a step with i gains most, (f_i - f_j)^2 over the curvature, among those with f_j < f_i and down = 1; -1 if there
// is none.
Index second_of_pair(Index n, const double* y, Index i, const double* Gi, const double* diagonal, const double* down,
                     const double* f, double* scores);
// The middle between the largest f + up and the smallest f with down = 1; zero if either set is empty.
double between_pairs(Index n, const double* f, const double* up, const double* down);
// The relative gap of alpha with f = y (t - G alpha) and the separator that it gives with the intercept b.
double pair_gap(Index n, const double* y, const double* t, const double* c, const double* alpha, const double* f, double b);

// In-place Cholesky of the lower triangle of a column-major D x D matrix; false if not positive definite.
bool cholesky(double* H, Index D);
void cholesky_solve(const double* L, Index D, double* x);

}  // namespace rm
