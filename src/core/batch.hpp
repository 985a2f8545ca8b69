// Many problems on the rows of one caller: threads take one after the other.
#pragma once
#include <variant>

#include "labels.hpp"
#include "problem.hpp"
#include "rows/dense.hpp"
#include "rows/sparse.hpp"

namespace rm {

using Source = std::variant<DenseArray, SparseArray>;

// R functions 1/2 w'Bw - q'w + constant; what is null is the identity or zero.
struct Quadratics {
    const double *matrices, *linear, *constants;
    bool dense;  // matrices, not diagonals
};

// Problem p takes subset cells[3p] (all rows where there are none), labelling cells[3p + 1] and regulariser
// cells[3p + 2].
struct Batch {
    Source source;
    Labels labels;
    const double *weights, *Cs;
    Index n_Cs;
    Quadratics regularizers;
    std::vector<Subset> subsets;
    const std::int64_t* cells;
    Index size;
    bool intercept;

    Index n() const {
        return std::visit([](const auto& rows) { return rows.n; }, source);
    }
    Index d() const {
        return std::visit([](const auto& rows) { return rows.d; }, source);
    }
};

// One row per problem; what is null is not given.
struct Start {
    const double *theta, *alpha;
};

// Arrays with a first axis over problems and a second over Cs; alpha is null where it is not kept.
struct Outputs {
    double *coef, *intercept, *objective, *dual_objective, *alpha;
    std::int64_t *n_iter, *solver;  // solver: the place of the method's name, see solver_code
};

// `options.poll` is called by the calling thread only. Throws std::invalid_argument where the numbers do not make sense.
void solve_batch(const Batch& batch, const Options& options, int n_threads, const Start& start, const Outputs& out);

}  // namespace rm
