// Kernel matrices that are a function of a distance, in one fused loop: distances, exponential and store.
#pragma once
#include "loops/vector.hpp"

namespace rm {

enum class Distance { squared, absolute };  // |x - y|^2 of the Gaussian kernel, |x - y|_1 of the Laplacian one

// out (n x m, row-major) = exp(-gamma distance(x_i, y_j)) for row-major X (n x d) and Y (m x d).
void exponential_kernel(Distance distance, const double* X, Index n, const double* Y, Index m, Index d,
                        double gamma, double* out);
// The same with Y = X: half of the work, and exactly symmetric.
void exponential_gram(Distance distance, const double* X, Index n, Index d, double gamma, double* out);

}  // namespace rm
