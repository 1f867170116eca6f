#include "api/job_submitter.h"

#include <array>

#include "base/hash.h"
#include "base/text.h"
#include "ports/entropy.h"
#include "wire/image_reference.h"

namespace drover {
namespace {

/// The image, if it is named by a tag, which may be moved later; else empty.
std::string tag_of(const Definition& definition) {
  if (!definition.container || !definition.container->digest.empty()) return {};
  const auto reference = ImageReference::parse(definition.container->image);
  const bool has_tag = reference && reference->source == ImageReference::Source::registry && !reference->is_pinned();
  return has_tag ? definition.container->image : std::string();
}

}  // namespace

Uuid uuid_of_token(std::string_view client_token) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t half = 0; half < 2; ++half) {
    Hasher hasher;
    hasher.add(half == 0 ? "drover job" : "drover token");
    hasher.add(client_token);
    const std::uint64_t value = hasher.value();
    for (std::size_t i = 0; i < 8; ++i) bytes[half * 8 + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
  return Uuid::from_random(bytes);
}

void JobSubmitter::submit(Submission submission, const Holder& holder, const std::string& owner, Answered answered) {
  const std::string tag = tag_of(submission.definition);
  if (tag.empty()) return accept(std::move(submission), owner, {}, answered);
  // Every item of it is to run the same image, whatever the tag says later.
  backend_.resolve_image(tag, [this, tag, holder, owner, kept = std::make_shared<Submission>(std::move(submission)),
                               answered = std::move(answered)](const Result<std::string>& digest) {
    backend_.later(holder, [this, tag, owner, kept, answered, digest] {
      std::string notice;
      if (digest && is_image_digest(*digest)) {
        kept->definition.container->digest = *digest;
      } else {
        // A worker may see what the server does not.
        notice = concat("the server could not look up image ", tag, " (",
                        digest ? "the registry's response is not a digest" : digest.error().message,
                        "); each worker will look it up");
      }
      accept(std::move(*kept), owner, notice, answered);
    });
  });
}

Result<NewManifest> JobSubmitter::manifest_of(const Submission& submission) {
  if (!submission.stream.empty()) return NewManifest{};  // its items are messages
  if (const auto* numbers = std::get_if<NumberItems>(&submission.items)) {
    const auto count = static_cast<std::uint64_t>(numbers->last) - static_cast<std::uint64_t>(numbers->first) + 1;
    return backend_.add_range(numbers->first, count);
  }
  if (const auto* id = std::get_if<ManifestId>(&submission.items)) {
    auto info = backend_.claim_manifest(*id);
    if (info) return NewManifest{*id, info->items};
    if (info.error().code != ErrorCode::not_found) return pass(info);
    return fail(ErrorCode::not_found, concat("manifest ", id->value, " not found"),
                "upload the list first, with POST /api/v1/manifests");
  }
  auto intake = backend_.begin_items();
  if (!intake) return pass(intake);
  for (const std::string& item : std::get<std::vector<std::string>>(submission.items)) {
    if (auto added = (*intake)->add(item); !added) return pass(added);
  }
  return (*intake)->finish(Lasting::with_the_job);
}

void JobSubmitter::accept(Submission submission, const std::string& owner, const std::string& notice,
                          const Answered& answered) {
  SubmitJob job{std::move(static_cast<JobSpec&>(submission))};
  job.uuid =
      submission.client_token.empty() ? random_uuid() : uuid_of_token(concat(owner, "\n", submission.client_token));
  const auto accelerators = job.ask.accelerators;
  job.ask = ask_of(submission.definition.limits);
  job.ask.accelerators = accelerators;
  job.place.owner = owner;
  for (const After& it : submission.after_jobs) {
    auto other = backend_.find_job(it.job);
    if (!other) return answered(std::unexpected(std::move(other.error())));
    job.after.push_back({other->job.id, it.each});
  }
  auto manifest = manifest_of(submission);
  if (!manifest) return answered(std::unexpected(std::move(manifest.error())));
  job.manifest = manifest->id;
  job.total = manifest->items;
  auto definition = backend_.add_definition(definition_to_json(submission.definition));
  if (!definition) return answered(std::unexpected(std::move(definition.error())));
  job.definition = *definition;
  SubmittedJob said{job.uuid, job.name, job.total, notice};
  backend_.post(std::move(job), [this, said = std::move(said), answered](const Result<Effect>& effect) mutable {
    if (!effect) return answered(std::unexpected(effect.error()));
    // The same token again is the job that is there, whatever was said this time.
    if (const auto known = backend_.find_job(std::get<JobAccepted>(*effect).job)) {
      said.name = known->name;
      said.total = known->total;
    }
    answered(std::move(said));
  });
}

}  // namespace drover
