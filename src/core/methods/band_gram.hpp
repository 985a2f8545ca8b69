// The Gram matrix of the band, from that of the band before: near a solution few of its rows come and go.
#pragma once
#include <algorithm>
#include <iterator>

#include "problem.hpp"

namespace rm {

// The rows of the band in order, and their weights in Newton's matrix: the penalty times those of the loss.
struct Band {
    const Index* J;
    Index m;
    const double* weights;
    double penalty;
};

// Lower triangle of sum_{i in J} weights_i a_i a_i' for one J after the other, each in order.
template <class Rows>
class BandGram {
  public:
    BandGram(const Rows& rows, const double* weights) : rows_(rows), weights_(weights), D_(rows.D()) {}

    const Vector& of(const Index* J, Index m) {
        come_.clear(), gone_.clear();
        std::set_difference(J, J + m, band_.begin(), band_.end(), std::back_inserter(come_));
        std::set_difference(band_.begin(), band_.end(), J, J + m, std::back_inserter(gone_));
        const Index changed = static_cast<Index>(come_.size() + gone_.size());
        const bool anew = G_.empty() || strategy::form_anew(changed, m, updates_);
        band_.assign(J, J + m);
        if (anew) {
            updates_ = 0, G_.resize(D_ * D_);
            form(band_, G_);
        } else {
            ++updates_;
            add(come_, 1.0), add(gone_, -1.0);
        }
        return G_;
    }

  private:
    void form(const std::vector<Index>& J, Vector& out) {
        some_.resize(J.size());
        for (std::size_t j = 0; j < J.size(); ++j) some_[j] = weights_[J[j]];
        rows_.gram(J.data(), static_cast<Index>(J.size()), some_.data(), out.data());
    }
    void add(const std::vector<Index>& J, double sign) {
        if (J.empty()) return;
        change_.resize(D_ * D_);
        form(J, change_);
        for (Index k = 0; k < D_; ++k) axpy(D_ - k, sign, change_.data() + k * D_ + k, G_.data() + k * D_ + k);
    }

    const Rows& rows_;
    const double* weights_;
    Index D_, updates_ = 0;
    Vector G_, change_, some_;
    std::vector<Index> band_, come_, gone_;
};

}  // namespace rm
