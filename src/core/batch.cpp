#include "batch.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "path.hpp"

namespace rm {
namespace {

struct Interrupted {};

// One part for every subset, shared by all threads.
std::vector<Part> parts_of(const Batch& batch) {
    std::vector<Part> parts;
    if (batch.subsets.empty()) parts.emplace_back(batch.labels, batch.weights, nullptr);
    for (const Subset& subset : batch.subsets) parts.emplace_back(batch.labels, batch.weights, &subset);
    return parts;
}

using Group = std::vector<Index>;  // problems that are solved together

bool has_duplicates(const Subset& subset, Index n) {
    std::vector<bool> seen(n);
    for (Index j = 0; j < subset.size; ++j) {
        if (seen[subset.rows[j]]) return true;
        seen[subset.rows[j]] = true;
    }
    return false;
}

bool can_be_together(const Batch& batch, const Options& options, const Start& start) {
    const Quadratics& B = batch.regularizers;
    if (!std::holds_alternative<SparseArray>(batch.source) || !strategy::visit(batch.d())) return false;
    if (batch.labels.targets || B.dense || B.linear || start.theta || start.alpha || options.method == Method::interior_point) return false;
    return std::none_of(batch.subsets.begin(), batch.subsets.end(),
                        [&](const Subset& subset) { return has_duplicates(subset, batch.n()); });
}

// Problems on a sparse matrix that have most of their rows in common are visited together: those with the same labels on several
// training parts, and all that have most of the rows, as one class against the rest has. Lanes with the same labels are neighbours.
std::vector<Group> groups_of(const Batch& batch, const std::vector<Part>& parts, const Options& options, const Start& start) {
    std::vector<Group> groups;
    std::map<std::int64_t, Group> by_label;
    const auto cut = [&](const Group& own) {  // into groups of about equal size
        const Index size = static_cast<Index>(own.size()), count = (size + kLanes - 1) / kLanes;
        for (Index g = 0; g < count; ++g) groups.emplace_back(own.begin() + g * size / count, own.begin() + (g + 1) * size / count);
    };
    const bool possible = can_be_together(batch, options, start);
    for (Index p = 0; p < batch.size; ++p)
        if (possible)
            by_label[batch.cells[3 * p + 1]].push_back(p);
        else
            groups.push_back({p});
    Group common;
    for (const auto& [label, own] : by_label)
        if (parts[batch.cells[3 * own[0]]].most_take_part(label))
            common.insert(common.end(), own.begin(), own.end());
        else
            cut(own);
    cut(common);
    return groups;
}

// A dense array of zeros, mostly, where its rows are visited one after the other.
bool better_sparse(const Batch& batch, const Options& options) {
    const auto* dense = std::get_if<DenseArray>(&batch.source);
    if (!dense || batch.regularizers.dense || batch.regularizers.linear) return false;
    return options.method != Method::interior_point && SparseCopy::pays(*dense);
}

// What one thread works with: its regulariser is kept as long as problems have the same one, since it may be factored.
class Worker {
  public:
    Worker(const Batch& batch, const std::vector<Part>& parts, const Sizes& sizes, const Options& options, const Start& start,
           const Outputs& out)
        : batch_(batch), parts_(parts), sizes_(sizes), options_(options), start_(start), out_(out) {}

    void solve(const Group& group) { group.size() == 1 ? solve_alone(group[0]) : solve_together(group); }

