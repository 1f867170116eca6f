#include "objects/http_store.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/units.h"
#include "objects/object_contract.h"

namespace drover {
namespace {

/// A web server with one file; what it does wrong can be set.
struct FakeSite {
  std::string file = some_bytes(1, 100'000);
  std::string etag = "\"one\"";
  bool allows_head = true;
  bool knows_ranges = true;
  bool states_size = true;
  std::size_t cut_off_after = std::string::npos;  // bytes of each body
  int unavailable = 0;                            // calls that are answered with 503
  std::string redirects_to;
  std::vector<std::string> asked;  // "GET http://host/path"

  HttpResponse answer(const std::string& base, const HttpCall& call, bool& breaks) {
    asked.push_back(concat(call.method, " ", base, call.path));
    if (unavailable > 0) return --unavailable, HttpResponse{503, {}, "busy"};
    if (!redirects_to.empty() && call.path == "/moved") return {302, {{"Location", redirects_to}}, ""};
    if (call.path != "/f") return {404, {}, ""};
    if (call.method == "HEAD" && !allows_head) return {405, {}, ""};
    std::uint64_t from = 0;
    std::uint64_t end = file.size();
    bool is_part = false;
    for (const HttpHeader& it : call.headers) {
      if (it.name == "If-Match" && it.value != etag) return {412, {}, ""};
      if (it.name != "Range" || !knows_ranges) continue;
      std::string_view range = std::string_view(it.value).substr(6);
      from = *parse_number(take_until(range, '-'));
      end = std::min<std::uint64_t>(file.size(), *parse_number(range) + 1);
      is_part = true;
    }
    HttpResponse out{is_part ? 206 : 200, {}, ""};
    if (!etag.empty()) out.headers.push_back({"ETag", etag});
    if (states_size) out.headers.push_back({"Content-Length", std::to_string(end - from)});
    if (is_part) out.headers.push_back({"Content-Range", concat("bytes ", from, "-", end - 1, "/", file.size())});
    if (call.method == "HEAD") return out;
    const std::string body = file.substr(from, end - from);
    const bool is_taken = call.take && (call.take_status == 0 || call.take_status == out.status);
    breaks = body.size() > cut_off_after && (is_taken || is_part);
    if (is_taken && !call.take(body.substr(0, cut_off_after))) breaks = true;
    return out;
  }
};

class FakeSiteClient : public HttpClient {
 public:
  FakeSiteClient(FakeSite& site, std::string base) : site_(site), base_(std::move(base)) {}
  Result<HttpResponse> call(const HttpCall& call) override {
    bool breaks = false;
    HttpResponse out = site_.answer(base_, call, breaks);
    if (breaks) return fail(ErrorCode::io, "the connection broke off");
    return out;
  }
  void abort() override {}

