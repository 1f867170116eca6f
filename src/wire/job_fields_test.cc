#include "wire/job_fields.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "wire/job_file.h"

namespace drover {
namespace {

TEST(JobFields, AnExampleIsOneThatIsTaken) {
  for (const JobField& field : job_fields()) {
    // What it cannot do without stands beside it.
    std::string job = field.name == "command" ? "" : "command: [\"true\"]\n";
    if (field.name == "match") job += "dir: x\n";
    if (!is_source(field.name) && field.name != "match") job += "range: 1-2\n";
    if (field.section == Section::container && field.name != "image") job += "image: busybox\n";
    if (field.name == "reset" || field.name == "reuse_limit") job += "reuse: true\n";
    job += concat(field.name, ": ", field.example, "\n");
    if (is_for(field, Face::file)) {
      const auto file = read_job_file(job, {});
      EXPECT_TRUE(file) << (file ? "" : show_problems("job.yaml", job, file.error()));
    }
    if (is_for(field, Face::api)) {
      std::string json = concat("{\"", field.name, "\": ", field.example);
      if (field.name != "command") json += R"(, "command": ["true"])";
      if (!is_source(field.name)) json += R"(, "range": [1, 2])";
      if (field.section == Section::container && field.name != "image") json += R"(, "image": "busybox")";
      if (field.name == "reset" || field.name == "reuse_limit") json += R"(, "reuse": true)";
      const auto submission = submission_from_json(json + "}");
      EXPECT_TRUE(submission) << (submission ? "" : submission.error().message);
    }
  }
}

TEST(JobFields, WhatIsNearlyANameIsUnderstood) {
  for (const auto& [written, meant] :
       std::initializer_list<std::pair<const char*, const char*>>{{"timout", "timeout"},
                                                                  {"retrise", "retries"},
                                                                  {"retry", "retries"},
                                                                  {"maxRunning", "max_running"},
                                                                  {"max-running", "max_running"},
                                                                  {"ENV", "environment"},
                                                                  {"envirnoment", "environment"},
                                                                  {"item", "items"},
                                                                  {"jobTimeout", "job_timeout"},
                                                                  {"qeue", "queue"},
                                                                  {"banana", ""},
                                                                  {"x", ""},
                                                                  {"", ""},
                                                                  {"volumes", "mounts"}}) {
    EXPECT_EQ(meant_field(written), meant) << written;
  }
}

}  // namespace
}  // namespace drover
