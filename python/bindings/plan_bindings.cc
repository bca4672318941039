// Plans, for explain.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/counters.h"
#include "base/error.h"
#include "bindings.h"
#include "chunks/chunks.h"
#include "layout/stripes.h"
#include "plan/chunk_plan.h"
#include "plan/explain.h"
#include "plan/make_plan.h"
#include "plan/new_chunks.h"
#include "plan/operation.h"

namespace nb = nanobind;
using namespace nb::literals;
using package_types::Facts;

namespace {

using Tuning = nb::typed<nb::dict, std::string, int64_t>;
using Seconds = nb::typed<nb::dict, std::string, double>;

Facts io_counts_dict(const swath::IoCounts& cost) {
  Facts dict;
  dict["requests"] = cost.requests();
  swath::for_each_amount([&](const char* name, auto amount) { dict[name] = cost.*amount; });
  dict["exact"] = cost.exact;
  return dict;
}

Facts cost_estimate_dict(const swath::CostEstimate& price) {
  Facts dict;
  dict["seconds"] = price.seconds();
  dict["transfer"] = price.transfer;
  dict["copy"] = price.copy;
  dict["exchange"] = price.exchange;
  dict["fixed"] = price.fixed;
  dict["hidden"] = price.hidden;
  dict["sync"] = price.sync;
  dict["correction"] = price.correction;
  dict["place"] = swath::correction_name(price.place);
  return dict;
}

Tuning tuning_dict(const swath::Tuning& tuning) {
  Tuning dict;
  dict["sieve_bytes"] = tuning.sieve_bytes;
  dict["list_pieces"] = tuning.list_pieces;
  dict["window_bytes"] = tuning.window_bytes;
  dict["runs_bytes_min"] = tuning.runs_bytes_min;
  dict["aggregators"] = tuning.aggregators;
  return dict;
}

// None if the inner method depends on the length of runs, or if there are no windows.
std::optional<std::string> name_of_inner(swath::Method inner) {
  return inner == swath::Method::kAuto ? std::nullopt : std::optional(swath::to_string(inner));
}

Facts chunk_counts_dict(const swath::ChunkPlan& plan, const swath::ChunkCounts& counts) {
  Facts dict;
  dict["requests"] = counts.requests();
  swath::for_each_amount([&](const char* name, auto amount) { dict[name] = counts.*amount; });
  dict["chunks"] = counts.chunks;
  dict["units"] = counts.units;
  dict["units_shared"] = counts.units_shared;
  dict["exact"] = plan.counts_are_exact;
  dict["stored_exact"] = plan.counts_are_exact && plan.stored_is_exact;
  return dict;
}

Seconds chunk_price_dict(const swath::ChunkPrice& price) {
  Seconds dict;
  dict["seconds"] = price.seconds();
  dict["transfer"] = price.transfer;
  dict["coding"] = price.coding;
  dict["copy"] = price.copy;
  dict["exchange"] = price.exchange;
  dict["fixed"] = price.fixed;
  dict["hidden"] = price.hidden;
  dict["sync"] = price.sync;
  return dict;
}

// Up to this number, chunks are counted one by one. It is limited, since advice makes hundreds of such plans.
constexpr int64_t kNewChunksCountedMax = 1 << 16;

swath::ChunkPlan plan_new_chunks(const swath::NewChunks& chunks, const std::string& direction,
                                 const swath::Decomposition& decomposition,
                                 std::shared_ptr<const swath::Profile> profile, double cached,
                                 std::optional<std::pair<double, double>> coding) {
  swath::ChunkRequest request;
  request.direction = direction == "read" ? swath::Direction::kRead : swath::Direction::kWrite;
  request.grid = swath::grid_of(chunks);
  request.decomposition = decomposition;
  request.buffer_bytes_max = swath::ChunkOptions().buffer_bytes_max;
  request.thread_buffer_bytes = 2 * request.grid.chunk_bytes();  // a decoded chunk and its stored bytes
  request.profile = std::move(profile);
  request.cached = cached;
  request.coding = coding_cost(coding);
  return swath::make_chunk_plan(std::move(request), kNewChunksCountedMax);
}

void bind_new_chunks(nb::module_& m) {
  nb::class_<swath::NewChunks>(m, "NewChunks", "Chunks that no file has yet, all compressed alike.")
      .def(
          "__init__",
          [](swath::NewChunks* self, swath::Shape shape, int64_t element_bytes, swath::Shape chunk_shape,
             swath::Shape unit_shape, std::pair<std::vector<std::string>, double> codecs, bool is_table) {
            new (self) swath::NewChunks{std::move(shape), std::move(chunk_shape),  std::move(unit_shape),
                                        element_bytes,    std::move(codecs.first), codecs.second,
                                        is_table};
          },
          "shape"_a, "element_bytes"_a, "chunk_shape"_a, "unit_shape"_a, "codecs"_a, "is_table"_a,
          "codecs: their names, and bytes of a chunk to those that are stored.")
      .def("plan", &plan_new_chunks, "direction"_a, "decomposition"_a, "profile"_a, "cached"_a,
           "coding"_a.none() = nb::none(),
           "coding: seconds a byte of decoding and encoding, where they were measured.");
}

void bind_chunk_plan(nb::module_& m) {
  nb::class_<swath::ChunkPlan>(m, "ChunkPlan", "How coded chunks will be read or written.")
      .def_ro("reason", &swath::ChunkPlan::reason)
      .def_ro("ranks", &swath::ChunkPlan::ranks)
      .def_ro("nodes", &swath::ChunkPlan::nodes)
      .def_prop_ro("direction", [](const swath::ChunkPlan& plan) { return swath::to_string(plan.request.direction); })
      .def_prop_ro("decomposition", [](const swath::ChunkPlan& plan) { return plan.request.decomposition.to_string(); })
      .def_prop_ro("bytes", [](const swath::ChunkPlan& plan) { return plan.sum.bytes; })
      .def_prop_ro("chunk_bytes", [](const swath::ChunkPlan& plan) { return plan.request.grid.chunk_bytes(); })
      .def_prop_ro("times_decoded", &swath::ChunkPlan::times_decoded, "Each chunk that is decoded, on average.")
      .def_prop_ro("buffer_bytes_max", [](const swath::ChunkPlan& plan) { return plan.buffer_bytes_max; })
      .def(
          "local_bytes",
          [](const swath::ChunkPlan& plan, int rank) { return plan.each_rank.at(static_cast<size_t>(rank)).bytes; },
          "rank"_a)
      .def_prop_ro("total", [](const swath::ChunkPlan& plan) { return chunk_counts_dict(plan, plan.sum); })
      .def(
          "cost",
          [](const swath::ChunkPlan& plan, int rank) {
            return chunk_counts_dict(plan, plan.each_rank.at(static_cast<size_t>(rank)));
          },
          "rank"_a)
      .def_prop_ro("price", [](const swath::ChunkPlan& plan) { return chunk_price_dict(plan.price); })
      .def(
          "text",
          [](const swath::ChunkPlan& plan, const std::string& title, const std::string& layout) {
            return swath::explain(plan, title, layout);
          },
          "title"_a, "layout"_a);
}

}  // namespace