 private:
  FakeSite& site_;
  const std::string base_;
};

class HttpStoreTest : public testing::Test {
 protected:
  HttpStore store_{"https://example.org",
                   {.http = [this](const std::string& base) -> Result<std::unique_ptr<HttpClient>> {
                      return std::make_unique<FakeSiteClient>(site_, base);
                    },
                    .sleep = [this](std::int64_t ms) { slept_ms_ += ms; }}};
  FakeSite site_;
  std::int64_t slept_ms_ = 0;
};

TEST_F(HttpStoreTest, ReadsFilesAndPartsOfThem) {
  const auto about = store_.head("f");
  ASSERT_TRUE(about) << about.error().message;
  EXPECT_EQ(about->size, 100'000U);
  EXPECT_TRUE(text_of(store_, "f") == site_.file);
  EXPECT_TRUE(text_of(store_, "f", {50'000, 1000}) == site_.file.substr(50'000, 1000));
  EXPECT_TRUE(text_of(store_, "f", {99'999, {}}) == site_.file.substr(99'999));
  EXPECT_TRUE(text_of(store_, "f", {100'001, {}}).contains("more were asked for"));
  EXPECT_EQ(store_.head("none").error().code, ErrorCode::not_found);
  EXPECT_EQ(store_.get("none", {}, [](std::string_view) { return Result<void>(); }).error().code, ErrorCode::not_found);
}

TEST_F(HttpStoreTest, AnEmptyFileAndOneWithoutSizeAreRead) {
  site_.file.clear();
  EXPECT_EQ(text_of(store_, "f"), "");
  site_.file = some_bytes(2, 5000);
  site_.states_size = false;
  EXPECT_TRUE(text_of(store_, "f") == site_.file);
  EXPECT_TRUE(text_of(store_, "f", {10, 10}).contains("does not send parts"));
}

TEST_F(HttpStoreTest, ABodyThatBreaksOffIsResumed) {
  site_.cut_off_after = 30'000;
  EXPECT_TRUE(text_of(store_, "f") == site_.file);
  EXPECT_GT(slept_ms_, 0);
}

TEST_F(HttpStoreTest, ABodyThatMayHaveChangedIsNotResumed) {
  site_.cut_off_after = 30'000;
  site_.etag.clear();
  EXPECT_TRUE(text_of(store_, "f").contains("broke off"));
  site_.etag = "W/\"weak\"";
  EXPECT_TRUE(text_of(store_, "f").contains("broke off"));
  site_.etag = "\"one\"";
  site_.knows_ranges = false;
  EXPECT_TRUE(text_of(store_, "f").contains("does not send parts"));
}

TEST_F(HttpStoreTest, OneThatIsReplacedMeanwhileIsNamed) {
  site_.cut_off_after = 30'000;
  std::string out;
  const auto got = store_.get("f", {}, [&](std::string_view bytes) -> Result<void> {
    out += bytes;
    site_.etag = "\"two\"";
    return {};
  });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::conflict) << got.error().message;
}

TEST_F(HttpStoreTest, AServerThatIsBusyIsAskedAgain) {
  site_.unavailable = 3;
  EXPECT_TRUE(text_of(store_, "f") == site_.file);
  site_.unavailable = 1000;
  EXPECT_EQ(store_.head("f").error().code, ErrorCode::unreachable);
}

TEST_F(HttpStoreTest, WhereHeadIsRefusedAByteSaysTheSize) {
  site_.allows_head = false;
  const auto about = store_.head("f");
  ASSERT_TRUE(about) << about.error().message;
  EXPECT_EQ(about->size, 100'000U);
  EXPECT_TRUE(text_of(store_, "f") == site_.file);
}

TEST_F(HttpStoreTest, RedirectionsAreFollowedButNotIntoTheOpen) {
  site_.redirects_to = "https://cdn.example.net/f";
  EXPECT_TRUE(text_of(store_, "moved") == site_.file);
  EXPECT_EQ(site_.asked.back(), "GET https://cdn.example.net/f");
  site_.redirects_to = "/f";
  EXPECT_TRUE(text_of(store_, "moved") == site_.file);
  site_.redirects_to = "http://cdn.example.net/f";
  EXPECT_TRUE(text_of(store_, "moved").contains("is not followed"));
  site_.redirects_to = "file:///etc/passwd";
  EXPECT_TRUE(text_of(store_, "moved").contains("is not followed"));
  site_.redirects_to = "/moved";
  EXPECT_TRUE(text_of(store_, "moved").contains("redirects more than"));
}

TEST_F(HttpStoreTest, NothingCanBeListedOrWritten) {
  EXPECT_TRUE(all_of(store_, {}).contains("cannot be listed"));
  EXPECT_EQ(store_.put({.key = "f"}, bytes_from("x")).error().code, ErrorCode::bad_method);
  EXPECT_EQ(store_.remove("f").error().code, ErrorCode::bad_method);
  EXPECT_EQ(store_.copy("f", "g").error().code, ErrorCode::bad_method);
  EXPECT_EQ(store_.begin_upload({.key = "f"}).error().code, ErrorCode::bad_method);
}

}  // namespace
}  // namespace drover
