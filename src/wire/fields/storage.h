// Where a field's value is kept: kept<&Policy::timeout_ms>() makes the functions that read it from a document into a
// submission, write it as JSON and show it.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "wire/fields/values.h"
#include "wire/submission.h"

namespace drover {

/// The part of a submission that has members of this class. Of a job that the core keeps there is only its JobSpec.
template <class Class, class Job>
auto& part_of(Job& job) {
  if constexpr (std::is_same_v<Class, Policy>) {
    return job.policy;
  } else if constexpr (std::is_same_v<Class, JobPlace>) {
    return job.place;
  } else if constexpr (std::is_same_v<Class, SpotRules>) {
    return job.spot;
  } else if constexpr (std::is_same_v<Class, Resources>) {
    return job.ask;
  } else if constexpr (std::is_same_v<Class, Definition>) {
    return job.definition;
  } else if constexpr (std::is_same_v<Class, ItemLimits>) {
    return job.definition.limits;
  } else if constexpr (std::is_same_v<Class, ContainerOptions>) {
    return *job.definition.container;  // read_fields() has made sure that there is one
  } else {
    return job;
  }
}

template <class>
struct MemberOf;
template <class Class, class Value>
struct MemberOf<Value Class::*> {
  using Whole = Class;
};

template <auto member, class Job>
auto& value_in(Job& job) {
  return part_of<typename MemberOf<decltype(member)>::Whole>(job).*member;
}

template <auto member>
void read(JobReader& reader, const JobField& field, Submission& job) {
  read_value(reader, field, value_in<member>(job));
}

template <auto member>
std::string write(const JobField& field, const Submission& job) {
  return json_of(field, value_in<member>(job));
}

template <auto member>
boost::json::value show(const JobField& field, const JobSpec& job) {
  const auto& value = value_in<member>(job);
  if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>> &&
                !std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>) {
    return shown_json(field, static_cast<std::int64_t>(value));
  } else {
    return shown_json(field, value);
  }
}

template <auto member>
constexpr FieldStorage kept() {
  return {read<member>, write<member>};
}
/// And shown with the job.
template <auto member>
constexpr FieldStorage kept_and_shown() {
  return {read<member>, write<member>, show<member>};
}

}  // namespace drover
