// Coordinate descent (coordinate_descent.hpp) for several problems that have most of their rows in common: the folds of a search, or
// each class against the rest. A row is read once for all of them, which is most of what a visit costs.
//
// What a lane has found, or is too slow to find, is left alone while the others go on. From one C to the next the multipliers are
// scaled.
#pragma once
#include <array>

#include "loops/lanes.hpp"
#include "methods/visits.hpp"
#include "problem.hpp"
#include "rows/sparse.hpp"

namespace rm {

// One problem among those side by side.
struct Lane {
    const Chosen& chosen;
    const Vector& weights;  // of the chosen rows
    const Regularizer& B;
};

struct Bounds {
    double objective = HUGE_VAL, dual = -HUGE_VAL;
    double gap() const { return (objective - dual) / std::max(std::abs(objective), 1e-300); }
};

class SideBySide {
  public:
    SideBySide(const SparseArray& X, const std::vector<Lane>& lanes, const Options& options)
        : X_(X), lanes_(lanes), options_(options), intercept_(lanes[0].chosen.intercept), W_(X.d) {
        gather_rows();
        gather_factors();
        for (Index r = 0; r < n_; ++r) rows_[r].square = square_lanes(row(r), factors());
        if (intercept_) square_of_mean_ = square_of_mean();
        const double stored = std::max(work_.pass - double(n_), 1.0);
        const Index D = X.d + intercept_;
        only_visits_ = strategy::only_visits(n_, D);
        patience_ = strategy::together(strategy::patience(abilities<SparseRows>, n_, X.d, stored, options.max_iter),
                                       strategy::by_products(abilities<SparseRows>, n_, D, stored));
    }

    // The problems at C, each solved or as far as it got; from the solution at the C before.
    std::vector<Solution> solve(double C) {
        begin_at(C);
        work_.count_anew();
        for (bool done = !strategy::go_on_together(n_live_, n_lanes()); !done;) {
            if (options_.poll) options_.poll();
            const double violation = epoch();
            if (!compared_ && work_.done > strategy::kContradicted * work_.pass) find_contradictions();
            done = tour_.at_rest(violation) || work_.done >= most_work();
            bool all_again = tour_.settled(violation);
            if (worth_a_look() || done) look(), all_again = true;  // what it found of rows that were left out is to be put right
            done |= !strategy::go_on_together(n_live_, n_lanes());
            if (all_again && !done) tour_.take_all();
        }
        std::vector<Solution> found(lanes_.size());
        for (std::size_t l = 0; l < lanes_.size(); ++l) found[l] = solution(Index(l));
        return found;
    }

    // What is left of the path of lane l goes without it.
    void leave(Index l) { gone_[l] = true; }

  private:
    SparseRow row(Index r) const { return X_.row(places_[r]); }
    const Lanes* factors() const { return inverse_.empty() ? nullptr : inverse_.data(); }
    double cost(Index r) const { return 1.0 + double(row(r).size); }  // of a visit
    Index n_lanes() const { return static_cast<Index>(lanes_.size()); }
    double most_work() const { return std::min<double>(patience_.most, options_.max_iter) * work_.pass; }

    // All rows that take part in any problem, in the order of the data.
    void gather_rows() {
        number_.assign(X_.n, -1);
        for (const Lane& lane : lanes_)
            for (Index i : lane.chosen.J) number_[i] = 0;
        for (Index i = 0; i < X_.n; ++i)
            if (number_[i] == 0) number_[i] = static_cast<Index>(places_.size()), places_.push_back(i);
        n_ = static_cast<Index>(places_.size());
        tour_ = Tour(n_);
        const Index room = std::max<Index>(n_, 1);  // there may be no rows
        rows_.resize(room), weight_.resize(room);
        for (Index l = 0; l < n_lanes(); ++l) {
            const Chosen& chosen = lanes_[l].chosen;
            for (std::size_t j = 0; j < chosen.J.size(); ++j) {
                const Index r = number_[chosen.J[j]];
                rows_[r].y[l] = chosen.y[j], weight_[r][l] = lanes_[l].weights[j];
                total_weight_[l] += lanes_[l].weights[j];
            }
        }
        for (Index r = 0; r < n_; ++r) work_.pass += cost(r);
    }
    void gather_factors() {
        const auto plain = [](const Lane& lane) { return lane.B.identity(); };
        if (std::all_of(lanes_.begin(), lanes_.end(), plain)) return;
        Lanes ones;
        std::fill(ones.at, ones.at + kLanes, 1.0);
        inverse_.assign(X_.d, ones);
        for (Index l = 0; l < n_lanes(); ++l) {
            Vector factors(X_.d, 1.0);
            lanes_[l].B.divide(factors.data());
            for (Index k = 0; k < X_.d; ++k) inverse_[k][l] = factors[k];
        }
    }

