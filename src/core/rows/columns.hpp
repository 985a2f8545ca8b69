// Dense, centred and signed at construction: the form for few features. Kept feature-major for the products, and once
// more row-major (padded) for Gram matrices of a few rows out of many.
#pragma once
#include <algorithm>
#include <memory>

#include "rows/contract.hpp"

namespace rm {

class Columns {
  public:
    Columns(Index n, Index d, bool intercept)
        : n_(n), d_(d), D_(d + intercept), ld_(padded(n)), width_(padded(D_ + 1)),
          A_(new double[static_cast<std::size_t>(ld_) * D_]), R_(new double[static_cast<std::size_t>(n) * width_]) {}

    Index n() const { return n_; }
    Index d() const { return d_; }
    Index D() const { return D_; }
    void set(Index i, Index k, double value) { A_[k * ld_ + i] = R_[i * width_ + k] = value; }
    void pad(Index i) { std::fill(R_.get() + i * width_ + D_, R_.get() + (i + 1) * width_, 0.0); }

    void times(const double* theta, double* out) const { columns_times(A_.get(), ld_, n_, D_, theta, out); }
    void transposed_times(const double* v, double* out) const {
        columns_transposed_times(A_.get(), ld_, n_, D_, v, out);
    }
    void add_rows(const Index* J, Index m, const double* weights, double* out) const {
        rm::add_rows(R_.get(), width_, D_, J, m, weights, out);
    }
    // A Gram matrix as `eliminate` wants it, with room for the right-hand side: `width` numbers a row.
    Index width() const { return width_; }
    Index padded_size() const { return padded(D_, 4) * width_; }
    void gram_rows(const Index* J, Index m, const double* weights, double* H) const {
        padded_gram(R_.get(), width_, D_, J, m, weights, H);
    }
    void gram(const Index* J, Index m, const double* weights, double* H) const {
        buffer_.resize(padded_size());
        gram_rows(J, m, weights, buffer_.data());
        for (Index k = 0; k < D_; ++k)
            std::copy_n(buffer_.data() + k * width_ + k, D_ - k, H + k * D_ + k);
    }
    void copy_row(Index i, double* out) const { std::copy_n(R_.get() + i * width_, d_, out); }
    template <class F>
    void with_rows(const std::vector<Index>& J, const Poll&, F&& f) const {
        const Index m = static_cast<Index>(J.size());
        Columns some(m, d_, D_ > d_);
        for (Index j = 0; j < m; ++j) std::copy_n(R_.get() + J[j] * width_, width_, some.R_.get() + j * width_);
        for (Index k = 0; k < D_; ++k)
            for (Index j = 0; j < m; ++j) some.A_[k * some.ld_ + j] = A_[k * ld_ + J[j]];
        f(some);
    }
    Columns(Columns&&) = default;
    Columns(const Columns&) = delete;

  private:
    Index n_, d_, D_, ld_, width_;
    std::unique_ptr<double[]> A_, R_;  // not filled with zeros first: that takes as long as filling them
    mutable Vector buffer_;
};

static_assert(IsRows<Columns> && CanAddRows<Columns> && CanPadGram<Columns>);

}  // namespace rm
