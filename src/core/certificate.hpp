// The certificate of what is returned: both objectives at the coefficients, the intercept and the multipliers, on the caller's rows.
// Where four standard deviations of what sums of double precision lose could be seen in the gap, both are evaluated in twice the
// digits, and the objective is rounded up and its bound down.
#pragma once
#include <limits>

#include "problem.hpp"
#include "rows/source.hpp"

namespace rm {

// What a sum of so many rounded terms is off by, against the sum of their sizes.
inline double rounding_of_sum(Index terms) {
    return 2.0 * std::numeric_limits<double>::epsilon() * std::sqrt(double(terms) + 4.0);
}

template <class Source, class Rows>
class Certificate {
  public:
    Certificate(const Source& source, const Chosen& chosen, const Problem<Rows>& problem, const double* coef, double intercept)
        : source_(source), chosen_(chosen), problem_(problem), coef_(coef), intercept_(intercept), n_(problem.n()), d_(problem.d()) {}

    // Evaluates both objectives anew, unless rounding is no more than a share of the objective that cannot be seen.
    void apply(const Sizes& sizes, double unseen, Solution& best) {
        const double largest = std::abs(intercept_) + sizes.largest_score(coef_) + largest_target();
        double weight = 0, multipliers = 0, linear = 0;
        for (Index k = 0; k < d_ && problem_.q; ++k) linear += std::abs(problem_.q[k] * coef_[k]);
        for (Index i = 0; i < n_; ++i) weight += problem_.c[i], multipliers += best.alpha[i];
        of_score_ = rounding_of_sum(sizes.terms) * largest;
        const double of_form = rounding_of_sum(d_) * (problem_.B.sum_of_sizes(coef_) + linear);
        const double of_sums = rounding_of_sum(n_) * (std::abs(best.objective) + largest * multipliers);
        if (!(of_score_ * weight + of_form + of_sums <= unseen * std::abs(best.objective))) evaluate(best);
    }

  private:
    // The rounding that is left is that of the last operations, and of multipliers that are out of balance.
    void evaluate(Solution& best) {
        Vector z;
        problem_.margins(best.theta, z);
        const double unit = rounding_of_sum(0);
        const TwiceDouble form = square(coef_), loss = exact_loss(z);
        TwiceDouble linear;
        if (problem_.q) exact_dot(d_, problem_.q, coef_, linear.sum, linear.rest);
        TwiceDouble objective{0.5 * form.sum, 0.5 * form.rest};
        objective.add(-linear.value()), objective.add(problem_.constant), objective.add(loss.value());
        const double sizes = form.value() + std::abs(linear.value()) + std::abs(problem_.constant) + loss.value();
        best.objective = objective.value() + unit * sizes;
        best.dual_objective = exact_bound(best, z);
    }

    // Rows whose loss is zero however their margins were rounded are left out.
    TwiceDouble exact_loss(const Vector& z) {
        TwiceDouble loss;
        for (Index i = 0; i < n_; ++i) {
            if (z[i] < -2.0 * of_score_) continue;
            TwiceDouble excess = source_.exact_score(chosen_.J[i], coef_, buffer_);
            excess.add(intercept_), excess.add(-problem_.y[i] * problem_.target(i));
            loss.add_product(problem_.c[i], std::max(0.0, -problem_.y[i] * excess.value()));
        }
        return loss;
    }

    // With g = X'(y alpha) + q and any w the minimum over w is 1/2 w'Bw - g'w less half the square of g - Bw; w = B^{-1} g is
    // rounded as it may be.
    double exact_bound(const Solution& best, const Vector& z) {
        Vector g(d_, 0.0), rest(d_, 0.0), Bw(d_, 0.0), Bw_rest(d_, 0.0), w(d_);
        TwiceDouble balance, total, along;
        double reach = 0, rewards = 0;
        for (Index i = 0; i < n_; ++i) {
            if (!(best.alpha[i] > 0)) continue;
            const double v = problem_.y[i] * best.alpha[i];
            source_.exact_add(chosen_.J[i], v, g.data(), rest.data(), buffer_);
            balance.add(v), total.add_product(problem_.target(i), best.alpha[i]);
            rewards += std::abs(problem_.target(i)) * best.alpha[i], reach = std::max(reach, std::abs(z[i]));
        }
        const double left = problem_.intercept() ? balance.value() : 0.0;  // of what should be zero
        exact_axpy(d_, -left, chosen_.mean.data(), g.data(), rest.data());
        if (problem_.q) exact_axpy(d_, 1.0, problem_.q, g.data(), rest.data());
        for (Index k = 0; k < d_; ++k) w[k] = g[k] + rest[k];
        problem_.B.divide(w.data());
        problem_.B.exact_times(w.data(), Bw.data(), Bw_rest.data());
        exact_dot(d_, g.data(), w.data(), along.sum, along.rest);
        along.rest += dot(d_, rest.data(), w.data());
        const TwiceDouble form = square(w.data());
        for (Index k = 0; k < d_; ++k) g[k] = (g[k] - Bw[k]) + (rest[k] - Bw_rest[k]);
        TwiceDouble bound = total;
        bound.add(problem_.constant), bound.add(-along.sum), bound.add(-along.rest);
        bound.add(0.5 * form.sum), bound.add(0.5 * form.rest), bound.add(-0.5 * problem_.B.inverse_quadratic(g.data()));
        const double sizes = rewards + std::abs(problem_.constant) + std::abs(along.value()) + form.value();
        const double farthest = problem_.intercept() ? largest_target() + reach + std::abs(best.theta[d_]) : 0.0;  // an intercept may be
        return bound.value() - rounding_of_sum(0) * sizes - std::abs(left) * farthest;
    }

    double largest_target() const {
        double largest = problem_.t ? 0.0 : 1.0;
        for (Index i = 0; i < n_ && problem_.t; ++i) largest = std::max(largest, std::abs(problem_.t[i]));
        return largest;
    }
    TwiceDouble square(const double* w) const {  // w'Bw
        Vector Bw(d_, 0.0), rest(d_, 0.0);
        problem_.B.exact_times(w, Bw.data(), rest.data());
        TwiceDouble out;
        exact_dot(d_, w, Bw.data(), out.sum, out.rest);
        out.rest += dot(d_, w, rest.data());
        return out;
    }

    const Source& source_;
    const Chosen& chosen_;
    const Problem<Rows>& problem_;
    const double* coef_;
    double intercept_;
    Index n_, d_;
    double of_score_ = 0;
    Vector buffer_;
};

}  // namespace rm
