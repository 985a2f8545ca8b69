// What the caller gave, of which the rows of a problem are taken:
//
//   n, d                               rows and coefficients
//   exact_score(i, w, buffer)          x_i'w in twice the digits
//   exact_add(i, t, sum, rest, buffer) sum + rest += t x_i, likewise
//   sizes()                            what scores are bounded by
//   centre(J)                          a point near the middle of the rows J
//   with_form(chosen, sift, poll, f)   f of the chosen rows, in the form that suits them
#pragma once
#include "rows/contract.hpp"
#include "strategy.hpp"

namespace rm {

inline Vector pick(const double* from, const std::vector<Index>& J) {
    Vector out(J.size());
    for (std::size_t j = 0; j < J.size(); ++j) out[j] = from[J[j]];
    return out;
}

// The rows of one problem among those of the caller. Of regression every row is there twice, first all and then all again.
struct Chosen {
    std::vector<Index> J;
    Vector y, mean;  // labels of J, and where J is centred
    bool intercept;
    Vector t;  // targets, or empty: all are one

    bool twice() const { return !t.empty(); }
    // Without the second side of every row, and unsigned.
    Chosen once() const {
        return {{J.begin(), J.begin() + J.size() / 2}, Vector(J.size() / 2, 1.0), mean, intercept, {}};
    }

    bool all(Index n) const {  // a permutation or a bootstrap sample is not the matrix itself
        if (static_cast<Index>(J.size()) != n) return false;
        for (Index i = 0; i < n; ++i)
            if (J[i] != i) return false;
        return true;
    }
};

// Medians of some of the rows J. Not the mean: where sizes of rows differ by orders of magnitude it is far from most of them, and
// their inner products about it are rounded to nothing. add(i, sum) adds row i.
template <class Add>
Vector middle(Index d, const std::vector<Index>& J, const Add& add) {
    const Index m = static_cast<Index>(J.size()), count = std::min(m, strategy::kCentreSample);
    Vector rows(count * d, 0.0), column(count), medians(d, 0.0);
    for (Index j = 0; j < count; ++j) add(J[j * m / count], rows.data() + j * d);
    for (Index k = 0; k < d && count > 0; ++k) {
        for (Index j = 0; j < count; ++j) column[j] = rows[j * d + k];
        std::nth_element(column.begin(), column.begin() + count / 2, column.end());
        medians[k] = column[count / 2];
    }
    return medians;
}

// The largest of every feature, without its sign, the largest norm of a row and the most numbers in one; of many of the rows.
struct Sizes {
    Vector features;
    double norm = HUGE_VAL;
    Index terms = 0;

    double largest_score(const double* w) const {
        double sum = 0, square = 0;
        for (std::size_t k = 0; k < features.size(); ++k) sum += features[k] * std::abs(w[k]), square += w[k] * w[k];
        return std::min(sum, norm * std::sqrt(square));
    }
};

namespace contract {
template <class S> using Score =
    decltype(std::declval<const S&>().exact_score(Index{}, (const double*)nullptr, std::declval<Vector&>()).value());
template <class S> using Add = decltype(
    std::declval<const S&>().exact_add(Index{}, 1.0, (double*)nullptr, (double*)nullptr, std::declval<Vector&>()));
template <class S> using Largest = decltype(std::declval<const S&>().sizes());
template <class S> using Centre = decltype(std::declval<const S&>().centre(std::declval<const std::vector<Index>&>()));
template <class S> using Size = decltype(std::declval<const S&>().n + std::declval<const S&>().d);
template <class S> using WithForm = decltype(std::declval<const S&>().with_form(
    std::declval<const Chosen&>(), true, std::declval<const Poll&>(), Anything{}));
}  // namespace contract
template <class S> constexpr bool IsSource =
    contract::Has<contract::Score, S>::value && contract::Has<contract::Add, S>::value &&
    contract::Has<contract::Largest, S>::value && contract::Has<contract::Centre, S>::value &&
    contract::Has<contract::Size, S>::value && contract::Has<contract::WithForm, S>::value;

}  // namespace rm
