#include "net/response_head.h"

#include <algorithm>
#include <ctime>

#include "base/text.h"

namespace drover {
namespace {

/// How the body is framed is said here alone.
bool is_framing(std::string_view name) {
  return is_same_but_for_case(name, "content-length") || is_same_but_for_case(name, "transfer-encoding") ||
         is_same_but_for_case(name, "connection");
}

void append_line(std::string& out, std::string_view name, std::string_view value) {
  const std::size_t begin = out.size();
  out.append(name).append(": ").append(value);
  const auto breaks = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
  std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), breaks, ' ');
  out += "\r\n";
}

/// "Tue, 15 Nov 1994 08:12:31 GMT", made once a second.
std::string_view date_now() {
  thread_local std::time_t made_at = 0;
  thread_local char text[40] = "";
  const std::time_t now = std::time(nullptr);
  if (now != made_at) {
    static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::snprintf(text, sizeof text, "%s, %02d %s %d %02d:%02d:%02d GMT", kDays[utc.tm_wday], utc.tm_mday,
                  kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
    made_at = now;
  }
  return text;
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Status";
  }
}

std::string response_head(const HttpResponse& response, const ResponseShape& shape) {
  std::string out;
  out.reserve(160 + response.headers.size() * 48 + (shape.length < 8192 ? response.body.size() : 0));
  out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  out.append(reason_phrase(response.status)).append("\r\n");
  append_line(out, "Date", date_now());
  for (const HttpHeader& header : response.headers) {
    if (!is_framing(header.name)) append_line(out, header.name, header.value);
  }
  if (shape.framing == BodyFraming::sized) append_line(out, "Content-Length", std::to_string(shape.length));
  if (shape.framing == BodyFraming::chunked) append_line(out, "Transfer-Encoding", "chunked");
  if (shape.close) append_line(out, "Connection", "close");
  if (!shape.close && shape.say_keep_alive) append_line(out, "Connection", "keep-alive");
  out += "\r\n";
  return out;
}

}  // namespace drover
