#include "run/docker/warm_container.h"

#include "base/text.h"
#include "base/url.h"
#include "run/docker/pause_archive.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr const char* kPauseFolder = "/.drover";

}  // namespace

void WarmContainer::ready(Then then) {
  const ContainerOptions& options = place_->setup.container->options;
  if (!id_.empty() && (!options.reuse || items_ >= options.reuse_limit)) discard();
  ++items_;
  if (!id_.empty()) return then(id_);
  place_->create(warm_container(place_->setup, place_->container_place(), kPauseFolder, kPauseName),
                 [self = shared_from_this(), then = std::move(then)](Result<std::string> made) {
                   if (!made) return then(pass(made));
                   self->fill(*made, then);
                 });
}

void WarmContainer::fill(const std::string& id, Then then) {
  DaemonRequest put = place_->daemon.request(
      "PUT", concat("/containers/", id, "/archive?path=", percent_encoded(kPauseFolder)), pause_archive());
  put.headers = {"Content-Type: application/x-tar"};
  place_->daemon.ask(std::move(put), "could not prepare a warm container",
                     [self = shared_from_this(), id, then = std::move(then)](Result<json::value> done) {
                       if (done) return self->start(id, then);
                       self->place_->remove(id);
                       then(pass(done));
                     });
}

void WarmContainer::start(const std::string& id, Then then) {
  place_->ask("POST", concat("/containers/", id, "/start"), "could not start a warm container",
              [self = shared_from_this(), id, then = std::move(then)](Result<json::value> started) {
                if (!started) {
                  self->place_->remove(id);
                  return then(pass(started));
                }
                self->id_ = id;
                self->items_ = 1;
                then(id);
              });
}

void WarmContainer::discard() {
  if (!id_.empty()) place_->remove(std::exchange(id_, {}));
  items_ = 0;
}

}  // namespace drover