  private:
    void solve_alone(Index p) {
        const std::int64_t* cell = batch_.cells + 3 * p;
        const Index n = batch_.n(), d = batch_.d(), r = cell[2];
        prepare(r);
        Chosen chosen;
        const Part& part = parts_[cell[0]];
        part.choose(cell[1], chosen);
        chosen.intercept = batch_.intercept;
        Solution start;
        const Index D = d + batch_.intercept;
        if (start_.theta) start.theta.assign(start_.theta + p * D, start_.theta + (p + 1) * D);
        if (start_.alpha) start.alpha = pick(start_.alpha + p * n, chosen.J);
        for (std::size_t j = 0; j < start.alpha.size() && chosen.twice(); ++j)  // signed: of one side or the other
            start.alpha[j] = std::max(0.0, chosen.y[j] * start.alpha[j]);
        std::visit(
            [&](const auto& source) {
                chosen.mean = batch_.intercept ? source.centre(chosen.J) : Vector(d, 0.0);
                const PathProblem<std::decay_t<decltype(source)>> problem{
                    source, chosen, *regularizer_, linear_.empty() ? nullptr : linear_.data(), sizes_,
                    part.weights(cell[1], chosen, batch_.weights), batch_.Cs, batch_.n_Cs};
                run_path(problem, options_, std::move(start), sink(p));
            },
            batch_.source);
    }
    void solve_together(const Group& group) {
        const SparseArray& source = std::get<SparseArray>(batch_.source);
        std::vector<Chosen> chosen(group.size());
        std::vector<Regularizer> regularizers;
        std::vector<PathProblem<SparseArray>> problems;
        std::vector<Sink> sinks;
        regularizers.reserve(group.size());
        for (std::size_t l = 0; l < group.size(); ++l) {
            const std::int64_t* cell = batch_.cells + 3 * group[l];
            parts_[cell[0]].choose(cell[1], chosen[l]);
            chosen[l].intercept = batch_.intercept, chosen[l].mean.assign(batch_.d(), 0.0);
            const double* matrices = batch_.regularizers.matrices;
            regularizers.emplace_back(matrices ? matrices + cell[2] * batch_.d() : nullptr, batch_.d(), false);
            problems.push_back({source, chosen[l], regularizers[l], nullptr, sizes_, pick(batch_.weights, chosen[l].J), batch_.Cs,
                                batch_.n_Cs});
            sinks.push_back(sink(group[l]));
        }
        run_side_by_side(problems, options_, sinks);
    }
    void prepare(Index r) {
        if (r == current_) return;
        const Quadratics& form = batch_.regularizers;
        const Index d = batch_.d(), size = form.dense ? d * d : d;
        regularizer_.emplace(form.matrices ? form.matrices + r * size : nullptr, d, form.dense);
        if (!regularizer_->valid()) throw std::invalid_argument("regularizer is not positive definite");
        if (form.linear) {
            linear_.assign(form.linear + r * d, form.linear + (r + 1) * d);
            linear_.push_back(form.constants[r]);
        }
        current_ = r;
    }
    Sink sink(Index p) const {
        const Index K = batch_.n_Cs, first = p * K;
        return {out_.coef + first * batch_.d(),
                out_.intercept + first,
                out_.objective + first,
                out_.dual_objective + first,
                out_.alpha ? out_.alpha + first * batch_.n() : nullptr,
                out_.n_iter + first,
                out_.solver + first};
    }

    const Batch& batch_;
    const std::vector<Part>& parts_;
    const Sizes& sizes_;
    const Options& options_;
    const Start& start_;
    const Outputs& out_;
    std::optional<Regularizer> regularizer_;
    Vector linear_;
    Index current_ = -1;
};

}  // namespace

void solve_batch(const Batch& batch, const Options& options, int n_threads, const Start& start, const Outputs& out) {
    if (better_sparse(batch, options)) {
        const SparseCopy copy(std::get<DenseArray>(batch.source));
        Batch same = batch;
        same.source = copy.array();
        return solve_batch(same, options, n_threads, start, out);
    }
    std::atomic<Index> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::mutex guard;
    const std::vector<Part> parts = parts_of(batch);
    const Sizes sizes = std::visit([](const auto& rows) { return rows.sizes(); }, batch.source);
    const std::vector<Group> groups = groups_of(batch, parts, options, start);
    const Index n_groups = static_cast<Index>(groups.size());
    auto work = [&](bool caller) {
        Options mine = options;
        mine.poll = [&, caller] {
            if (stop) throw Interrupted{};
            if (caller && options.poll) options.poll();
        };
        try {
            Worker worker(batch, parts, sizes, mine, start, out);
            for (Index g; (g = next++) < n_groups;) worker.solve(groups[g]);
        } catch (...) {
            stop = true;
            const std::lock_guard<std::mutex> lock(guard);
            if (!failure || caller) failure = std::current_exception();  // the caller's carries the signal
        }
    };
    std::vector<std::thread> threads;
    try {
        for (Index t = 1; t < std::min(static_cast<Index>(n_threads), n_groups); ++t) threads.emplace_back(work, false);
    } catch (const std::system_error&) {
        // fewer threads than asked for do the same work
    }
    work(true);
    for (auto& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace rm
