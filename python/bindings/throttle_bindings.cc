// Tokens of targets, and the clock for waiting.

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/shared_memory.h"
#include "bindings.h"
#include "throttle/token_server.h"
#include "throttle/tokens.h"

namespace nb = nanobind;
using namespace nb::literals;
using package_types::Facts;

namespace {

using swath::Direction;
using swath::NodeTokens;
using swath::Tokens;

Direction direction_of(bool write) { return write ? Direction::kWrite : Direction::kRead; }

Facts lane_dict(const swath::LaneStatus& lane) {
  Facts dict;
  dict["active"] = lane.active;
  dict["waiting"] = lane.waiting;
  dict["grants"] = lane.grants;
  dict["waits"] = lane.waits;
  dict["wait_seconds"] = lane.wait_seconds;
  dict["wait_seconds_max"] = lane.wait_seconds_max;
  dict["taken_back"] = lane.taken_back;
  nb::list patterns;
  for (const swath::PatternStatus& status : lane.patterns) {
    nb::dict pattern;
    pattern["requests"] = swath::to_string(status.pattern);
    pattern["limit"] = status.limit;
    pattern["holding"] = status.holding;
    pattern["rate"] = status.rate;
    pattern["unlimited_streams"] = status.unlimited_streams;
    patterns.append(pattern);
  }
  dict["patterns"] = patterns;
  return dict;
}

Facts decision_dict(const swath::Decision& decision) {
  Facts dict;
  dict["time"] = decision.time;
  dict["direction"] = static_cast<Direction>(decision.direction) == Direction::kRead ? "read" : "write";
  dict["requests"] = swath::to_string(static_cast<swath::Pattern>(decision.pattern));
  dict["from_limit"] = decision.from;
  dict["to_limit"] = decision.to;
  dict["reason"] = swath::to_string(decision.reason);
  dict["samples"] = decision.samples;
  dict["rate"] = decision.rate;
  dict["rate_error"] = decision.rate_error;
  dict["to_rate"] = decision.best_rate;
  return dict;
}

Facts status_dict(const swath::TargetStatus& status) {
  Facts dict;
  dict["target"] = status.target;
  dict["scope"] = status.scope;
  dict["streams"] = status.streams;
  dict["reads"] = lane_dict(status.reads);
  dict["writes"] = lane_dict(status.writes);
  nb::list decisions;
  for (const swath::Decision& decision : status.decisions) decisions.append(decision_dict(decision));
  dict["decisions"] = decisions;
  return dict;
}

swath::Pattern pattern_named(const std::string& name) {
  for (int p = 0; p < swath::kPatterns; ++p) {
    if (swath::to_string(static_cast<swath::Pattern>(p)) == name) return static_cast<swath::Pattern>(p);
  }
  swath::fail_argument("requests \"" + name + "\": expected large, medium or small");
}

}  // namespace

void bind_throttle(nb::module_& m) {
  nb::class_<swath::Grant>(m, "Grant", "A token, held.").def_ro("waited", &swath::Grant::waited);
  nb::class_<Tokens>(m, "Tokens", "Who may be served by a target now.")
      .def("for_this_process", &Tokens::for_this_process, "These, or in a forked child the same target's, opened anew.")
      .def("enter", &Tokens::enter)
      .def("leave", &Tokens::leave)
      .def_prop_ro("streams", &Tokens::streams)
      .def(
          "acquire",
          [](Tokens& tokens, bool write, int64_t request_bytes, int32_t streams) {
            const Interruptible interruptible;
            return tokens.acquire(direction_of(write), swath::pattern_of(request_bytes), {streams},
                                  swath::clock_of_thread());
          },
          "write"_a, "request_bytes"_a, "streams"_a, "Waits for a token; streams 0: as many as the controller says.")
      .def(
          "give_back",
          [](Tokens& tokens, const swath::Grant& grant, int64_t bytes, bool from_device) {
            nb::gil_scoped_release release;
            tokens.give_back(grant, bytes, from_device, swath::clock_of_thread());
          },
          "grant"_a, "bytes"_a, "from_device"_a)
      .def(
          "remember",
          [](Tokens& tokens, bool write, const std::string& requests, int32_t limit, double rate,
             double unlimited_streams) {
            tokens.remember(direction_of(write), pattern_named(requests), limit, rate, unlimited_streams);
          },
          "write"_a, "requests"_a, "limit"_a, "rate"_a, "unlimited_streams"_a)
      .def("status", [](const Tokens& tokens) { return status_dict(tokens.status()); });
  m.def(
      "node_tokens",
      [](const std::string& scope, const std::string& target) {
        std::string reason;
        std::shared_ptr<Tokens> tokens = NodeTokens::open(scope, target, &reason);
        return std::make_pair(std::move(tokens), reason);
      },
      "scope"_a, "target"_a, "Of this node's processes: (tokens, why other processes do not share them).");
  m.def(
      "remote_tokens",
      [](const std::string& host, int port, const std::string& key, const std::string& target) {
        nb::gil_scoped_release release;
        return std::shared_ptr<Tokens>(swath::RemoteTokens::open({host, port, key}, target));
      },
      "host"_a, "port"_a, "key"_a, "target"_a, "Of a process on another node, which serves them.");
  m.def(
      "status_of_all_tokens",
      [] {
        std::vector<Facts> all;
        std::string reason;
        for (const swath::TargetStatus& status : NodeTokens::status_of_all(&reason)) all.push_back(status_dict(status));
        return std::make_pair(std::move(all), reason);
      },
      "Of every target that some process of this user has open on this node, and why not all can be seen.");
  m.def(
      "shared_memory_refusal",
      [] {
        std::string reason;
        return swath::SharedFolder::open(reason) ? std::string() : reason;
      },
      "Why processes of this user share no memory on this node; empty where they do.");
  nb::class_<swath::TokenServer>(m, "TokenServer", "Serves a target's tokens to other nodes.")
      .def(nb::init<std::shared_ptr<Tokens>>(), "tokens"_a)
      .def_prop_ro("address", [](const swath::TokenServer& server) {
        const swath::ServerAddress& address = server.address();
        return std::make_tuple(address.host, address.port, address.key);
      });

  m.def("clock_now", [] { return swath::clock_of_thread().now(); }, "Seconds, of this thread's clock.");
  m.def("clock_is_simulated", [] { return swath::clock_of_thread().simulated(); });
  m.def(
      "clock_sleep_until",
      [](double time) {
        nb::gil_scoped_release release;
        swath::clock_of_thread().sleep_until(time);
      },
      "time"_a);
}