    Lanes square_of_mean() const {
        const Index step = std::max<Index>(1, n_ / strategy::kMeanSample);
        std::vector<Lanes> sum(X_.d);
        Lanes count;
        for (Index r = 0; r < n_; r += step) {
            Lanes part;
            for (Index l = 0; l < n_lanes(); ++l) count[l] += part[l] = weight_[r][l] > 0 ? 1.0 : 0.0;
            add_lanes(row(r), part, factors(), sum.data());
        }
        Lanes out = squares_of(sum);
        for (Index l = 0; l < n_lanes(); ++l) out[l] /= std::max(1.0, count[l] * count[l]);
        return out;
    }
    void begin_at(double C) {
        const Lanes multiple = C_ > 0 ? multiples(C / C_) : Lanes{};
        C_ = C, n_live_ = 0, certified_.fill({});
        for (Index l = 0; l < kLanes; ++l) state_.most[l] = HUGE_VAL, state_.least[l] = -HUGE_VAL;
        Lanes squares;
        for (Index r = 0; r < n_; ++r)
            for (Index l = 0; l < n_lanes(); ++l) {
                rows_[r].bound[l] = gone_[l] ? 0.0 : C * weight_[r][l];
                rows_[r].alpha[l] = std::min(rows_[r].alpha[l] * multiple[l], rows_[r].bound[l]);
                rows_[r].score[l] *= multiple[l];
                squares[l] += weight_[r][l] > 0 ? rows_[r].square[l] : 0.0;
            }
        for (Lanes& w : W_)
            for (Index l = 0; l < n_lanes(); ++l) w[l] *= multiple[l];
        for (Index l = 0; l < n_lanes(); ++l) {
            live_[l] = !gone_[l], n_live_ += live_[l], outlook_[l] = {};
            state_.square[l] *= multiple[l] * multiple[l], state_.sum[l] *= multiple[l];
            const double mean = squares[l] / std::max(1.0, double(lanes_[l].chosen.J.size()));
            if (intercept_) state_.rho[l] = strategy::intercept_penalty(mean, square_of_mean_[l], C * total_weight_[l]);
        }
        raise_contradictions();
        // Rows without multipliers that were left out are right, and more so at a larger C: they are looked at when the others are.
        tour_.start_again([&](Index r) {
            const double* alpha = rows_[r].alpha.at;
            return std::any_of(alpha, alpha + kLanes, [](double a) { return a > 0.0; });
        });
    }
    // What the multipliers of the C before are multiplied by: as C is, but for the best multiple of that; where none of them is
    // at its bound a larger C changes nothing.
    Lanes multiples(double grown) {
        bool at_bound[kLanes] = {};
        for (Index r = 0; r < n_; ++r)
            for (Index l = 0; l < n_lanes(); ++l)
                at_bound[l] |= weight_[r][l] > 0 && rows_[r].alpha[l] >= C_ * weight_[r][l];
        const LaneSums sums = sums_at(state_.b);
        Lanes out;
        for (Index l = 0; l < n_lanes(); ++l) {
            const double total = grown * sums.total[l], square = grown * grown * state_.square[l];
            out[l] = at_bound[l] ? grown * (square > total ? total / square : 1.0) : 1.0;
        }
        return out;
    }
    LaneSums sums_at(const Lanes& b) const { return sum_lanes(n_, rows_.data(), b, state_.sum); }

