// Which form of rows, which method, and when to fall back: every such decision, and every number that it depends on.
//
// Times are of one thread of a Xeon at 2.8 GHz with AVX-512 (benchmarks/hinge.py, and the same problems with one number
// changed); a number stands where both sides of it were within a few per cent of each other.
#pragma once
#include <algorithm>
#include <cmath>

#include "rows/contract.hpp"

namespace rm::strategy {

// -- Forms of rows ------------------------------------------------------------------------------------------------------

// Features from which Gram matrices and factors are left to the BLAS. Below, a call of it costs more than the loops of
// Columns, which are twice as fast at 20 features, equal at about 48, and half as fast at 100.
constexpr Index kBlasFrom = 48;
inline bool in_columns(Index d) { return d < kBlasFrom; }

// -- Many rows: sifting -------------------------------------------------------------------------------------------------

// Rows per coefficient below which too few multipliers can be fixed: at 300, where half of all rows can be, it takes as long
// as to solve directly; at 1e5 x 20 a fifth of that.
constexpr Index kSiftingRatio = 300;
template <class Rows>
bool sift(Index n, Index D) {
    return CanPick<Rows> && n >= kSiftingRatio * D;
}
// The sample: 50 rows per coefficient leave the margins of the others uncertain by a third of their spread; with fewer more
// rows stay free, with more the sample costs more than it saves. The second bound matters for few features only.
inline Index sample_size(Index n, Index D) { return std::max<Index>(50 * D, static_cast<Index>(15 * std::sqrt(double(n)))); }
constexpr double kSampleTol = 3e-2;  // of the sample's solution, whose statistical error is larger
constexpr int kSampleSteps = 100;    // about 15 are usual: a sample that takes more is as hard as all rows
// Share of rows that may stay free (3 of 5), and rounds of freeing more of them (2 or 3 are usual), past which all rows at
// once are quicker.
inline bool too_many_free(Index free, Index n) { return free * 5 > n * 3; }
constexpr int kSiftingRounds = 12;

// -- Few rows: their inner products -------------------------------------------------------------------------------------

// Newton's method in coordinates of the rows. With fewer rows than features it is the smaller problem in every respect;
// with up to three times as many rows (five where pairs alone will do) pairs of rows make up for it, but for a dense
// regulariser, whose inner products are dear. G takes 128 MiB at kRowSpaceRows; the cube of the band is then too much.
constexpr Index kRowSpaceRows = 4096;
constexpr double kNear = 1e-3;  // relative gap from which Newton's steps get on faster than pairs of rows
constexpr int kSweeps = 10;     // over pairs: problems that take more (a large C) take hundreds, Newton about 30 steps
template <class Rows>
bool in_row_space(Index n, Index d, bool dense_regularizer, double tol) {
    if (!CanRowGram<Rows>) return false;
    if (!CanGram<Rows> || d > n) return true;
    if (dense_regularizer || n > kRowSpaceRows) return false;
    return n <= (tol >= kNear ? 5 : 3) * d;
}

// -- When a method gets nowhere -----------------------------------------------------------------------------------------

// Newton has never needed more steps on a problem it can solve; past them the interior point is the cheaper bet.
constexpr int kNewtonSteps = 200;
// Iterations of the interior point without progress; good runs have had up to six, and stalled ones never recover.
constexpr int kPatience = 10;
// The interior point factors a matrix of all coefficients, which is out of the question where these outnumber the rows and
// inner products were used instead.
template <class Rows>
bool interior_point(Index n, Index d, bool by_rows) {
    return CanGram<Rows> && (d <= n || !by_rows);
}
// Principal axes need all eigenvectors of the smaller side, in one call that cannot be interrupted (a second at 1000), and
// dense rows, twice (1.6 GB).
constexpr Index kMostAxes = 1000;
constexpr double kAxesNumbers = 1e8;
template <class Rows>
bool principal_axes(Index n, Index d) {
    const Index axes = CanCopy<Rows> ? std::min(n, d) : n;
    return axes <= kMostAxes && double(n) * double(axes) <= kAxesNumbers;
}

// -- What is returned ---------------------------------------------------------------------------------------------------

// Share of the tolerance that moving the intercept to the caller's origin may cost unseen. Where it may cost more, the
// objective is evaluated on the caller's rows (5 to 10 % of a warm fit of 500 x 20).
constexpr double kUnseen = 0.01;
// Where what is returned misses the tolerance that was reached at our origin, it is tightened by this factor, twice.
constexpr double kTighten = 0.3;
constexpr int kTightened = 2;
// Rows up to which a flat part of the loss in the intercept is looked for: between more there is no room worth a pass.
constexpr Index kCentredRows = 10000;

}  // namespace rm::strategy
