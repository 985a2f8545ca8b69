// Newton's step for the multipliers between their bounds: where pairs creep, on kernels that are nearly singular, one
// factorisation of the block of K between these rows finishes.
#pragma once
#include <cmath>

#include "blas.hpp"
#include "regularizer.hpp"

namespace rm {

// Maximises f'x - 1/2 x'Kx over -down <= x <= up (and sum x = 0, with an intercept): the step without the bounds, and the
// best of its projections on them. K (m x m) is lost. Empty if nothing is gained.
class FreeRows {
  public:
    FreeRows(Vector K, Vector f, Vector down, Vector up, bool intercept)
        : m_(Index(f.size())), K_(std::move(K)), f_(std::move(f)), down_(std::move(down)), up_(std::move(up)),
          intercept_(intercept) {}

    Vector step() const {
        const Vector direction = newton_direction();
        if (direction.empty()) return {};
        Vector best;
        double most = 0.0, length = 1.0;
        for (int k = 0; k < kLengths; ++k, length *= 0.5) consider(projected(direction, length), best, most);
        consider(scaled(direction, longest(direction)), best, most);
        return best;
    }

  private:
    static constexpr int kLengths = 6;
    static constexpr double kRidge = 1e-11;  // relative to the largest diagonal entry

    Vector newton_direction() const {
        Vector L = K_, u = f_, w(m_, 1.0);
        double largest = 0;
        for (Index i = 0; i < m_; ++i) largest = std::max(largest, K_[i * m_ + i]);
        for (Index i = 0; i < m_; ++i) L[i * m_ + i] += kRidge * largest;
        if (!blas::factorise(L.data(), m_)) return {};
        cholesky_solve(L.data(), m_, u.data());
        if (!intercept_) return u;
        cholesky_solve(L.data(), m_, w.data());
        double total = 0, weight = 0;
        for (Index i = 0; i < m_; ++i) total += u[i], weight += w[i];
        axpy(m_, -total / weight, w.data(), u.data());
        return u;
    }

    static Vector scaled(Vector x, double t) {
        for (double& xi : x) xi *= t;
        return x;
    }
    double longest(const Vector& x) const {
        double t = 1.0;
        for (Index i = 0; i < m_; ++i)
            if (x[i] != 0.0) t = std::min(t, (x[i] > 0 ? up_[i] : down_[i]) / std::abs(x[i]));
        return t;
    }

    // clip(t x + shift), the shift such that the sum is zero.
    Vector projected(const Vector& x, double t) const {
        double low = 0, high = 0;
        if (intercept_)
            for (Index i = 0; i < m_; ++i)
                low = std::min(low, -t * x[i] - down_[i]), high = std::max(high, -t * x[i] + up_[i]);
        Vector out(m_);
        auto sum_at = [&](double shift) {
            double sum = 0;
            for (Index i = 0; i < m_; ++i) sum += out[i] = std::min(up_[i], std::max(-down_[i], t * x[i] + shift));
            return sum;
        };
        for (int k = 0; k < 60 && high > low; ++k) {
            const double shift = 0.5 * (low + high);
            (sum_at(shift) > 0 ? high : low) = shift;
        }
        const double rest = sum_at(0.5 * (low + high));
        if (!intercept_) return out;
        for (Index i = 0; i < m_; ++i) {  // rounding of the search
            const double moved = out[i] - rest;
            if (moved >= -down_[i] && moved <= up_[i]) return out[i] = moved, out;
        }
        return {};
    }

    void consider(Vector x, Vector& best, double& most) const {
        if (x.empty()) return;
        Vector Kx(m_);
        columns_times(K_.data(), m_, m_, m_, x.data(), Kx.data());
        const double gain = dot(m_, f_.data(), x.data()) - 0.5 * dot(m_, x.data(), Kx.data());
        if (gain > most) most = gain, best = std::move(x);
    }

    Index m_;
    Vector K_, f_, down_, up_;
    bool intercept_;
};

}  // namespace rm
