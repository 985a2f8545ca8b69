// The interior point for a kernel problem of few rows, on their whole block of K in double precision: where pairs creep and
// free rows are too many to be free, as on kernels of low rank with a large C, 20 to 60 factorisations finish.
//
//   min over a:  1/2 a'Qa - t'a,   0 <= a <= c,   y'a = 0 (with an intercept),   Q = yy' * K
//
// with multipliers z of a >= 0, u of a <= c and b of the sum; Mehrotra's predictor and corrector.
#pragma once
#include "blas.hpp"
#include "methods/kernel_problem.hpp"

namespace rm {

class KernelInteriorPoint {
  public:
    KernelInteriorPoint(KernelProblem& problem, double tol)
        : p_(problem), rows_(problem.taking_part), m_(Index(rows_.size())), tol_(tol), Q_(m_ * m_), y_(m_), t_(m_), c_(m_) {
        std::vector<Index> stored;
        for (Index i : rows_) stored.push_back(p_.stored(i));
        p_.rows.source().block(stored.data(), m_, stored.data(), m_, Q_.data());
        for (Index i = 0; i < m_; ++i) y_[i] = p_.y[rows_[i]], t_[i] = p_.target(rows_[i]), c_[i] = p_.c[rows_[i]];
        for (Index i = 0; i < m_; ++i)
            for (Index j = 0; j < m_; ++j) Q_[i * m_ + j] *= y_[i] * y_[j];
    }

    // Steps until the gap is far below what is asked for, or rounding ends them; the best iterate is kept.
    void solve() {
        begin();
        Vector a = a_, z = z_, u = u_;
        double least = HUGE_VAL, least_mu = HUGE_VAL;
        for (int step = 0, since = 0; step < strategy::kInteriorSteps && since < strategy::kInteriorPatience; ++step, ++since) {
            p_.poll();
            const double gap = relative_gap();
            if (!std::isfinite(mu_)) break;
            if (gap < strategy::kInteriorFall * least || mu_ < strategy::kInteriorFall * least_mu) since = 0;
            least_mu = std::min(least_mu, mu_);
            if (gap < least) least = gap, a = a_, z = z_, u = u_;
            if (gap <= strategy::kInteriorMargin * tol_ || !factorise()) break;
            const Direction predictor = direction(0.0, nullptr);
            const double reach = longest(predictor), centre = std::pow(complementarity(predictor, reach) / mu_, 3.0);
            const Direction both = direction(centre * mu_, &predictor);
            go(both, std::min(1.0, 0.995 * longest(both)));
        }
        a_ = a, z_ = z, u_ = u;
    }

    // The multipliers of the problem become those that were found; at a bound, if asked for, where they are nearer to it than
    // its own multiplier is to zero.
    void hand_over(bool to_bounds) const {
        for (Index i = 0; i < m_; ++i) {
            const double low = a_[i] * scale_, high = (c_[i] - a_[i]) * scale_;
            p_.alpha[rows_[i]] = to_bounds && low < z_[i] ? 0.0 : to_bounds && high < u_[i] ? c_[i] : a_[i];
        }
        p_.update_f();
    }

  private:
    struct Direction {
        Vector a, z, u;
        double b;
    };

    // Every a where its row alone would put it, within its box, balanced between the classes.
    void begin() {
        double largest = 1e-300;
        for (Index i = 0; i < m_; ++i) largest = std::max(largest, Q_[i * m_ + i]);
        scale_ = largest;
        double up = 0, down = 0;
        a_.resize(m_);
        for (Index i = 0; i < m_; ++i) a_[i] = std::min(0.5 * c_[i], 1.0 / largest), (y_[i] > 0 ? up : down) += a_[i];
        if (p_.intercept)
            for (Index i = 0; i < m_; ++i) a_[i] *= std::min(up, down) / (y_[i] > 0 ? up : down);
        z_.assign(m_, 1.0), u_.assign(m_, 1.0), b_ = 0.0;
        measure();
    }