    // One visit to every active row; returns by how much they were in the wrong.
    double epoch() {
        state_.highest = state_.lowest = Lanes{};
        tour_.shuffle();
        for (Index s = 0; s < tour_.size(); ++s) {
            const Index r = tour_[s];
            if (s + strategy::kRowsAhead < tour_.size()) fetch(tour_[s + strategy::kRowsAhead]);
            rows_[r].score = dot_lanes(row(r), W_.data());
            work_.done += cost(r);
            Lanes t;
            switch (visit_lanes(rows_[r], state_, t)) {
                case Visit::shrunk: tour_.shrink(s--); break;
                case Visit::moved: add_lanes(row(r), t, factors(), W_.data()); break;
                case Visit::still: break;
            }
        }
        double violation = 0;
        for (Index l = 0; l < n_lanes(); ++l) {
            violation = std::max(violation, state_.highest[l] - state_.lowest[l]);
            state_.most[l] = state_.highest[l] > 0 ? strategy::kShrink * state_.highest[l] : HUGE_VAL;
            state_.least[l] = state_.lowest[l] < 0 ? strategy::kShrink * state_.lowest[l] : -HUGE_VAL;
            state_.b[l] += state_.rho[l] * state_.sum[l];
        }
        return violation;
    }
    void find_contradictions() {
        compared_ = true;
        alike_ = alike_rows(
            n_, [&](Index r) { return X_.fingerprint(places_[r]); },
            [&](Index r, Index s) { return X_.same(places_[r], places_[s]); });
        raise_contradictions();
    }
    void raise_contradictions() {
        for (Index l = 0; l < n_lanes(); ++l) {
            if (!live_[l]) continue;
            const auto label = [&](Index r) { return rows_[r].y[l]; };
            const auto alpha = [&](Index r) -> double& { return rows_[r].alpha[l]; };
            const auto bound = [&](Index r) { return rows_[r].bound[l]; };
            for (const auto& group : alike_) raise_together(group, label, alpha, bound);
        }
    }
    void fetch(Index r) const {  // says that row r comes soon
        X_.fetch(places_[r]);
        const LaneRow& own = rows_[r];
        prefetch(&own.y), prefetch(&own.bound), prefetch(&own.square), prefetch(&own.alpha), prefetch(&own.score);
    }

