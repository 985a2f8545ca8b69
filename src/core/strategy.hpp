// Which form of rows, which method, and when to fall back: every such decision, and every number that it depends on.
//
// Times are CPU times of one thread (AMD EPYC, AVX-512) on ringnorm at C = 1 and a tolerance of 1e-6, in
// interleaved runs of two builds that differ in the one number; what was not measured has a reason only.
#pragma once
#include <algorithm>
#include <cmath>

#include "loops/vector.hpp"

namespace rm {

// What a form of rows can do beyond products with vectors; see rows/contract.hpp.
struct Abilities {
    bool row_gram, sparse;
};

}  // namespace rm

namespace rm::strategy {

// -- Forms of rows ------------------------------------------------------------------------------------------------------

// Features from which Gram matrices, and size from which factors, are left to the BLAS. Our own loops (Columns) take 0.7 of
// its time at 10 and 20 features, 0.85 at 48, and 1.1 at 64 (300 and 2,000 rows).
constexpr Index kBlasFrom = 48;
inline bool in_columns(Index d) { return d < kBlasFrom; }
// Rows that their middle is taken of: any point near it serves to centre them.
constexpr Index kCentreSample = 31;

// -- Many rows: sifting -------------------------------------------------------------------------------------------------

// Rows per coefficient from which it pays: it takes 1.45 of the time of solving directly at 30, 1.15 at 100, 1.0 at 300, 0.6 at
// 1,000 and 0.27 at 4,000 (20 features).
constexpr Index kSiftingRatio = 300;
// On a path over C the solution before starts the next. Samples then take 1.4 of the time of solving all rows directly at 1,000,
// about as much at 3,000 (0.5 where few rows are near the margin, 1.9 where many are), and 0.8 to 1 at 14,000. Starting samples from
// the multipliers before takes several times the steps of starting from none, and fixing rows by the solution before 1.1 to 1.4
// of the time of solving directly.
constexpr Index kSiftingRatioOnPath = 6000;
inline bool sift_by_sample(Index n, Index D, bool on_path) { return n >= (on_path ? kSiftingRatioOnPath : kSiftingRatio) * D; }
// Numbers up to which rows of few features are copied into columns for a path, where each step then takes 0.8 of the time at 5
// features and as much at 20; of more numbers the copy is slower than the caller's array (0.75 of the time at 300,000 x 20).
constexpr Index kMostCopied = 1 << 21;
inline bool leave_as_given(Index n, Index D, bool on_path) { return on_path ? n * D > kMostCopied : sift_by_sample(n, D, false); }
// The sample: with fewer rows per coefficient more of the others stay free, with more it costs more than it saves. The
// second bound matters for few features only.
inline Index sample_size(Index n, Index D) { return std::max<Index>(50 * D, static_cast<Index>(15 * std::sqrt(double(n)))); }
constexpr double kSampleTol = 3e-2;  // of the sample's solution, whose statistical error is larger
constexpr int kSampleSteps = 100;    // one that takes more is as hard as all rows
// Share of rows that may stay free (3 of 5), and rounds of freeing more of them, past which all rows at once are the
// cheaper bet.
inline bool too_many_free(Index free, Index n) { return free * 5 > n * 3; }
constexpr int kSiftingRounds = 12;
// With fewer rows the guide is all of them to a rough tolerance. A path of ten Cs takes 0.6 to 0.8 of the time of solving directly
// at 60 features (2,300 and 10,000 rows, 1e-6 and 1e-7), 0.9 to 1 at 20, and 1.1 to 1.6 at 8 or to 1e-4; so do many rows of few
// features. A rough tolerance of 1e-2 is as good, 1e-3 takes 1.07 of the time, a fifth of the rows 1.09, a twelfth 1.02, five times
// the distance 1.05.
constexpr double kRough = 3e-3;
constexpr Index kRoughRatio = 10, kRoughFrom = 20, kRoughNumbers = 1 << 13;
inline bool sift_by_rough(Index n, Index D, double tol) {
    if (n < kRoughRatio * D || n * D < kRoughNumbers || tol > 1e-3 * kRough) return false;
    return D >= (n >= kSiftingRatio * D ? kBlasFrom : kRoughFrom);
}
inline Index rows_left(Index n, Index D) { return std::max<Index>(5 * D, n / 8); }
constexpr double kNoDistance = 0.02;  // of the spread of margins

constexpr Index kRowSpaceRows = 4096;  // most rows whose inner products are formed: they take 128 MiB

// -- Many features: coordinate descent ----------------------------------------------------------------------------------

// Features from which one multiplier is moved after the other before anything d x d is formed. Of dense rows a fit then takes a
// third of the time at a small C (5,000 x 673 pixels, 0.001), and as much at a larger one; with 250 and 300 features 1.1 to 1.35
// times as much.
constexpr Index kManyFeatures = 400;
inline bool visit(Index d) { return d >= kManyFeatures; }
// From multipliers of the C before Newton's steps in dense rows get on faster: a path takes 0.6 of the time (5,000 x 673).
inline bool visit_from(const Abilities& rows, bool warm) { return rows.sparse || !warm; }
inline bool sift(Index n, Index D, double tol, bool on_path) {
    return sift_by_sample(n, D, on_path) || (sift_by_rough(n, D, tol) && !visit(D));
}
// Dense rows of which at most this share is not zero (pixels, one-hot columns) are visited in a sparse copy, which takes less than
// half of their room; as many rows tell.
constexpr double kMostStored = 0.3;
constexpr Index kDensitySample = 64;
inline bool mostly_zeros(double stored) { return stored <= kMostStored; }
// Coefficients up to which Newton's matrix is formed where visits do not get there: it takes 512 MiB.
constexpr Index kMostCoefficients = 8192;
inline bool only_visits(Index n, Index D) { return D > kMostCoefficients && n > kRowSpaceRows; }
// Newton's systems of sparse rows are solved by products with what these store, where the factor of a matrix would take longer: a
// number in a product takes about a hundred times as long as one in a factor, and there are about a hundred products. To 1e-4 that
// takes a fifth of the time at 40,000 (10,000 x 2,000, a random 1 %) and half of it at 8,000 to 10,000 (5,000 x 900 at 2 %, one-hot
// columns); to 1e-6 as much there, and twice as much where these are alike and C is 10.
constexpr double kFactorPerNumber = 8000;
inline bool by_products(const Abilities& rows, Index n, Index D, double stored) {
    if (only_visits(n, D)) return true;
    return rows.sparse && n >= D && double(D) * double(D) * double(D) > kFactorPerNumber * stored;
}
// Multipliers far from their best that are followed closely take more steps than none; but of text, where nearly all rows support the
// separator, fewer (20,000 x 75,813 and 100,000, C = 1 and 10).
constexpr double kNear = 1e-3;  // relative gap from which Newton's steps get on faster than pairs of rows
inline bool is_near(double gap) { return !(gap > 2 * kNear); }  // also where it is not known
inline bool start_closely(Index n, Index D, double gap) { return only_visits(n, D) || is_near(gap); }
// Passes over the rows that are worth it, where another method can take over. A Newton step in dense rows is taken to cost d/50
// passes, ten of them in sparse rows what their matrices and factors take: neither was tuned. Where only products with rows are
// left, conjugate gradients take as long as 100 to 1,000 passes (text, C = 1 and 10, in the units of the data and scaled); they need
// some of the 1,000 iterations of the default.
struct Patience {
    double most;       // passes
    double certain;    // passes after which an expectation of more than that is believed
};
inline Patience patience(const Abilities& rows, Index n, Index d, double stored, int max_iter) {
    if (only_visits(n, d)) return {800, 100};
    const double most = 0.5 * max_iter;  // what takes over needs some of the iterations too
    if (by_products(rows, n, d, stored)) return {std::min(800.0, most), 100};
    if (!rows.sparse) return {std::min(std::max(8.0, double(d) / 25), most), 0};
    const double side = double(std::min(n, d)), per_row = stored / double(n);
    return {std::min(std::max(50.0, 0.75 * per_row + 0.25 * side * side * side / stored), most), 0};
}
// Penalty of the intercept's moves, against the mean square of a row and the square of the mean row, by which all rows are bound
// together already. More binds them more (twice the work at 1, ten times at 10 of the mean square); less lets the intercept swing, or
// crawl, and all the more where all multipliers together are few.
inline double intercept_penalty(double mean_square, double square_of_mean, double weight) {
    return std::max({0.02 * mean_square, 0.3 * square_of_mean, 20.0 / weight});
}
// Rows that the mean row is taken of.
constexpr Index kMeanSample = 500;

// How many rows ahead those of several problems side by side are asked for: they lie anywhere. What a row meets of w is not asked for:
// that takes 1.1 of the time.
constexpr Index kRowsAhead = 3;
// Rows at a bound are shrunk whose slope is beyond this share of the worst in the epoch before. Paths on six texts take
// 0.77 to 0.98 of the passes that they take at 1 (1e-3), and hardly fewer at 0.1.
constexpr double kShrink = 0.2;
// Slopes of multipliers that are wrong by so much, in steps, at which rows that were shrunk are looked at again; what is rounding.
constexpr double kFirstSlack = 0.5, kTighter = 0.5, kRest = 1e-13;
// Passes without a look at the gap; share of the tolerance that an estimate of it must be near to be worth one.
constexpr double kMostUnseen = 20, kHopeful = 1.3;
// Passes after which w is summed anew, and after which rows are searched for contradictions: that costs three of them, and fits
// that need it take thousands otherwise.
constexpr double kDrift = 30, kContradicted = 40;
// By how much the work grows between two estimates that tell how fast the gap falls, and how many of them are trusted.
constexpr double kSpan = 1.5;
constexpr int kSure = 3;
// Rows of a problem, of all, from which it is solved side by side with others that have as many: a row is read once for all of them.
inline bool most_in_common(Index some, Index n) { return 2 * some >= n; }
// Passes over rows that several problems share are cheap: that one of them is slow is believed later (6,000 x 1,000 words in eight
// classes, scaled columns: 3.6 instead of 13.8 s, which are of Newton's method), and not at all where products with rows would follow.
inline Patience together(const Patience& alone, bool by_products) {
    return {alone.most, by_products ? alone.most : std::max(alone.certain, 0.25 * alone.most)};
}
// Several problems side by side go on as long as more than a third of them do; the others are then left to themselves, whose rows
// are shrunk one by one. Ten digits and twenty packages, each against the rest, take 0.6 to 0.8 of the time of one after the other
// to 1e-3 and 0.6 to 1.3 to 1e-6.
inline bool go_on_together(Index live, Index lanes) { return 3 * live > lanes; }
// Conjugate gradients: the residual against that of zero (looser ones cost more in Newton's steps than they spare), and the most
// iterations.
constexpr double kReduction = 1e-2;
constexpr int kConjugateSteps = 300, kMoreConjugateSteps = 3000;  // the latter where Newton's steps stall otherwise

// -- Few rows: their inner products -------------------------------------------------------------------------------------

// Newton's method in coordinates of the rows, after pairs of them. With fewer rows than features it is the smaller problem in
// every respect. Of the time in features a path takes 0.85 at as many rows (600 x 300 0.8), as much at twice as many and 1.2 to 1.5
// times as much at three times (pixels, 1e-3 to 1e-7). A dense regulariser makes inner products dear, and sparse rows Newton's
// matrix cheap. At kRowSpaceRows the cube of the band is too much.
constexpr int kSweeps = 10;     // over pairs: a problem that takes more (a large C) may take hundreds
inline Index pairs_between_looks(Index n) { return std::max<Index>(16, n / 8); }  // at the gap: a look costs about a pair
inline bool in_row_space(const Abilities& rows, Index n, Index d, bool dense_regularizer) {
    if (!rows.row_gram) return false;
    if (d > n && !(rows.sparse && n > kRowSpaceRows)) return true;
    if (rows.sparse || dense_regularizer || n > kRowSpaceRows) return false;
    return n <= 2 * d;
}

// -- Rows of a kernel ---------------------------------------------------------------------------------------------------

// Rows that are computed together: one alone is a pass over all data, which with many features is as slow as memory. Sparse rows
// are laid out side by side, as many as loops/kernel_values.cpp has lanes for; a caller's function is dear to call.
constexpr Index kDearFeatures = 64, kSparseAtOnce = 16, kCalledAtOnce = 32;
inline Index rows_at_once(Index d) { return d < kDearFeatures ? 1 : 24; }
// The most that a kernel value may be off by when distances come from inner products. More makes more rows long, of which
// each costs twice as much; less makes more rows doubtful in single precision, which double precision must decide.
constexpr double kRoundingOfProducts = 1e-4;
// Share of the cache that rows get. The rest is for blocks of K of a working set, which are dropped where it is full: they are
// copies of rows.
constexpr double kShareOfRows = 0.75;
inline double room_for_blocks(double room_for_rows) { return room_for_rows * (1 - kShareOfRows) / kShareOfRows; }

// -- Pairs on rows of a kernel ------------------------------------------------------------------------------------------

// Runs of rows that take part, up to which passes go over these runs alone; beyond, over all rows, those held out masked.
constexpr Index kMostRuns = 32;
// Share of rows that take part (3 of 5) below which they get a block of K of their own, unless they come in few runs.
inline bool few_take_part(Index some, Index n) { return some * 5 <= n * 3; }
// Rows from which shrinking is tried, and the share that must go (two thirds): copies of rows of K must pay. From 800, and where
// a half goes, searches on 1,000 rows take 1.16 times as long, on 2,000 rows 1.08 and single fits 1.1.
constexpr Index kShrinkFrom = 1500;
inline bool worth_shrinking(Index kept, Index n) { return 3 * kept <= n; }
// Pairs between two looks at the gap. Where rows are dear, sooner: those that are awake may have nothing left to do.
inline Index pairs_at_once(Index n, bool dear) { return std::clamp<Index>(n / 8, 64, dear ? 150 : 500); }
// Dear rows sleep until those awake violate optimality by less than this share of what all do; then so many wake that
// violate it most. On MNIST 440 rows are computed instead of 1,120, in half the time; shares of 0.3 to 0.8 are alike.
constexpr double kWakeBelow = 0.5;
// A sample of every so manieth row is solved first where rows are dear, unless it would have too few.
constexpr Index kSampleEvery = 8, kSmallestSample = 200;
constexpr double kLooseSample = 0.02;
// Share of the tolerance that is aimed at in single precision, for what double precision may add to the gap; where it adds more,
// a tighter one is, by this factor.
constexpr double kFirstTarget = 0.9, kTighterTarget = 0.3;
// Sweeps of the working set without the gap halving after which single precision has no more to tell.
constexpr Index kExhaustedSweeps = 40;
inline bool has_come_down(double gap, double best) { return gap < 0.5 * best; }
// Width of the corridor that is rounding of single precision, against the width that it had. At 4e-7 most problems end too, but
// those that stand at 6e-7 (3,300 x 40 at C = 100) take the forty sweeps, five times as long as all before.
constexpr double kRoundingOfPairs = 1e-6;
// Newton's steps on free rows, at most so many, when pairs have had the time of a factorisation and some sweeps; one after the
// other until they have taken so much work.
constexpr Index kMostFree = 2000, kNewtonRepeats = 60, kNewtonSweeps = 5, kRoughSweeps = 15;
constexpr double kNewtonWork = 1e8;
// Where gaps are only estimated, pairs mostly get there alone.
inline bool try_newton(Index pairs, Index free, Index n, bool strict) {
    return pairs >= (strict ? kNewtonSweeps : kRoughSweeps) * n + free * free * free / (4 * n);
}
// A kernel is indefinite, and no interior point serves, where the curvature of a pair is below minus this share of its diagonal,
// more than rounding of kernel values can do, or v'Kv, in double precision, below minus this share of the multipliers.
constexpr double kNegativeCurvature = 1e-4, kNegativeSquare = 1e-8;
// Sweeps after which the interior point takes over, rows up to which it can (its matrices then take 64 MB), its steps, and
// those without the gap or the complementarity falling by a tenth that end it. It goes on to this share of the tolerance, which
// costs a few steps more, so that multipliers can be put at the bounds that they are near.
constexpr Index kInteriorSweeps = 100, kInteriorRows = 2000;
constexpr int kInteriorSteps = 150, kInteriorPatience = 25;
constexpr double kInteriorMargin = 1e-5, kInteriorFall = 0.9;
// Ridges that are tried where its matrix has no factor, against the largest of the diagonal; it ends where one would be the last.
constexpr double kFirstRidge = 1e-14, kLastRidge = 1e-6, kRidgeGrowth = 100;
// A gap bounds scores by its root only. Who asks for a tight one wants scores of several digits, so violations must be small
// too (SVC's tol is about these); so many rounds more are spent on it.
constexpr double kTight = 1e-5, kViolations = 10;
constexpr int kPolishes = 3;
inline double widest_corridor(double tol) { return tol <= kTight ? kViolations * tol : HUGE_VAL; }
// Rounds of certificates in double precision, each from a tighter target of single precision.
constexpr int kCertificates = 30;

// -- Newton's method ---------------------------------------------------------------------------------------------------

// Cold every row starts inside the band: the first step is a ridge regression.
constexpr double kColdPenalty = 0.45, kWarmPenalty = 3.0, kGrowth = 2.5, kLargestPenalty = 1e10;
// The gap is the sum of a residual (the inner problem's) and of complementarity (the multipliers'). The inner loop
// ends when the first no longer dominates the second; looser stalls at large C, tighter only costs steps.
constexpr double kResidualShare = 3.0;
constexpr double kSlopeReduction = 0.1;  // along a step, against that at its beginning

// -- Newton's matrix ----------------------------------------------------------------------------------------------------

// It is formed anew where half of the band's rows have changed, and after so many updates, which leave rounding behind. With
// updates all steps together take 0.85 of the time at 100 features and 0.55 at 300 and 600 (2,000 to 5,000 rows).
constexpr Index kMostUpdates = 20;
inline bool form_anew(Index changed, Index m, Index updates) { return 2 * changed > m || updates >= kMostUpdates; }

// A band of fewer rows than coefficients is solved for in its rows: paths take 0.75 of the time where it mostly is (500 x 100 and
// 1,000 x 300 pixels), and 0.95 to 1 elsewhere. Shares of 0.6 to 0.8 are alike, at 0.4 half of the gain is lost. Inner products of
// twice its rows are kept, as long as these take no more than 128 MiB, or of its rows alone.
inline bool narrow(Index m, Index D) { return m > 0 && 5 * m <= 4 * D; }
// The residual of such a solution that is still a step, against that of none.
constexpr double kInexact = 1e-3;
inline Index kept_rows(Index m) { return std::max<Index>(m, std::min<Index>(2 * m, 4096)); }

// Rows of a narrow band are expected back in it after the multipliers have moved on; those of a wide one have left for good. All
// steps together take 0.9 of the time, and 0.95 of that with this bound (12 sets, 1e-6 and 1e-7; 1.5 to 5 are alike).
inline bool expect_back(Index m, Index D) { return m <= 3 * D; }

// The product of the rows with their multipliers follows those that changed, unless that is more than a third of them: all
// steps together take 0.8 to 0.9 of the time (1,000 to 3,000 rows of 20 and 60 features).
inline bool few_changed(Index changed, Index n) { return 3 * changed <= n; }

// -- When a method gets nowhere -----------------------------------------------------------------------------------------

// Newton has never needed more steps on a problem it can solve; past them the interior point, which takes 20 to 70
// iterations, is the cheaper bet.
constexpr int kNewtonSteps = 200;
// Inner products of rows that are far from the origin, without an intercept, or of sizes far apart, are rounded; coefficients are
// not (140 x 196 about 1e6: a gap of 1 in the rows). So many of them are a matter of seconds.
inline bool after_rows(Index D) { return D <= 1000; }
// Refinements of each step of the interior point. Of 96 problems on curves (singular values from 6e6 down to 20) all reach 1e-6, with
// one 94 and with none 91.
constexpr int kRefinements = 2;
// Iterations of the interior point in which neither the gap, the complementarity nor the dual residual fell by a tenth. Where rounding has
// stopped it, it stands: at a gap of 2.5e-5 from iteration 50 to 1,000 where singular values went from 3e5 down to 0.15.
constexpr int kPatience = 10;
// The interior point factors a matrix of all coefficients, which is out of the question where these outnumber the rows and
// inner products were used instead.
inline bool interior_point(Index n, Index d, bool by_rows) { return d <= n || !by_rows; }
// Principal axes need all eigenvectors of the smaller side, in one call that cannot be interrupted, and dense rows,
// twice (1.6 GB).
constexpr Index kMostAxes = 1000;
constexpr double kAxesNumbers = 1e8;
inline bool principal_axes(Index n, Index d) {
    const Index axes = std::min(n, d);
    return axes <= kMostAxes && double(n) * double(axes) <= kAxesNumbers;
}

// -- What is returned ---------------------------------------------------------------------------------------------------

// Rounding that cannot be seen in a gap, against the tolerance and against the objective. Where there may be more, both objectives are
// evaluated in twice the digits.
constexpr double kUnseen = 0.01, kUnseenOfObjective = 1e-10;
// Numbers, about, that the sizes of features are taken of.
constexpr Index kSizeSample = 1 << 16;
inline Index rows_between_sizes(Index n, Index numbers) { return std::max<Index>(1, n * std::max<Index>(numbers, 1) / kSizeSample); }
// Where what is returned misses the tolerance that was reached at our origin, it is tightened by this factor, twice.
constexpr double kTighten = 0.3;
constexpr int kTightened = 2;
// Rows up to which a flat part of the loss in the intercept is looked for: between more there is no room worth a pass.
constexpr Index kCentredRows = 10000;

}  // namespace rm::strategy
