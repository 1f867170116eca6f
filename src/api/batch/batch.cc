#include "api/batch/batch.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cctype>

#include "api/aws/page.h"

extern "C" const char drover_batch_operations_begin[];
extern "C" const char drover_batch_operations_end[];

namespace drover::aws {

namespace json = boost::json;

BatchApi::BatchApi(Backend& backend, const Account& account)
    : AwsApi(backend, {.service = "batch", .protocol = Protocol::rest_json, .bad_input = "ClientException"},
             {drover_batch_operations_begin, drover_batch_operations_end}),
      account_(account),
      submitter_(backend) {
  serve_environments();
  serve_queues();
  serve_policies();
  serve_definitions();
  serve_submit();
  serve_jobs();
  serve_lists();
  serve_tags();
}

std::string name_in(std::string_view reference) {
  if (!reference.starts_with("arn:")) return std::string(reference);
  return std::string(reference.substr(reference.rfind('/') + 1));
}

bool is_batch_name(std::string_view name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0; };
  return !name.empty() && name.size() <= 128 && is_plain(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(name, [&](unsigned char c) { return is_plain(c) || c == '_' || c == '-'; });
}

std::unexpected<Fault> client_error(std::string message) {
  return failed("ClientException", std::move(message));
}

Outcome batch_page(const json::object& input, std::string_view member, json::array list) {
  return page_of({"nextToken", "maxResults", "ClientException"}, input, member, std::move(list));
}

}  // namespace drover::aws
