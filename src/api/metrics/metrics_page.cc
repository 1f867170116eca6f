#include "api/metrics/metrics_page.h"

namespace drover {

std::expected<ServiceCall, HttpResponse> MetricsPage::resolve(const HttpHead& head) {
  return ServiceCall{.needs = Permission{Action::read, "read the server's metrics"},
                     .log = log_by_method(head),
                     .handle = [this](const HttpRequest& /*request*/, HttpReply reply, const Asker& asker) {
                       backend_.later(asker.holder, [this, reply = std::make_shared<HttpReply>(std::move(reply))] {
                         reply->send({.status = 200,
                                      .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                                      .body = text_()});
                       });
                     }};
}

}  // namespace drover
