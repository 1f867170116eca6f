#include "net/inbox.h"

#include <boost/asio/post.hpp>

namespace drover {

void Inbox::post(Task task) {
  const std::scoped_lock lock(mutex_);
  if (context_ == nullptr) return;
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) boost::asio::post(*context_, [self = shared_from_this()] { self->run(); });
}

void Inbox::close() {
  std::vector<Task> dropped;
  const std::scoped_lock lock(mutex_);
  context_ = nullptr;
  dropped.swap(tasks_);
}

void Inbox::run() {
  std::vector<Task> tasks;
  {
    const std::scoped_lock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) {
    has_turn_ = true;
    task();
    has_turn_ = false;
  }
}

}  // namespace drover
