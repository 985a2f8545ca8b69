// Which rows take part in a problem, and on which side: by K rows of n labels (-1, +1, and 0 for rows that take no part); by the
// classes of the rows and the two sides of every problem, which takes no memory that grows with K n; or by K rows of n targets,
// which all rows have on both sides.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "rows/source.hpp"

namespace rm {

struct Labels {
    const double* rows;                 // K x n, or null
    const std::int64_t *codes, *sides;  // classes of the n rows, from 0; K pairs (class of -1, class of +1)
    Index n, n_classes;
    const double *targets = nullptr, *tubes = nullptr;  // K x n, or null; K times (epsilon, weight above the tube, weight below it)

    static constexpr std::int64_t kRest = -1;  // in place of a class of -1: all others
};

// Row numbers of a training part.
struct Subset {
    const std::int64_t* rows;
    Index size;
};

// The rows of a training part that weigh something, and where among them those of each class are.
class Part {
  public:
    Part(const Labels& labels, const double* weights, const Subset* subset) : labels_(labels) {
        const Index m = subset ? subset->size : labels.n;
        rows_.reserve(m);
        for (Index j = 0; j < m; ++j) {
            const Index i = subset ? static_cast<Index>(subset->rows[j]) : j;
            if (i < 0 || i >= labels.n) throw std::invalid_argument("subsets must hold row numbers of the data");
            if (weights[i] > 0.0) rows_.push_back(i);
        }
        if (labels.rows || labels.targets) return;
        of_class_.resize(labels.n_classes);
        for (std::size_t j = 0; j < rows_.size(); ++j)
            of_class_[checked(labels.codes[rows_[j]])].push_back(static_cast<Index>(j));
    }

    // The rows that take part in problem k, their labels and targets, in the order of the part; at least one.
    void choose(Index k, Chosen& chosen) const {
        labels_.targets ? choose_twice(k, chosen) : choose_any(k, chosen.J, chosen.y);
        if (chosen.J.empty()) throw std::invalid_argument("a problem has no rows: none of positive weight is labelled -1 or +1.");
    }

    // Whether problem k has most of the rows, as those of one class against the rest have.
    bool most_take_part(Index k) const {
        if (!labels_.rows) return labels_.sides[2 * k] == Labels::kRest || labels_.n_classes == 2;
        const double* labels = labels_.rows + k * labels_.n;
        const auto some = std::count_if(rows_.begin(), rows_.end(), [&](Index i) { return labels[i] != 0.0; });
        return strategy::most_in_common(some, static_cast<Index>(rows_.size()));
    }

    // What the loss of each of these rows weighs.
    Vector weights(Index k, const Chosen& chosen, const double* given) const {
        Vector out = pick(given, chosen.J);
        for (std::size_t j = 0; j < out.size() && chosen.twice(); ++j) out[j] *= labels_.tubes[3 * k + (chosen.y[j] > 0 ? 1 : 2)];
        return out;
    }

  private:
    // Above the tube f is below target - epsilon, below it f is above target + epsilon.
    void choose_twice(Index k, Chosen& chosen) const {
        const double *targets = labels_.targets + k * labels_.n, epsilon = labels_.tubes[3 * k];
        for (const double side : {1.0, -1.0})
            for (Index i : rows_)
                chosen.J.push_back(i), chosen.y.push_back(side), chosen.t.push_back(side * targets[i] - epsilon);
    }
    void choose_any(Index k, std::vector<Index>& J, Vector& y) const {
        J.clear(), y.clear();
        if (labels_.rows) return choose_labelled(labels_.rows + k * labels_.n, J, y);
        const auto minus = labels_.sides[2 * k];
        const auto plus = checked(labels_.sides[2 * k + 1]);
        if (minus == Labels::kRest) {
            J = rows_;
            y.assign(J.size(), -1.0);
            for (Index j : of_class_[plus]) y[j] = 1.0;
            return;
        }
        const auto &low = of_class_[checked(minus)], &high = of_class_[plus];
        J.resize(low.size() + high.size());
        std::merge(low.begin(), low.end(), high.begin(), high.end(), J.begin());
        for (auto& place : J) {
            place = rows_[place];
            y.push_back(labels_.codes[place] == plus ? 1.0 : -1.0);
        }
    }
    std::int64_t checked(std::int64_t code) const {
        if (code < 0 || code >= labels_.n_classes) throw std::invalid_argument("labels must hold numbers of classes");
        return code;
    }
    void choose_labelled(const double* labels, std::vector<Index>& J, Vector& y) const {
        J.reserve(rows_.size()), y.reserve(rows_.size());
        for (Index i : rows_)
            if (labels[i] == 1.0 || labels[i] == -1.0)
                J.push_back(i), y.push_back(labels[i]);
            else if (labels[i] != 0.0)
                throw std::invalid_argument("labels must be -1, +1, or 0 for a row that takes no part.");
    }

    const Labels& labels_;
    std::vector<Index> rows_;
    std::vector<std::vector<Index>> of_class_;
};

}  // namespace rm
