// Rows of a problem that share storage: row i is row places[i] of a form, times a sign. The two sides of the loss of a target
// (regression) are a row given twice with opposite signs; products with the stored rows are taken once for both.
#pragma once
#include <numeric>

#include "rows/contract.hpp"
#include "rows/source.hpp"

namespace rm {

namespace shared {
struct Dense {};
struct Sparse {
    static constexpr bool kSparse = true;
};
}  // namespace shared

template <class Form>
class SharedRows : public std::conditional_t<contract::Has<contract::Sparse, Form>::value, shared::Sparse, shared::Dense> {
    static_assert(IsRows<Form>);
    template <bool able>
    using If = std::enable_if_t<able, int>;

  public:
    // The form has its own rows unsigned.
    SharedRows(const Form& form, std::vector<Index> places, Vector signs)
        : form_(form), places_(std::move(places)), signs_(std::move(signs)) {}
    SharedRows(const SharedRows&) = delete;

    Index n() const { return static_cast<Index>(places_.size()); }
    Index d() const { return form_.d(); }
    Index D() const { return form_.D(); }
    void times(const double* theta, double* out) const {
        stored_.resize(form_.n());
        form_.times(theta, stored_.data());
        for (Index i = 0; i < n(); ++i) out[i] = signs_[i] * stored_[places_[i]];
    }
    void transposed_times(const double* v, double* out) const {
        stored_.assign(form_.n(), 0.0);
        for (Index i = 0; i < n(); ++i) stored_[places_[i]] += signs_[i] * v[i];
        form_.transposed_times(stored_.data(), out);
    }
    void gram(const Index* J, Index m, const double* weights, double* H) const { form_.gram(placed(J, m), m, weights, H); }
    void copy_row(Index i, double* out) const {
        form_.copy_row(places_[i], out);
        for (Index k = 0; k < d(); ++k) out[k] *= signs_[i];
    }
    template <class F>
    void with_rows(const std::vector<Index>& J, const Poll& poll, F&& f) const {
        std::vector<Index> kept, place_of(form_.n(), -1), places;
        Vector signs;
        for (Index i : J) {
            Index& place = place_of[places_[i]];
            if (place < 0) place = static_cast<Index>(kept.size()), kept.push_back(places_[i]);
            places.push_back(place), signs.push_back(signs_[i]);
        }
        form_.with_rows(kept, poll, [&](const auto& rows) {
            f(SharedRows<std::decay_t<decltype(rows)>>(rows, std::move(places), std::move(signs)));
        });
    }

    // What the form has.
    template <class A = Form, If<CanAddRows<A>> = 0>
    void add_rows(const Index* J, Index m, const double* weights, double* out) const {
        weights_.resize(m);
        for (Index j = 0; j < m; ++j) weights_[j] = signs_[J[j]] * weights[j];
        form_.add_rows(placed(J, m), m, weights_.data(), out);
    }
    template <class A = Form, If<CanPadGram<A>> = 0>
    Index padded_size() const { return form_.padded_size(); }
    template <class A = Form, If<CanPadGram<A>> = 0>
    Index width() const { return form_.width(); }
    template <class A = Form, If<CanPadGram<A>> = 0>
    void gram_rows(const Index* J, Index m, const double* weights, double* H) const {
        form_.gram_rows(placed(J, m), m, weights, H);
    }
    template <class A = Form, If<CanRowGram<A>> = 0>
    const Vector& row_gram(const Regularizer& B, const Poll& poll) const {
        if (!row_gram_.empty()) return row_gram_;
        const Vector& G = form_.row_gram(B, poll);
        row_gram_.resize(static_cast<std::size_t>(n()) * n());
        for (Index i = 0; i < n(); ++i)
            for (Index j = 0; j < n(); ++j)
                row_gram_[i * n() + j] = signs_[i] * signs_[j] * G[places_[i] * form_.n() + places_[j]];
        return row_gram_;
    }
    template <class A = Form, If<CanVisit<A>> = 0>
    void add_row(Index i, double t, const double* scale, double* w) const { form_.add_row(places_[i], t, scale, w); }
    void add_squares(Index i, double t, double* out) const { form_.add_squares(places_[i], t, out); }
    double dot_row(Index i, const double* w) const { return form_.dot_row(places_[i], w); }
    double square_row(Index i, const double* scale) const { return form_.square_row(places_[i], scale); }
    Index stored(Index i) const { return form_.stored(places_[i]); }
    void fetch_row(Index i) const { form_.fetch_row(places_[i]); }
    const double* mean() const { return form_.mean(); }
    bool contiguous() const { return form_.contiguous(); }
    std::uint64_t fingerprint(Index i) const { return form_.fingerprint(places_[i]); }
    bool same(Index i, Index j) const { return form_.same(places_[i], places_[j]); }

  private:
    const Index* placed(const Index* J, Index m) const {
        some_.resize(m + 1);  // one more, as the band has
        for (Index j = 0; j < m; ++j) some_[j] = places_[J[j]];
        return some_.data();
    }

    const Form& form_;
    std::vector<Index> places_;
    Vector signs_;
    mutable Vector stored_, weights_, row_gram_;
    mutable std::vector<Index> some_;
};

}  // namespace rm
