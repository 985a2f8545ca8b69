// Rows known by their inner products only, as those of a kernel are.
//
// A separator is w = X'v in the signed and centred rows X, and theta = (v, b), so that d = n: everything follows from
// G = XX', and no features are needed.
#pragma once
#include <algorithm>
#include <cmath>

#include "rows/source.hpp"

namespace rm {

// The upper triangle of a symmetric matrix from its lower one, in blocks that stay in cache.
inline void mirror(double* H, Index n) {
    constexpr Index kBlock = 64;
    for (Index J = 0; J < n; J += kBlock)
        for (Index I = J; I < n; I += kBlock)
            for (Index j = J; j < std::min(J + kBlock, n); ++j)
                for (Index i = std::max(I, j + 1); i < std::min(I + kBlock, n); ++i) H[i * n + j] = H[j * n + i];
}

// From the inner products K (n_K x n_K, at any origin) of rows of which J are wanted to those of the centred and signed
// ones; `means` becomes the inner products of the rows J with their mean.
inline Vector centred_gram(const double* K, Index n_K, const std::vector<Index>& J, const double* y, Vector& means) {
    const Index n = static_cast<Index>(J.size());
    Vector G(static_cast<std::size_t>(n) * n);
    means.assign(n, 0.0);
    for (Index i = 0; i < n; ++i) {
        const double* row = K + J[i] * n_K;
        for (Index j = 0; j < n; ++j) means[j] += G[i * n + j] = row[J[j]];
    }
    double mean = 0;
    for (auto& m : means) mean += (m /= double(n)) / double(n);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) G[i * n + j] = y[i] * y[j] * (G[i * n + j] - means[i] - means[j] + mean);
    return G;
}

// The same where rows are centred only with an intercept.
inline Vector signed_gram(const double* K, Index n, const std::vector<Index>& J, const double* y, bool centred) {
    Vector means;
    if (centred) return centred_gram(K, n, J, y, means);
    Vector G(K, K + n * n);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) G[i * n + j] *= y[i] * y[j];
    return G;
}

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
    // v'Gv, where Gv is what the margins z = 1 - Gv - yb are made of.
    double squared_norm(const Regularizer&, const Vector& theta, const Vector& z) const {
        const double b = intercept_ ? theta[n_] : 0.0;
        double sum = 0;
        for (Index i = 0; i < n_; ++i) sum += theta[i] * (1.0 - z[i] - y_[i] * b);
        return sum;
    }
    double squared_dual_norm(const Regularizer&, const double* g) const {
        Vector Gg(n_);
        columns_times(G_.data(), n_, n_, n_, g, Gg.data());
        return dot(n_, g, Gg.data());
    }
    const Vector& row_gram(const Regularizer&, const Poll&) const { return G_; }

    // Coefficients of the rows as the caller knows them, to be added to `out`.
    Move put_back(const std::vector<Index>& J, const Vector& theta, double* out) const {
        const double mean = dot(n_, y_.data(), theta.data()) / double(n_);
        Move move;
        for (Index i = 0; i < n_; ++i) {
            const double coefficient = y_[i] * theta[i] - mean;
            out[J[i]] += coefficient;  // a row may be there twice
            move.shift += means_[i] * coefficient, move.size += std::abs(means_[i] * coefficient);
        }
        return move;
    }

  private:
    Index n_;
    bool intercept_;
    const Vector& y_;
    Vector means_, G_;
};

// The caller's inner products.
struct ProductArray {
    const double* products;
    Index n, d;

    double score(Index i, const double* w) const { return dot(n, products + i * n, w); }
    Vector centre(const std::vector<Index>&) const { return {}; }
    template <class F>
    void with_form(const Chosen& chosen, bool, const Poll&, F&& f) const {
        f(InnerProducts(products, n, chosen.J, chosen.y, chosen.intercept));
    }
    static Move put_back(const InnerProducts& form, const std::vector<Index>& J, const Vector&, const Vector& theta,
                         double* out) {
        return form.put_back(J, theta, out);
    }
};

static_assert(IsRows<InnerProducts> && CanRowGram<InnerProducts> && !CanGram<InnerProducts> && !CanCopy<InnerProducts>);

}  // namespace rm
