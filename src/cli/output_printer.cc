#include "cli/output_printer.h"

#include <utility>

#include "cli/print.h"
#include "cli/raw_log.h"

namespace drover {

OutputPrinter::OutputPrinter(const std::string& logs, PrintOrder order, std::vector<bool> is_settled)
    : order_(order), reader_(logs), is_settled_(std::move(is_settled)), thread_([this] { work(); }) {}

OutputPrinter::~OutputPrinter() {
  {
    const std::scoped_lock lock(mutex_);
    is_abandoned_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void OutputPrinter::add(FinishedOutput output) {
  {
    const std::scoped_lock lock(mutex_);
    added_.push_back(std::move(output));
  }
  changed_.notify_all();
}

Result<void> OutputPrinter::finish() {
  {
    const std::scoped_lock lock(mutex_);
    is_last_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (error_) return std::unexpected(*error_);
  return {};
}

void OutputPrinter::work() {
  bool is_last = false;
  while (!is_last) {
    std::deque<FinishedOutput> added;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !added_.empty() || is_last_ || is_abandoned_; });
      if (is_abandoned_) return;
      added.swap(added_);
      is_last = is_last_;
    }
    for (FinishedOutput& output : added) {
      if (order_ == PrintOrder::as_they_end) {
        print(output);
      } else {
        const ItemIndex item = output.key.item;
        out_of_turn_.insert_or_assign(item, std::move(output));
      }
    }
    print_in_turn();
    flush_output();
  }
  // Items that never ran leave gaps.
  for (const auto& [item, output] : out_of_turn_) print(output);
  flush_output();
}

void OutputPrinter::print_in_turn() {
  for (;; ++next_) {
    if (next_ < is_settled_.size() && is_settled_[next_]) continue;
    const auto it = out_of_turn_.find(ItemIndex{next_});
    if (it == out_of_turn_.end()) return;
    print(it->second);
    out_of_turn_.erase(it);
  }
}

void OutputPrinter::print(const FinishedOutput& output) {
  if (!is_read_) return;
  auto printed = print_raw_log(reader_, output.key, ExtentList::decode(output.extents.value));
  if (printed) {
    is_read_ = *printed;
    return;
  }
  const std::scoped_lock lock(mutex_);
  if (!error_) error_ = printed.error();
}

}  // namespace drover
