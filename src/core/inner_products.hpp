// Rows known by their inner products only, as those of a kernel are.
//
// A separator is w = X'v in the signed and centred rows X, and theta = (v, b), so that d = n: everything follows from
// G = XX', and no features are needed.
#pragma once
#include "problem.hpp"

namespace rm {

class InnerProducts {
  public:
    // The rows J of those whose inner products, at any origin, are K (n_K x n_K).
    InnerProducts(const double* K, Index n_K, const std::vector<Index>& J, const Vector& y, bool intercept)
        : n_(static_cast<Index>(J.size())), intercept_(intercept), y_(y), G_(centred_gram(K, n_K, J, y.data(), means_)) {}
    InnerProducts(const InnerProducts&) = delete;

    Index n() const { return n_; }
    Index d() const { return n_; }
    Index D() const { return n_ + intercept_; }
    void times(const double* theta, double* out) const {
        columns_times(G_.data(), n_, n_, n_, theta, out);
        if (intercept_) axpy(n_, theta[n_], y_.data(), out);
    }
    void transposed_times(const double* v, double* out) const {
        std::copy_n(v, n_, out);
        if (intercept_) out[n_] = dot(n_, y_.data(), v);
    }
    static constexpr bool has_row_gram() { return true; }
    const Vector& row_gram(const Regularizer&) const { return G_; }

    // Coefficients of the rows as the caller knows them, and what his intercept is then short of b: a sum of terms of
    // which `moved` becomes the sum of sizes.
    double coefficients(const Vector& theta, Vector& out, double& moved) const {
        const double mean = dot(n_, y_.data(), theta.data()) / double(n_);
        out.resize(n_);
        for (Index i = 0; i < n_; ++i) out[i] = y_[i] * theta[i] - mean;
        for (Index i = 0; i < n_; ++i) moved += std::abs(means_[i] * out[i]);
        return dot(n_, means_.data(), out.data());
    }

  private:
    Index n_;
    bool intercept_;
    const Vector& y_;
    Vector means_, G_;
};

// As for any other rows, in their inner products.
inline bool certify(const Problem<InnerProducts>& problem, const Vector& theta, Vector alpha, Solution& best) {
    const Index n = problem.n();
    double dual;
    if (!balance(problem, alpha, dual)) return false;
    Vector z(n), g(n);
    const double* G = problem.A.row_gram(problem.B).data();
    columns_times(G, n, n, n, theta.data(), z.data());
    columns_times(G, n, n, n, alpha.data(), g.data());
    double primal = 0.5 * dot(n, theta.data(), z.data());
    dual -= 0.5 * dot(n, alpha.data(), g.data());
    const double b = problem.intercept() ? theta[n] : 0.0;
    for (Index i = 0; i < n; ++i) z[i] = 1.0 - z[i] - problem.y[i] * b;
    primal += hinge_loss(n, problem.c, z.data());
    keep_better(theta, primal, std::move(alpha), dual, best);
    return true;
}

}  // namespace rm
