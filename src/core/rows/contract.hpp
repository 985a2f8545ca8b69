// What may be asked of the rows of a problem, and what a form must have to be asked: checked by the compiler.
//
// A problem sees the n x D matrix A = y * [x - mean, 1] (the last column only with an intercept) through a form of rows:
//
//   always      n(), d(), D()                    rows, coefficients without and with the intercept
//               times(theta, out)                A theta
//               transposed_times(v, out)         A'v
//               gram(J, m, weights, H)           lower triangle of sum_{i in J} weights_i a_i a_i'
//               copy_row(i, out)                 y_i (x_i - mean)
//               with_rows(J, poll, f)            f of the rows J, in their fastest form
//   some        gram_rows, width, padded_size    gram for few features, see Columns                 (CanPadGram)
//               add_rows(J, m, weights, out)     out += sum_{i in J} weights_i a_i                  (CanAddRows)
//               row_gram(B, poll)                A B^{-1} A' without the intercept                  (CanRowGram)
//               kSparse                          a mark: products cost what is stored
//               dot_row(i, w)                    x_i'w, neither centred nor signed                  (CanVisit)
//               add_row(i, t, s, w)              w += t s x_i for factors s of the features, or none
//               add_squares(i, t, w)             w += t x_i^2
//               square_row(i, s), stored(i)      sum s x_i^2; the numbers that row i takes
//               fetch_row(i), mean()             says that row i comes next; where rows are centred
//               fingerprint(i), same(i, j)       a number that equal rows share; whether two are equal
//               contiguous()                     whether the above are quick
//
// Centring is free (it moves the intercept only) and keeps features with large means well conditioned.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "regularizer.hpp"

namespace rm {

using Poll = std::function<void()>;  // throws when the user interrupts; may be empty
constexpr Index kPollRows = 1 << 15;  // rows that are copied between two polls

inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

// A number that depends on all of the n numbers of a row, and on where they are.
template <class T>
std::uint64_t mixed(const T* numbers, Index n, std::uint64_t seed = 0) {
    for (Index k = 0; k < n; ++k) {
        seed = (seed ^ std::hash<T>{}(numbers[k])) * 0x9E3779B97F4A7C15u;
        seed ^= seed >> 32;
    }
    return seed;
}

namespace contract {
template <class A> using Times = decltype(std::declval<const A&>().times((const double*)nullptr, (double*)nullptr));
template <class A> using Transposed =
    decltype(std::declval<const A&>().transposed_times((const double*)nullptr, (double*)nullptr));
template <class A> using Sizes =
    decltype(std::declval<const A&>().n() + std::declval<const A&>().d() + std::declval<const A&>().D());
template <class A> using Gram = decltype(std::declval<const A&>().gram(
    (const Index*)nullptr, Index{}, (const double*)nullptr, (double*)nullptr));
template <class A> using AddRows = decltype(std::declval<const A&>().add_rows(
    (const Index*)nullptr, Index{}, (const double*)nullptr, (double*)nullptr));
template <class A> using PadGram = decltype(std::declval<const A&>().padded_size());
template <class A> using RowGram =
    decltype(std::declval<const A&>().row_gram(std::declval<const Regularizer&>(), std::declval<const Poll&>()));
template <class A> using Copy = decltype(std::declval<const A&>().copy_row(Index{}, (double*)nullptr));
template <class A> using Sparse = decltype(A::kSparse);
template <class A> using Visit = decltype(
    std::declval<const A&>().add_row(Index{}, 1.0, std::declval<const A&>().mean(), (double*)nullptr),
    std::declval<const A&>().add_squares(Index{}, 1.0, (double*)nullptr), std::declval<const A&>().fetch_row(Index{}), std::declval<const A&>().contiguous(),
    std::declval<const A&>().fingerprint(Index{}), std::declval<const A&>().same(Index{}, Index{}),
    std::declval<const A&>().dot_row(Index{}, (const double*)nullptr) +
        std::declval<const A&>().square_row(Index{}, (const double*)nullptr) + std::declval<const A&>().stored(Index{}));
struct Anything {
    template <class T> void operator()(const T&) const {}
};
template <class A> using Pick = decltype(std::declval<const A&>().with_rows(
    std::declval<const std::vector<Index>&>(), std::declval<const Poll&>(), Anything{}));

template <template <class> class Operation, class A, class = void> struct Has : std::false_type {};
template <template <class> class Operation, class A>
struct Has<Operation, A, std::void_t<Operation<A>>> : std::true_type {};
}  // namespace contract

template <class A> constexpr bool CanAddRows = contract::Has<contract::AddRows, A>::value;
template <class A> constexpr bool CanPadGram = contract::Has<contract::PadGram, A>::value;
template <class A> constexpr bool CanRowGram = contract::Has<contract::RowGram, A>::value;
template <class A> constexpr bool CanVisit = contract::Has<contract::Visit, A>::value;
template <class A> constexpr bool IsRows =
    contract::Has<contract::Sizes, A>::value && contract::Has<contract::Times, A>::value &&
    contract::Has<contract::Transposed, A>::value && contract::Has<contract::Gram, A>::value &&
    contract::Has<contract::Copy, A>::value && contract::Has<contract::Pick, A>::value;

template <class A> constexpr Abilities abilities{CanRowGram<A>, contract::Has<contract::Sparse, A>::value};

}  // namespace rm
