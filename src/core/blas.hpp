// The BLAS and LAPACK that SciPy already carries, reached through its Cython capsules: nothing to link.
#pragma once
#include <algorithm>
#include <vector>

#include "strategy.hpp"

namespace rm::blas {

using Dsyrk = void (*)(char*, char*, int*, int*, double*, double*, int*, double*, double*, int*);
using Dgemm = void (*)(char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);
using Dpotrf = void (*)(char*, int*, double*, int*, int*);
using Dsyev = void (*)(char*, char*, int*, double*, int*, double*, double*, int*, int*);

inline Dsyrk dsyrk = nullptr;
inline Dgemm dgemm = nullptr;
inline Dpotrf dpotrf = nullptr;
inline Dsyev dsyev = nullptr;

// Lower triangle of A A' for a column-major D x m matrix A.
inline void outer_gram(double* A, Index D, Index m, double* H) {
    char lower = 'L', no = 'N';
    int n = static_cast<int>(D), k = static_cast<int>(m);
    double one = 1.0, zero = 0.0;
    dsyrk(&lower, &no, &n, &k, &one, A, &n, &zero, H, &n);
}

// Lower triangle of A'A for a column-major D x m matrix A, into columns of `stride` numbers.
inline void inner_gram(double* A, Index D, Index m, double* H, Index stride) {
    char lower = 'L', yes = 'T';
    int n = static_cast<int>(m), k = static_cast<int>(D), to = static_cast<int>(stride);
    double one = 1.0, zero = 0.0;
    dsyrk(&lower, &yes, &n, &k, &one, A, &k, &zero, H, &to);
}

// A'B for column-major A (D x m) and B (D x k), into columns of `stride` numbers.
inline void products(double* A, Index m, double* B, Index k, Index D, double* out, Index stride) {
    char yes = 'T', no = 'N';
    int rows = static_cast<int>(m), columns = static_cast<int>(k), inner = static_cast<int>(D), to = static_cast<int>(stride);
    double one = 1.0, zero = 0.0;
    dgemm(&yes, &no, &rows, &columns, &inner, &one, A, &inner, B, &inner, &zero, out, &to);
}

// The lower triangle of A'A, some columns at a time: of some thousand, one call would hold up an interrupt for seconds.
template <class Poll>
void inner_gram_in_blocks(double* A, Index D, Index m, double* H, const Poll& poll) {
    constexpr Index kBlock = 256;
    for (Index first = 0; first < m; first += kBlock) {
        const Index count = std::min(kBlock, m - first), next = first + count;
        inner_gram(A + first * D, D, count, H + first * m + first, m);
        if (next < m) products(A + next * D, m - next, A + first * D, count, D, H + first * m + next, m);
        if (poll) poll();
    }
}

inline bool factorise(double* H, Index D) {
    if (D <= strategy::kBlasFrom || dpotrf == nullptr) return cholesky(H, D);
    char lower = 'L';
    int n = static_cast<int>(D), info = 0;
    dpotrf(&lower, &n, H, &n, &info);
    return info == 0;
}

// A D x D matrix, given by its lower triangle, becomes its eigenvectors (columns), by increasing eigenvalues; false if they
// were not found.
inline bool eigenvectors(double* A, Index D, std::vector<double>& values) {
    char vectors = 'V', lower = 'L';
    int n = static_cast<int>(D), info = 0, size = -1;
    double best = 0;
    values.resize(D);
    dsyev(&vectors, &lower, &n, A, &n, values.data(), &best, &size, &info);
    size = static_cast<int>(best);
    std::vector<double> work(size);
    dsyev(&vectors, &lower, &n, A, &n, values.data(), work.data(), &size, &info);
    return info == 0;
}

// V'A for column-major V (D x D) and A (D x m).
inline void rotate(double* V, Index D, double* A, Index m, double* out) {
    char yes = 'T', no = 'N';
    int n = static_cast<int>(D), k = static_cast<int>(m);
    double one = 1.0, zero = 0.0;
    dgemm(&yes, &no, &n, &k, &n, &one, V, &n, A, &n, &zero, out, &n);
}

}  // namespace rm::blas
