#include "engine/engine.h"

#include <chrono>
#include <future>

namespace drover {

Result<std::unique_ptr<Engine>> Engine::start(Store& store, WallClock& wall, SteadyClock& steady, Listener listener,
                                              LedgerFetcher::OpenReader open_reader) {
  Durable durable;
  if (auto loaded = store.load([&](const Mutation& put) { return durable.restore(put); }); !loaded) {
    return pass(loaded);
  }
  const std::int64_t last_ms = durable.counters.now_ms;
  const Timeline timeline(wall, steady, last_ms);
  const std::int64_t now_ms = timeline.now_ms();
  Core core(std::move(durable), now_ms);
  return std::unique_ptr<Engine>(new Engine(store, timeline, last_ms == 0 ? 0 : now_ms - last_ms, std::move(core),
                                            std::move(listener), std::move(open_reader)));
}

Engine::Engine(Store& store, Timeline timeline, std::int64_t quiet_before_ms, Core core, Listener listener,
               LedgerFetcher::OpenReader open_reader)
    : store_(store),
      timeline_(timeline),
      quiet_before_ms_(quiet_before_ms),
      listener_(std::move(listener)),
      stepper_(std::move(core)) {
  if (open_reader) {
    fetcher_ = std::make_unique<LedgerFetcher>(
        std::move(open_reader), [this](Command found) { post(std::move(found), [](const Result<Effect>&) {}); });
  }
  core_thread_ = std::thread([this] { run_core(); });
  store_thread_ = std::thread([this] { run_store(); });
}

// What was posted before is committed and answered first.
Engine::~Engine() {
  if (fetcher_) fetcher_->stop();
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  core_wakes_.notify_all();
  core_thread_.join();
  store_thread_.join();
}

void Engine::post(Command command, Reply reply) {
  std::unique_lock lock(mutex_);
  if (failed_) {
    const Error error = *failed_;
    lock.unlock();
    reply(std::unexpected(error));
    return;
  }
  const Ticket ticket{next_ticket_++};
  waiting_.emplace_hint(waiting_.end(), ticket, std::move(reply));
  inbox_.push_back({ticket, std::move(command)});
  // Those before it have woken the core, or the end of the commit will.
  const bool wakes_core = inbox_.size() == enough_work();
  lock.unlock();
  if (wakes_core) core_wakes_.notify_one();
}

void Engine::hold() {
  const std::scoped_lock lock(mutex_);
  ++holds_;
}

void Engine::release() {
  std::unique_lock lock(mutex_);
  --holds_;
  is_released_ = !inbox_.empty();
  const bool wakes_core = inbox_.size() >= enough_work();
  lock.unlock();
  if (wakes_core) core_wakes_.notify_one();
}

std::optional<Error> Engine::failure() {
  const std::scoped_lock lock(mutex_);
  return failed_;
}

Result<Effect> Engine::ask(Command command) {
  std::promise<Result<Effect>> promise;
  auto answer = promise.get_future();
  post(std::move(command), [&](Result<Effect> effect) { promise.set_value(std::move(effect)); });
  return answer.get();
}

// While the store is stalled no time passes for the core: see engine/stepper.h.
bool Engine::may_step() const {
  return !next_ || timeline_.now_ms() - committing_since_ms_ < Stepper::kBeatMs;
}

void Engine::run_core() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto wakes = [&] { return failed_ || (may_step() && (closing_ || inbox_.size() >= enough_work())); };
    const auto deadline = stepper_.next_deadline();
    if (deadline && may_step()) {
      core_wakes_.wait_for(lock, std::chrono::milliseconds(*deadline - timeline_.now_ms()), wakes);
    } else {
      core_wakes_.wait(lock, [&] { return wakes() || (deadline && may_step()); });
    }
    if (failed_) break;
    if (!may_step()) continue;

    std::vector<Request> requests = std::exchange(inbox_, {});
    is_released_ = false;
    const bool last = closing_;
    lock.unlock();
    for (Request& request : requests) stepper_.post(std::move(request));
    auto step = stepper_.step(timeline_.now_ms());
    lock.lock();
    if (step && step->batch.empty() && !next_ && !committing_ && !letting_out_) {
      // Nothing to wait for: no disk, and nobody whose answer should go out first.
      lock.unlock();
      let_out(std::move(step->answers));
      lock.lock();
    } else if (step && next_) {
      next_->append(std::move(*step));
    } else if (step) {
      next_ = std::move(*step);
      store_wakes_.notify_one();
    } else if (last) {
      break;
    }
  }
  core_done_ = true;
  store_wakes_.notify_one();
}

void Engine::run_store() {
  std::unique_lock lock(mutex_);
  while (true) {
    store_wakes_.wait(lock, [&] { return next_ || core_done_; });
    if (!next_) return;
    const bool core_was_stalled = !may_step();
    Step step = std::move(*next_);
    next_.reset();
    committing_ = true;
    committing_since_ms_ = timeline_.now_ms();
    lock.unlock();
    if (core_was_stalled) core_wakes_.notify_one();
    auto done = step.batch.empty() ? Result<void>{} : store_.commit(step.batch);
    lock.lock();
    if (!done) {
      failed_ = done.error();
      next_.reset();
      lock.unlock();
      core_wakes_.notify_all();
      return stop_with(done.error());
    }
    // The core goes on while the answers go out.
    committing_ = false;
    letting_out_ = true;
    const bool wakes_core = !inbox_.empty();
    lock.unlock();
    if (wakes_core) core_wakes_.notify_one();
    let_out(std::move(step.answers));
    lock.lock();
    letting_out_ = false;
  }
}

std::vector<Engine::Reply> Engine::take_replies(const std::vector<Answer>& answers) {
  std::vector<Reply> out(answers.size());
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].to) continue;
    if (auto node = waiting_.extract(answers[i].to)) out[i] = std::move(node.mapped());
  }
  return out;
}

void Engine::let_out(std::vector<Answer> answers) {
  const std::vector<Reply> replies = take_replies(answers);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Answer& answer = answers[i];
    if (!answer.to) {
      if (const auto* page = std::get_if<ReopenWanted>(&answer.effect)) fetch(*page);
      if (const auto* marks = std::get_if<MarksWanted>(&answer.effect)) fetch(*marks);
      listener_(answer.effect);
      continue;
    }
    const Reply& reply = replies[i];
    if (!reply) continue;
    if (auto* refused = std::get_if<Refused>(&answer.effect)) {
      reply(std::unexpected(std::move(refused->error)));
    } else {
      reply(std::move(answer.effect));
    }
  }
}

void Engine::fetch(LedgerFetcher::Wanted wanted) {
  if (fetcher_) return fetcher_->want(std::move(wanted));
  const auto* marks = std::get_if<MarksWanted>(&wanted);
  if (marks == nullptr) return;
  Error error{ErrorCode::conflict, "the job has ended", ""};
  post(MarksRead{marks->job, nullptr, std::move(error)}, [](const Result<Effect>&) {});
}

void Engine::stop_with(const Error& error) {
  std::map<Ticket, Reply> waiting;
  {
    const std::scoped_lock lock(mutex_);
    waiting.swap(waiting_);
  }
  for (auto& [ticket, reply] : waiting) reply(std::unexpected(error));
}

}  // namespace drover