    // Whether most gaps may be small enough, by the scores that rows had when they were visited last, or one will take too long.
    bool worth_a_look() {
        const LaneSums sums = sums_at(state_.b);
        Index hopeful = 0;
        bool one_hopeless = false;
        for (Index l = 0; l < n_lanes(); ++l) {
            if (!live_[l]) continue;
            const double gap = estimated_gap(l, sums);
            outlook_[l].see(gap, options_.tol, work_);
            hopeful += gap <= strategy::kHopeful * options_.tol;
            one_hopeless |= outlook_[l].too_slow(patience_, work_);
        }
        return !strategy::go_on_together(n_live_ - hopeful, n_live_) || one_hopeless || work_.long_unseen();
    }
    static HeavySide heavy_side(const LaneSums& sums, Index l) { return {sums.free[l], sums.bound[l], sums.slack[l]}; }
    double estimated_gap(Index l, const LaneSums& sums) const {  // see coordinate_descent.hpp
        const double balance = intercept_ ? heavy_side(sums, l).cost_of_balance(std::abs(state_.sum[l]), square_of_mean_[l]) : 0.0;
        return (sums.shares[l] + balance) / std::max(0.5 * state_.square[l] + sums.loss[l], 1e-300);
    }
    Bounds bounds_of(Index l, const LaneSums& sums) const {
        return {0.5 * state_.square[l] + sums.loss[l], sums.total[l] - 0.5 * state_.square[l]};
    }
    // The certified gaps. Lanes that are done take no part any more, and stay as they are.
    void look() {
        restore_balance();
        if (work_.drifted()) sum_anew();
        state_.square = squares_of(W_);
        for (Index r = 0; r < n_; ++r) rows_[r].score = dot_lanes(row(r), W_.data());
        for (Index l = 0; intercept_ && l < n_lanes(); ++l)
            if (live_[l]) best_b_[l] = best_intercept(l);
        const LaneSums sums = sums_at(best_b_);
        for (Index l = 0; l < n_lanes(); ++l) {
            if (!live_[l]) continue;
            certified_[l] = bounds_of(l, sums);
            if (certified_[l].gap() <= options_.tol || outlook_[l].too_slow(patience_, work_)) retire(l);
        }
        work_.looked = work_.done;
    }
    void retire(Index l) {
        live_[l] = false, --n_live_;
        for (LaneRow& row : rows_) row.bound[l] = 0.0;
    }
    double best_intercept(Index l) {
        Vector f, y, c;
        f.reserve(n_), y.reserve(n_), c.reserve(n_);
        for (Index r = 0; r < n_; ++r)
            if (rows_[r].bound[l] > 0.0) f.push_back(rows_[r].score[l]), y.push_back(rows_[r].y[l]), c.push_back(rows_[r].bound[l]);
        return kink_.of(static_cast<Index>(f.size()), f.data(), y.data(), c.data());
    }
    // To y'alpha = 0.
    void restore_balance() {
        if (!intercept_) return;
        const LaneSums sums = sums_at(state_.b);
        const Lanes excess = state_.sum;
        Lanes share;
        bool only_free[kLanes];
        for (Index l = 0; l < n_lanes(); ++l) {
            const HeavySide side = heavy_side(sums, l);
            only_free[l] = side.free_can_give(std::abs(excess[l]));
            const double giving = only_free[l] ? side.free : side.free + side.bound;
            share[l] = live_[l] && giving > 0 ? std::abs(excess[l]) / giving : 0.0;
        }
        for (Index r = 0; r < n_; ++r) {
            Lanes t;
            bool moved = false;
            for (Index l = 0; l < n_lanes(); ++l) {
                if (share[l] == 0.0 || rows_[r].alpha[l] == 0.0 || rows_[r].y[l] * excess[l] <= 0) continue;
                if (only_free[l] && rows_[r].alpha[l] >= rows_[r].bound[l]) continue;
                t[l] = -rows_[r].y[l] * share[l] * rows_[r].alpha[l], moved = true;
                rows_[r].alpha[l] *= 1.0 - share[l], state_.sum[l] += t[l];
            }
            if (moved) add_lanes(row(r), t, factors(), W_.data());
        }
    }
    // Sums of many small steps, against rounding.
    void sum_anew() {
        std::fill(W_.begin(), W_.end(), Lanes{});
        state_.sum = Lanes{};
        for (Index r = 0; r < n_; ++r) {
            Lanes t;
            for (Index l = 0; l < n_lanes(); ++l) state_.sum[l] += t[l] = rows_[r].y[l] * rows_[r].alpha[l];
            add_lanes(row(r), t, factors(), W_.data());
        }
        work_.fresh = work_.done;
    }
    Lanes squares_of(const std::vector<Lanes>& W) const {  // w'Bw of every lane
        Lanes sum;
        for (Index k = 0; k < X_.d; ++k)
            for (Index l = 0; l < kLanes; ++l)
                sum[l] += inverse_.empty() ? W[k][l] * W[k][l] : W[k][l] * W[k][l] / inverse_[k][l];
        return sum;
    }

    Solution solution(Index l) const {
        Solution out;
        out.theta.resize(X_.d + intercept_);
        for (Index k = 0; k < X_.d; ++k) out.theta[k] = W_[k][l];
        if (intercept_) out.theta[X_.d] = best_b_[l];
        for (Index i : lanes_[l].chosen.J) out.alpha.push_back(rows_[number_[i]].alpha[l]);
        out.objective = certified_[l].objective, out.dual_objective = certified_[l].dual;
        out.solver = Solver::coordinate_descent;
        out.n_iter = work_.passes(options_.max_iter);
        out.slow = out.gap() > options_.tol && !only_visits_ && (!live_[l] || work_.done >= most_work());
        return out;
    }

    const SparseArray& X_;
    const std::vector<Lane>& lanes_;
    const Options& options_;
    bool intercept_;
    Index n_ = 0, n_live_ = 0;
    std::vector<Index> places_, number_;  // of the rows among all, and back
    Tour tour_;
    Work work_;
    std::vector<LaneRow> rows_;
    std::vector<Lanes> weight_;       // by row
    std::vector<Lanes> W_, inverse_;  // by feature
    AlikeRows alike_;
    bool compared_ = false;  // whether they were looked for
    Lanes total_weight_, square_of_mean_, best_b_;
    LaneState state_;
    std::array<Bounds, kLanes> certified_{};
    std::array<bool, kLanes> live_{}, gone_{};
    bool only_visits_ = false;  // whether what is too slow for them has little else to go on with
    std::array<Outlook, kLanes> outlook_{};
    BestIntercept kink_;
    double C_ = 0;
    strategy::Patience patience_{};
};

}  // namespace rm
