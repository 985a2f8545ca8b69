#include "batch.hpp"

#include <atomic>
#include <exception>
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

// What one thread works with: its regulariser is kept as long as problems have the same one, since it may be factored.
class Worker {
  public:
    Worker(const Batch& batch, const std::vector<Part>& parts, const Options& options, const Start& start, const Outputs& out)
        : batch_(batch), parts_(parts), options_(options), start_(start), out_(out) {}

    void solve(Index p) {
        const std::int64_t* cell = batch_.cells + 3 * p;
        const Index n = batch_.n(), d = batch_.d(), r = cell[2];
        prepare(r);
        Chosen chosen;
        parts_[cell[0]].choose(cell[1], chosen.J, chosen.y);
        chosen.intercept = batch_.intercept;
        Solution start;
        const Index D = d + batch_.intercept;
        if (start_.theta) start.theta.assign(start_.theta + p * D, start_.theta + (p + 1) * D);
        if (start_.alpha) start.alpha = pick(start_.alpha + p * n, chosen.J);
        std::visit(
            [&](const auto& source) {
                chosen.mean = batch_.intercept ? source.centre(chosen.J) : Vector(d, 0.0);
                const PathProblem<std::decay_t<decltype(source)>> problem{
                    source, chosen, *regularizer_, linear_.empty() ? nullptr : linear_.data(),
                    pick(batch_.weights, chosen.J), batch_.Cs, batch_.n_Cs};
                run_path(problem, options_, std::move(start), sink(p));
            },
            batch_.source);
    }

  private:
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
                out_.n_iter + first};
    }

    const Batch& batch_;
    const std::vector<Part>& parts_;
    const Options& options_;
    const Start& start_;
    const Outputs& out_;
    std::optional<Regularizer> regularizer_;
    Vector linear_;
    Index current_ = -1;
};

}  // namespace

void solve_batch(const Batch& batch, const Options& options, int n_threads, const Start& start, const Outputs& out) {
    std::atomic<Index> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::mutex guard;
    const std::vector<Part> parts = parts_of(batch);
    auto work = [&](bool caller) {
        Options mine = options;
        mine.poll = [&, caller] {
            if (stop) throw Interrupted{};
            if (caller && options.poll) options.poll();
        };
        try {
            Worker worker(batch, parts, mine, start, out);
            for (Index p; (p = next++) < batch.size;) worker.solve(p);
        } catch (...) {
            stop = true;
            const std::lock_guard<std::mutex> lock(guard);
            if (!failure || caller) failure = std::current_exception();  // the caller's carries the signal
        }
    };
    std::vector<std::thread> threads;
    try {
        for (Index t = 1; t < std::min<Index>(n_threads, batch.size); ++t) threads.emplace_back(work, false);
    } catch (const std::system_error&) {
        // fewer threads than asked for do the same work
    }
    work(true);
    for (auto& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace rm