void bind_plan(nb::module_& m) {
  bind_chunk_plan(m);
  bind_new_chunks(m);
  nb::class_<swath::Plan>(m, "Plan")
      .def_prop_ro("method", [](const swath::Plan& plan) { return swath::to_string(plan.method); })
      .def_prop_ro("inner", [](const swath::Plan& plan) { return name_of_inner(plan.inner()); })
      .def_prop_ro("reason", [](const swath::Plan& plan) { return plan.reason; })
      .def_prop_ro(
          "direction",
          [](const swath::Plan& plan) { return plan.request.direction == swath::Direction::kRead ? "read" : "write"; })
      .def_prop_ro("ranks", [](const swath::Plan& plan) { return plan.request.decomposition.ranks(); })
      .def_prop_ro("decomposition", [](const swath::Plan& plan) { return plan.request.decomposition.to_string(); })
      .def_prop_ro("layout", [](const swath::Plan& plan) { return plan.request.layout->to_string(); })
      .def_prop_ro("domains",
                   [](const swath::Plan& plan) {
                     std::vector<std::tuple<int, int64_t, int64_t>> domains;
                     for (size_t i = 0; i < plan.domains.size(); ++i) {
                       const swath::FileDomain domain = plan.domains[i];
                       domains.emplace_back(domain.rank, domain.begin, domain.end);
                     }
                     return domains;
                   })
      .def_prop_ro("runs", [](const swath::Plan& plan) { return plan.runs.count; })
      .def_prop_ro("run_bytes_max", [](const swath::Plan& plan) { return plan.runs.bytes_max; })
      .def_prop_ro("bytes", [](const swath::Plan& plan) { return plan.runs.bytes; })
      .def(
          "requests_with_stripes",
          [](const swath::Plan& plan, int64_t stripe_bytes) {
            return swath::requests_with_stripes(plan.runs, stripe_bytes);
          },
          "stripe_bytes"_a)
      .def("local_bytes", &swath::Plan::local_bytes, "rank"_a)
      .def(
          "cost",
          [](const swath::Plan& plan, const std::string& method, int rank) {
            return io_counts_dict(plan.cost(swath::parse_method(method), rank));
          },
          "method"_a, "rank"_a)
      .def_prop_ro("price", [](const swath::Plan& plan) { return cost_estimate_dict(plan.price()); })
      .def_prop_ro("seconds", [](const swath::Plan& plan) { return plan.price().seconds(); })
      .def_prop_ro("cached", [](const swath::Plan& plan) { return plan.request.cached; })
      .def_prop_ro("tuning", [](const swath::Plan& plan) { return tuning_dict(plan.request.tuning); })
      .def("candidates",
           [](const swath::Plan& plan) {
             Facts dict;
             for (const auto& candidate : plan.candidates()) {
               Facts cost = io_counts_dict(candidate.cost.sum);
               cost["buffer_bytes_max"] = candidate.cost.buffer_bytes_max;
               cost["price"] = cost_estimate_dict(candidate.option.price);
               cost["tuning"] = tuning_dict(candidate.option.tuning);
               if (candidate.option.method == swath::Method::kTwoPhase) {
                 cost["inner"] = name_of_inner(candidate.option.tuning.inner);
               }
               dict[swath::to_string(candidate.option.method).c_str()] = cost;
             }
             return dict;
           })
      .def(
          "text",
          [](const swath::Plan& plan, const std::string& title, int ranks_shown) {
            return swath::explain(plan, title, ranks_shown);
          },
          "title"_a, "ranks_shown"_a = 16);

  m.def(
      "make_plan",
      [](const swath::Operation& operation, std::shared_ptr<swath::Profile> profile,
         std::optional<std::tuple<int64_t, int64_t, int64_t>> stripe) {
        swath::Request request = swath::request_of(operation);
        request.profile = std::move(profile);
        request.cached = 1;
        if (stripe) {
          const auto [unit, count, object_bytes] = *stripe;
          const swath::StripeLayout stripes{unit, count, object_bytes};
          const std::string_view refusal = stripes.refusal();
          if (!refusal.empty()) swath::fail_argument("stripe: " + std::string(refusal));
          request.capabilities = swath::pool_capabilities({unit, static_cast<int32_t>(count), object_bytes}, true);
          request.cached = std::nullopt;
        }
        return swath::make_plan(std::move(request));
      },
      "operation"_a, "profile"_a.none() = nb::none(), "stripe"_a.none() = nb::none(),
      "By the stated defaults unless a profile is given, of what is in the page cache; or of a file in a Ceph pool, of "
      "that stripe unit, count and object size, whose servers take descriptions.");
}
