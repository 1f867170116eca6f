#include "net/request_parser.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace drover {
namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::iequals;
using View = boost::beast::string_view;

namespace {

/// Most requests have fewer fields.
constexpr std::size_t kUsualFields = 8;
constexpr std::string_view kSchemes[] = {"http://", "https://"};

/// A version that may well exist. Beast gives the same error for one and for a line that ends wrongly.
bool names_another_version(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  return line.find(" HTTP/") != std::string_view::npos && line.find(" HTTP/1.") == std::string_view::npos;
}

int status_of(const error_code& error, std::string_view bytes) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::bad_version && names_another_version(bytes)) return 505;
  return 400;
}

}  // namespace

class RequestParser::Reader final : public http::basic_parser<true> {
 public:
  explicit Reader(std::size_t most_header_bytes) : most_header_bytes_(most_header_bytes) {
    header_limit(static_cast<std::uint32_t>(most_header_bytes));
    body_limit(boost::none);
  }

  Step feed(std::string_view bytes);

  HttpHead head;
  std::string body;
  bool wants_continue = false;
  bool is_http_1_0 = false;
  int refusal = 0;

 private:
  void on_request_impl(http::verb, View method, View target, int version, error_code&) override;
  void on_field_impl(http::field field, View name, View value, error_code&) override;
  void on_header_impl(error_code&) override;
  void on_response_impl(int, View, int, error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(View bytes, error_code&) override;
  void on_chunk_header_impl(std::uint64_t, View, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, View bytes, error_code& error) override {
    return on_body_impl(bytes, error);
  }
  void on_finish_impl(error_code&) override {}

  std::size_t most_header_bytes_;
  std::size_t head_bytes_ = 0;
  bool fields_ended_ = false;
  int hosts_ = 0;
};

RequestParser::Step RequestParser::Reader::feed(std::string_view bytes) {
  std::size_t used = 0;
  // Some clients put an empty line behind a body.
  while (!got_some() && used < bytes.size() && (bytes[used] == '\r' || bytes[used] == '\n')) ++used;
  while (used < bytes.size() && !is_done()) {
    error_code error;
    const bool had_head = is_header_done();
    const std::size_t taken = put({bytes.data() + used, bytes.size() - used}, error);
    used += taken;
    // Beast forgets the fields that it has taken when more has to come: a head of many short ones would have no end.
    if (!had_head) head_bytes_ += taken;
    if (head_bytes_ > most_header_bytes_) error = http::error::header_limit;
    if (error == http::error::need_more) {
      // Only a line of a chunk can be this long by now: Beast has no limit of its own for those.
      if (bytes.size() - used <= most_header_bytes_) return {Event::more, used};
      error = http::error::header_limit;
    }
    if (error) {
      if (refusal == 0) refusal = status_of(error, bytes);
      return {Event::broken, used};
    }
    if (!had_head && is_header_done()) {
      eager(true);
      return {Event::head, used};
    }
  }
  return {is_done() ? Event::whole : Event::more, used};
}

void RequestParser::Reader::on_request_impl(http::verb verb, View method, View target, int version, error_code& error) {
  is_http_1_0 = version == 10;
  head.headers.reserve(kUsualFields);
  head.method = method;
  std::string_view rest = target;
  for (const std::string_view scheme : kSchemes) {
    if (!rest.starts_with(scheme)) continue;
    rest.remove_prefix(std::min(rest.find_first_of("/?", scheme.size()), rest.size()));
    if (!rest.starts_with('/')) head.path = "/";
  }
  const std::size_t mark = std::min(rest.find('?'), rest.size());
  head.path += rest.substr(0, mark);
  if (mark < rest.size()) head.query = rest.substr(mark + 1);
  if (verb == http::verb::connect) {
    refusal = 501;
    error = http::error::bad_method;
  } else if (!head.path.starts_with('/') && head.path != "*") {
    error = http::error::bad_target;
  }
}

void RequestParser::Reader::on_field_impl(http::field field, View name, View value, error_code& error) {
  // What follows a chunked body comes too late to mean anything.
  if (fields_ended_) return;
  if (field == http::field::host) ++hosts_;
  if (field == http::field::transfer_encoding && !iequals(value, "chunked")) {
    refusal = 501;
    error = http::error::bad_transfer_encoding;
  }
  if (field == http::field::expect) {
    wants_continue = iequals(value, "100-continue");
    if (!wants_continue) {
      refusal = 417;
      error = http::error::bad_value;
    }
  }
  head.headers.push_back({std::string(name), std::string(value)});
}

void RequestParser::Reader::on_header_impl(error_code& error) {
  fields_ended_ = true;
  if (hosts_ > 1 || (hosts_ == 0 && !is_http_1_0)) error = http::error::bad_field;
  if (is_http_1_0 && chunked()) error = http::error::bad_transfer_encoding;
}

std::size_t RequestParser::Reader::on_body_impl(View bytes, error_code&) {
  body += bytes;
  return bytes.size();
}

RequestParser::RequestParser(std::size_t most_header_bytes) : reader_(std::make_unique<Reader>(most_header_bytes)) {}
RequestParser::~RequestParser() = default;

RequestParser::Step RequestParser::feed(std::string_view bytes) {
  return reader_->feed(bytes);
}

HttpHead& RequestParser::head() {
  return reader_->head;
}

std::string& RequestParser::body() {
  return reader_->body;
}

bool RequestParser::awaits_body() const {
  return !reader_->is_done();
}

std::uint64_t RequestParser::stated_length() const {
  const auto length = reader_->content_length();
  return length ? *length : 0;
}

void RequestParser::limit_body(std::uint64_t most_bytes) {
  reader_->body_limit(most_bytes);
}

bool RequestParser::wants_continue() const {
  return reader_->wants_continue;
}

bool RequestParser::is_http_1_0() const {
  return reader_->is_http_1_0;
}

bool RequestParser::keep_alive() const {
  return reader_->keep_alive();
}

int RequestParser::refusal() const {
  return reader_->refusal;
}

}  // namespace drover