    // Residuals of the three equations, and the mean of what should be zero in products.
    void measure() {
        g_.resize(m_);
        columns_times(Q_.data(), m_, m_, m_, a_.data(), g_.data());
        square_ = dot(m_, a_.data(), g_.data());
        balance_ = mu_ = 0.0;
        for (Index i = 0; i < m_; ++i) {
            g_[i] = t_[i] - g_[i] - b_ * y_[i] + z_[i] - u_[i];
            balance_ += y_[i] * a_[i], mu_ += a_[i] * z_[i] + (c_[i] - a_[i]) * u_[i];
        }
        mu_ /= double(2 * m_);
    }
    double relative_gap() const {
        double total = 0, off = 0;
        for (Index i = 0; i < m_; ++i) total += t_[i] * a_[i], off += std::abs(g_[i]) * a_[i];
        return (2.0 * double(m_) * mu_ + off) / std::max(std::abs(total - 0.5 * square_), 1e-300);
    }

    bool factorise() {
        using strategy::kFirstRidge, strategy::kLastRidge, strategy::kRidgeGrowth;
        for (double ridge = 0.0; ridge < kLastRidge; ridge = ridge == 0.0 ? kFirstRidge : kRidgeGrowth * ridge) {
            L_ = Q_;
            for (Index i = 0; i < m_; ++i)
                L_[i * m_ + i] += ridge * scale_ + z_[i] / a_[i] + u_[i] / (c_[i] - a_[i]);
            if (!blas::factorise(L_.data(), m_)) continue;
            y_solved_ = y_;
            cholesky_solve(L_.data(), m_, y_solved_.data());
            return true;
        }
        return false;
    }

    Direction direction(double mu, const Direction* predictor) const {
        Direction d{g_, Vector(m_), Vector(m_), 0.0};
        for (Index i = 0; i < m_; ++i) {
            const double second = predictor ? predictor->a[i] : 0.0, w = c_[i] - a_[i];
            d.z[i] = (mu - second * (predictor ? predictor->z[i] : 0.0)) / a_[i] - z_[i];
            d.u[i] = (mu + second * (predictor ? predictor->u[i] : 0.0)) / w - u_[i];
            d.a[i] += d.z[i] - d.u[i];
        }
        cholesky_solve(L_.data(), m_, d.a.data());
        if (p_.intercept) {
            d.b = (dot(m_, y_.data(), d.a.data()) + balance_) / dot(m_, y_.data(), y_solved_.data());
            axpy(m_, -d.b, y_solved_.data(), d.a.data());
        }
        for (Index i = 0; i < m_; ++i) {
            d.z[i] -= z_[i] / a_[i] * d.a[i];
            d.u[i] += u_[i] / (c_[i] - a_[i]) * d.a[i];
        }
        return d;
    }

    double longest(const Direction& d) const {
        double t = 1.0;
        auto keep = [&t](double value, double change) {
            if (change < 0) t = std::min(t, -value / change);
        };
        for (Index i = 0; i < m_; ++i)
            keep(a_[i], d.a[i]), keep(c_[i] - a_[i], -d.a[i]), keep(z_[i], d.z[i]), keep(u_[i], d.u[i]);
        return t;
    }
    double complementarity(const Direction& d, double t) const {
        double sum = 0;
        for (Index i = 0; i < m_; ++i)
            sum += (a_[i] + t * d.a[i]) * (z_[i] + t * d.z[i]) + (c_[i] - a_[i] - t * d.a[i]) * (u_[i] + t * d.u[i]);
        return sum / double(2 * m_);
    }
    void go(const Direction& d, double t) {
        axpy(m_, t, d.a.data(), a_.data()), axpy(m_, t, d.z.data(), z_.data()), axpy(m_, t, d.u.data(), u_.data());
        b_ += t * d.b;
        measure();
    }

    KernelProblem& p_;
    const std::vector<Index>& rows_;
    const Index m_;
    const double tol_;
    Vector Q_, y_, t_, c_, L_, y_solved_, a_, z_, u_, g_;
    double b_ = 0.0, mu_ = 0.0, balance_ = 0.0, square_ = 0.0, scale_ = 1.0;
};

}  // namespace rm
