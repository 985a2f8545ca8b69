// What the caller gave, of which the rows of a problem are taken:
//
//   n, d                               rows and coefficients
//   score(i, w)                        x_i'w as the caller would compute it
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

// The rows of one problem among those of the caller.
struct Chosen {
    std::vector<Index> J;
    Vector y, mean;  // labels of J, and where J is centred
    bool intercept;

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

namespace contract {
template <class S> using Score = decltype(std::declval<const S&>().score(Index{}, (const double*)nullptr));
template <class S> using Centre = decltype(std::declval<const S&>().centre(std::declval<const std::vector<Index>&>()));
template <class S> using Size = decltype(std::declval<const S&>().n + std::declval<const S&>().d);
template <class S> using WithForm = decltype(std::declval<const S&>().with_form(
    std::declval<const Chosen&>(), true, std::declval<const Poll&>(), Anything{}));
}  // namespace contract
template <class S> constexpr bool IsSource =
    contract::Has<contract::Score, S>::value && contract::Has<contract::Centre, S>::value &&
    contract::Has<contract::Size, S>::value && contract::Has<contract::WithForm, S>::value;

}  // namespace rm
