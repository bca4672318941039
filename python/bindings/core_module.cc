// The Python face of the core: names, conversions and the release of the interpreter's lock; no logic of its own.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/operators.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "base/counters.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/gate.h"
#include "bindings.h"
#include "comm/agreement.h"
#include "comm/comm.h"
#include "comm/simulated.h"
#include "layout/copy.h"
#include "method/again.h"
#include "method/run.h"
#include "method/shared_engine.h"
#include "plan/explain.h"
#include "plan/make_plan.h"
#include "store/engine.h"
#include "throttle/throttled_engine.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using swath::Comm;
using swath::Counters;
using swath::Error;
using swath::ErrorKind;
using swath::Gate;
using swath::SharedEngine;

// swath.errors.from_core(kind, message, errno) makes the Python exception.
void raise(const Error& error) {
  nb::object exception =
      nb::module_::import_("swath.errors")
          .attr("from_core")(static_cast<int>(error.kind()), std::string(error.what()), error.os_error());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    if (!raise_from_signal()) raise(error);
  } catch (const std::bad_alloc&) {
    raise(Error(ErrorKind::kStore, "out of memory", ENOMEM));
  } catch (const std::length_error&) {  // of a container that no memory holds
    raise(Error(ErrorKind::kStore, "out of memory", ENOMEM));
  }
}

std::vector<nb::bytes> allgather(Comm& comm, const nb::bytes& mine) {
  const auto size = mine.size();
  std::vector<std::byte> all(size * static_cast<size_t>(comm.size()));
  {
    const std::span source(reinterpret_cast<const std::byte*>(mine.c_str()), size);
    nb::gil_scoped_release release;
    comm.allgather(source, all);
  }
  std::vector<nb::bytes> parts;
  for (int rank = 0; rank < comm.size(); ++rank)
    parts.emplace_back(all.data() + static_cast<size_t>(rank) * size, size);
  return parts;
}

nb::bytes broadcast(Comm& comm, const nb::bytes& data, int root) {
  int64_t size = static_cast<int64_t>(data.size());
  std::vector<std::byte> buffer;
  const std::span source(reinterpret_cast<const std::byte*>(data.c_str()), data.size());
  {
    nb::gil_scoped_release release;
    comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
    buffer.resize(static_cast<size_t>(size));
    if (comm.rank() == root && size > 0) std::memcpy(buffer.data(), source.data(), buffer.size());
    comm.broadcast(buffer, root);
  }
  return nb::bytes(buffer.data(), buffer.size());
}

std::optional<Error> optional_error(int kind, const std::string& message, int os_error) {
  if (kind == 0) return std::nullopt;
  return Error(static_cast<ErrorKind>(kind), message, os_error);
}

// (rules, grid, ranks): rules are ("whole" | "block" | "cyclic", size).
swath::Distribution make_distribution(const std::vector<std::pair<std::string, int64_t>>& rules,
                                      std::vector<int64_t> grid, std::vector<int> ranks) {
  std::vector<swath::DimensionRule> parsed;
  for (const auto& [kind, size] : rules) {
    const auto rule_kind = kind == "whole"   ? swath::DimensionRule::Kind::kWhole
                           : kind == "block" ? swath::DimensionRule::Kind::kBlock
                                             : swath::DimensionRule::Kind::kCyclic;
    parsed.push_back({rule_kind, size});
  }
  return swath::Distribution(std::move(parsed), std::move(grid), std::move(ranks));
}

using IndexArray = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;

IndexArray index_array(const swath::IndexSet& set) {
  auto indices = std::make_unique<std::vector<int64_t>>(static_cast<size_t>(set.count()));
  for (size_t p = 0; p < indices->size(); ++p) (*indices)[p] = set.at(static_cast<int64_t>(p));
  int64_t* data = indices->data();
  const size_t count = indices->size();
  nb::capsule owner(indices.release(), [](void* owned) noexcept { delete static_cast<std::vector<int64_t>*>(owned); });
  return IndexArray(data, {count}, owner);
}

// (start, step, count, dropped) of every dimension.
using SelectionTuples = std::vector<std::tuple<int64_t, int64_t, int64_t, bool>>;

swath::Selection selection_of(const SelectionTuples& tuples) {
  swath::Selection selection;
  for (const auto& [start, step, count, dropped] : tuples) selection.push_back({start, step, count, dropped});
  return selection;
}

using Corners = std::pair<std::vector<int64_t>, std::vector<int64_t>>;

swath::Decomposition decomposition_of_boxes(const std::vector<std::vector<Corners>>& boxes_of_rank,
                                            const swath::Shape& shape) {
  std::vector<std::vector<swath::Box>> boxes;
  for (const auto& of_rank : boxes_of_rank) {
    auto& list = boxes.emplace_back();
    for (const auto& [begin, end] : of_rank) list.push_back({begin, end});
  }
  return swath::Decomposition::boxes(std::move(boxes), shape);
}

}  // namespace

swath::LocalMemory memory_of(const swath::Decomposition& decomposition, int rank, int64_t element_bytes,
                             const nb::list& arrays) {
  swath::LocalMemory memory;
  memory.parts = decomposition.parts(rank, element_bytes);
  if (memory.parts.size() != arrays.size()) {
    throw Error(ErrorKind::kInternal, "one array a part is needed");
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Place place(arrays[i]);
    swath::place_in_memory(memory.parts[i], decomposition.selection(), place.strides());
    memory.addresses.push_back(place.address());
  }
  return memory;
}

namespace {

// One loop a dimension, the fastest of the target innermost.
std::vector<swath::CopyLevel> levels_between(const std::vector<int64_t>& shape, const Place& target,
                                             const Place& source) {
  std::vector<swath::CopyLevel> levels;
  for (size_t d = 0; d < shape.size(); ++d) levels.push_back({shape[d], source.strides()[d], target.strides()[d]});
  std::stable_sort(levels.begin(), levels.end(), [](const swath::CopyLevel& a, const swath::CopyLevel& b) {
    return std::abs(a.target_stride) > std::abs(b.target_stride);
  });
  return levels;
}

nb::dict io_counts_dict(const swath::IoCounts& cost) {
  nb::dict dict;
  dict["requests"] = cost.requests();
  swath::for_each_amount([&](const char* name, auto amount) { dict[name] = cost.*amount; });
  dict["exact"] = cost.exact;
  return dict;
}

nb::dict cost_estimate_dict(const swath::CostEstimate& price) {
  nb::dict dict;
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

nb::dict tuning_dict(const swath::Tuning& tuning) {
  nb::dict dict;
  dict["sieve_bytes"] = tuning.sieve_bytes;
  dict["list_pieces"] = tuning.list_pieces;
  dict["window_bytes"] = tuning.window_bytes;
  dict["runs_bytes_min"] = tuning.runs_bytes_min;
  dict["aggregators"] = tuning.aggregators;
  return dict;
}

// Sizes by name; pairs, so that what asks for a plan can be compared with what asked before.
using TuningPairs = std::vector<std::pair<std::string, int64_t>>;

void set_tuning(swath::Request& request, const TuningPairs& values) {
  swath::Tuning& tuning = request.tuning;
  swath::AskedTuning& asked = request.asked_tuning;
  for (const auto& [name, bytes] : values) {
    if (bytes < 1) swath::fail_argument("tuning: " + name + " must be at least 1, not " + std::to_string(bytes));
    if (name == "sieve_bytes") {
      tuning.sieve_bytes = bytes;
      asked.sieve_bytes = true;
    } else if (name == "bounce_bytes") {
      tuning.bounce_bytes = bytes;
    } else if (name == "window_bytes") {
      tuning.window_bytes = bytes;
      asked.window_bytes = true;
    } else if (name == "list_pieces") {
      tuning.list_pieces = std::min<int64_t>(bytes, 1024);
    } else if (name == "aggregators") {
      tuning.aggregators = static_cast<int>(bytes);
      asked.aggregators = true;
    } else if (name == "domain_bytes_min") {
      tuning.domain_bytes_min = bytes;
    } else if (name == "staged_run_bytes") {
      tuning.staged_run_bytes = bytes;
    } else if (name == "look_bytes_min") {
      tuning.look_bytes_min = bytes;
    } else if (name == "chunk_buffer_bytes") {
      // Coded chunks have no plan: coded_access.py hands it to what moves them.
    } else if (name == "runs_bytes_min") {
      tuning.runs_bytes_min = bytes;
      asked.runs_bytes_min = true;
    } else {
      swath::fail_argument(
          "tuning: \"" + name +
          "\" is not known; expected sieve_bytes, bounce_bytes, window_bytes, list_pieces, aggregators, "
          "domain_bytes_min, runs_bytes_min, staged_run_bytes, look_bytes_min or chunk_buffer_bytes");
    }
  }
}

void bind_gate(nb::module_& m) {
  nb::enum_<Gate::Use>(m, "Use", "How a thread uses what a gate leads to.")
      .value("BESIDE", Gate::Use::kBeside, "disturbs nobody; only closing waits for it")
      .value("SHARED", Gate::Use::kShared)
      .value("ALONE", Gate::Use::kAlone);
  nb::class_<Gate>(m, "Gate", "Who may use something now: any number of threads together, or one alone.")
      .def(nb::init<>())
      .def(
          "enter",
          [](Gate& gate, Gate::Use use, bool is_alone) {
            if (gate.try_enter(use)) return true;
            const Interruptible interruptible(is_alone);
            return gate.enter(use);
          },
          "use"_a, "is_alone"_a, "Waits for those that came before; False: it is closed. `is_alone`: no rank waits.")
      .def("leave", &Gate::leave, "use"_a)
      .def(
          "close",
          [](Gate& gate, bool is_alone) {
            const Interruptible interruptible(is_alone);
            return gate.close();
          },
          "is_alone"_a, "Waits until all have left. False: it was closed before.")
      .def_prop_ro("is_closed", &Gate::is_closed);
}

swath::Method method_named(const std::string& name) { return swath::parse_method(name); }

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Swath's C++ core. Use the package `swath`; this module may change without notice.";
  // Arrays and comms that a script leaves to the end of the process are not leaks that its user should read about.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);

  bind_interrupt(m);
  bind_model(m);
  bind_profile(m);
  bind_calibrate(m);
  bind_throttle(m);

  m.def("fork_generation", &swath::fork_generation, "Another number in every forked child.");
  bind_gate(m);

  nb::class_<Comm>(m, "Comm", "The ranks of an operation.", nb::is_weak_referenceable())
      .def_prop_ro("name", &Comm::name)
      .def_prop_ro("rank", &Comm::rank)
      .def_prop_ro("size", &Comm::size)
      .def("node_of", &Comm::node_of, "rank"_a)
      .def_prop_ro("node_count", &Comm::node_count)
      .def_prop_ro("shared_refusal", &Comm::shared_refusal)
      .def("barrier", &Comm::barrier, nb::call_guard<nb::gil_scoped_release>())
      .def("allgather", &allgather, "mine"_a, "Equal sizes on every rank.")
      .def("broadcast", &broadcast, "data"_a, "root"_a, "Of any size; what other ranks pass is not looked at.")
      .def(
          "agree_same",
          [](Comm& comm, const std::string& asked, int kind, const std::string& message, int os_error,
             const swath::Note& note) {
            const auto mine = optional_error(kind, message, os_error);
            nb::gil_scoped_release release;
            return swath::agree_same(comm, asked, mine, note);
          },
          "asked"_a, "kind"_a = 0, "message"_a = "", "os_error"_a = 0, "note"_a = swath::Note{},
          "The notes of all ranks.");
  m.def("solo_comm", &swath::make_solo_comm);

  nb::class_<swath::Simulation>(m, "Simulation", "Many ranks in one process, a thread each, for tests.")
      .def(nb::init<int, int, uint64_t, bool>(), "ranks"_a, "nodes"_a = 1, "seed"_a = 0, "shared_memory"_a = true)
      .def("comm", &swath::Simulation::comm, "rank"_a, nb::keep_alive<0, 1>())
      .def("enter", &swath::Simulation::enter, "rank"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("leave", &swath::Simulation::leave, "rank"_a, nb::call_guard<nb::gil_scoped_release>());

  nb::class_<swath::Distribution>(m, "Distribution")
      .def("__init__",
           [](swath::Distribution* self, const std::vector<std::pair<std::string, int64_t>>& rules,
              std::vector<int64_t> grid, std::vector<int> ranks) {
             new (self) swath::Distribution(make_distribution(rules, std::move(grid), std::move(ranks)));
           })
      .def_prop_ro("grid", &swath::Distribution::grid)
      .def_prop_ro("places", &swath::Distribution::places)
      .def("holds", &swath::Distribution::holds)
      .def("check", &swath::Distribution::check)
      .def("local_shape", &swath::Distribution::local_shape)
      .def("indices",
           [](const swath::Distribution& self, const swath::Shape& shape, int rank) {
             std::vector<IndexArray> arrays;
             for (const auto& set : self.local_sets(shape, rank)) arrays.push_back(index_array(set));
             return arrays;
           })
      .def("__str__", &swath::Distribution::to_string);

  nb::class_<swath::Layout>(m, "Layout", "Which byte of the file holds which element.")
      .def_static("strided",
                  [](swath::Shape shape, int64_t element_bytes, int64_t offset, std::vector<int64_t> strides) {
                    return std::make_shared<swath::Layout>(
                        swath::Layout::strided(std::move(shape), element_bytes, offset, std::move(strides)));
                  })
      .def_static(
          "chunked",
          [](swath::Shape shape, int64_t element_bytes, swath::Shape chunk_shape, std::vector<int64_t> offsets) {
            return std::make_shared<swath::Layout>(
                swath::Layout::chunked(std::move(shape), element_bytes, std::move(chunk_shape), std::move(offsets)));
          })
      .def_static("tiled",
                  [](swath::Shape shape, int64_t element_bytes, swath::Shape chunk_shape, int64_t offset) {
                    return std::make_shared<swath::Layout>(
                        swath::Layout::tiled(std::move(shape), element_bytes, std::move(chunk_shape), offset));
                  })
      .def_prop_ro("has_absent_chunks", &swath::Layout::has_absent_chunks)
      .def("__str__", &swath::Layout::to_string);

  nb::class_<swath::Decomposition>(m, "Decomposition", "Whose elements are whose.")
      .def_static("distributed",
                  [](const swath::Distribution& distribution, const SelectionTuples& selection, int ranks) {
                    return swath::Decomposition::distributed(distribution, selection_of(selection), ranks);
                  })
      .def_static("share_of",
                  [](const swath::Distribution& distribution, const SelectionTuples& selection, int rank) {
                    return swath::Decomposition::share_of(distribution, selection_of(selection), rank);
                  })
      .def_static("alone",
                  [](const SelectionTuples& selection) { return swath::Decomposition::alone(selection_of(selection)); })
      .def_static("boxes", &decomposition_of_boxes)
      .def_prop_ro("ranks", &swath::Decomposition::ranks)
      .def("check_written_once", &swath::Decomposition::check_written_once)
      .def("__str__", &swath::Decomposition::to_string);

  nb::class_<swath::Plan>(m, "Plan")
      .def_prop_ro("method", [](const swath::Plan& plan) { return swath::to_string(plan.method); })
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
      .def("requests_with_stripes",
           [](const swath::Plan& plan, int64_t stripe_bytes) {
             return swath::requests_with_stripes(plan.runs, stripe_bytes);
           })
      .def("local_bytes", &swath::Plan::local_bytes, "rank"_a)
      .def(
          "cost",
          [](const swath::Plan& plan, const std::string& method, int rank) {
            return io_counts_dict(plan.cost(method_named(method), rank));
          },
          "method"_a, "rank"_a)
      .def_prop_ro("price", [](const swath::Plan& plan) { return cost_estimate_dict(plan.price()); })
      .def_prop_ro("seconds", [](const swath::Plan& plan) { return plan.price().seconds(); })
      .def_prop_ro("tuning", [](const swath::Plan& plan) { return tuning_dict(plan.request.tuning); })
      .def("candidates",
           [](const swath::Plan& plan) {
             nb::dict dict;
             for (const auto& candidate : plan.candidates()) {
               nb::dict cost = io_counts_dict(candidate.cost.sum);
               cost["buffer_bytes_max"] = candidate.cost.buffer_bytes_max;
               cost["price"] = cost_estimate_dict(candidate.option.price);
               cost["tuning"] = tuning_dict(candidate.option.tuning);
               dict[swath::to_string(candidate.option.method).c_str()] = cost;
             }
             return dict;
           })
      .def("text", &swath::explain, "title"_a, "ranks_shown"_a = 16);

  m.def(
      "make_plan",
      [](bool write, std::shared_ptr<swath::Layout> layout, const swath::Decomposition& decomposition,
         const std::string& method, const TuningPairs& tuning, bool messages, std::shared_ptr<swath::Profile> profile,
         double cached, int64_t memory_block_bytes, int64_t memory_span_bytes, int ranks_of_node, bool synced,
         bool shows_cache) {
        swath::Request request;
        request.direction = write ? swath::Direction::kWrite : swath::Direction::kRead;
        request.layout = std::move(layout);
        request.decomposition = decomposition;
        request.method = method_named(method);
        set_tuning(request, tuning);
        request.messages = messages;
        request.profile = std::move(profile);
        request.cached = cached;
        request.memory_block_bytes = memory_block_bytes;
        request.memory_span_bytes = memory_span_bytes;
        request.ranks_of_node = ranks_of_node;
        request.synced = synced;
        request.shows_cache = shows_cache;
        return swath::make_plan(std::move(request));
      },
      "write"_a, "layout"_a, "decomposition"_a, "method"_a = "auto", "tuning"_a = TuningPairs(), "messages"_a = false,
      "profile"_a.none() = nb::none(), "cached"_a = 1.0, "memory_block_bytes"_a = 0, "memory_span_bytes"_a = 0,
      "ranks_of_node"_a = 0, "synced"_a = false, "shows_cache"_a = false);

  m.def(
      "check_asked",
      [](const std::string& method, const TuningPairs& tuning) {
        swath::Request request;
        set_tuning(request, tuning);
        method_named(method);
      },
      "method"_a, "tuning"_a, "Raises ArgumentError for a method or tuning that is not known.");
  m.def(
      "memory_block",
      [](const std::shared_ptr<swath::Layout>& layout, const swath::Decomposition& decomposition, int rank,
         const nb::list& arrays) {
        const auto memory = memory_of(decomposition, rank, layout->element_bytes(), arrays);
        int64_t block = 0;
        swath::Access(*layout, memory.parts).visit_all([&](const swath::Slice& slice) {
          const int64_t dense = slice.regions.dense_positions() * slice.regions.element_bytes();
          block = block == 0 ? dense : std::min(block, dense);
        });
        return block;
      },
      "layout"_a, "decomposition"_a, "rank"_a, "arrays"_a,
      "Bytes of the smallest piece of memory that is contiguous in the order of the file; 0 of an empty share.");
  nb::class_<SharedEngine>(m, "Engine", "One open file and one way of moving its bytes, for any number of threads.")
      .def_prop_ro("name", [](SharedEngine& shared) { return shared.lease()->name(); })
      .def_prop_ro("path", [](SharedEngine& shared) { return shared.lease()->path(); })
      .def_prop_ro("size", [](SharedEngine& shared) { return shared.lease()->size(); })
      .def_prop_ro(
          "shows_cache", [](SharedEngine& shared) { return shared.lease()->cached_view() != nullptr; },
          "Whether what is in the page cache can be looked at instead of copied.")
      .def(
          "cached_steps",
          [](SharedEngine& shared, const std::shared_ptr<swath::Layout>& layout,
             const swath::Decomposition& decomposition) {
            return swath::cached_steps(*shared.lease(), *layout, decomposition);
          },
          "layout"_a, "decomposition"_a,
          "How many of CACHED_STEPS are in the page cache, between the first byte that any rank touches and the last; "
          "all where that is not known.")
      .def(
          "cached_range",
          [](SharedEngine& shared, int64_t offset, int64_t bytes) {
            return shared.lease()->cached_part(offset, bytes);
          },
          "offset"_a, "bytes"_a, "What part of so many bytes is in the page cache; None where that is not known.")
      .def(
          "resize", [](SharedEngine& shared, int64_t bytes) { shared.lease()->resize(bytes); }, "bytes"_a,
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "set_write_behind", [](SharedEngine& shared, bool wanted) { shared.lease()->set_write_behind(wanted); },
          "wanted"_a, "Whether the device begins at once with what is written; for files that will be synced.")
      .def("sync", [](SharedEngine& shared) { shared.lease()->sync(); }, nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "open_engine",
      [](const std::string& path, const std::string& mode, const std::string& engine,
         const std::shared_ptr<swath::Tokens>& tokens, std::optional<int32_t> reads, std::optional<int32_t> writes,
         int64_t burst_bytes, std::optional<double> lock_timeout) {
        const auto open_mode = mode == "r"    ? swath::OpenMode::kRead
                               : mode == "r+" ? swath::OpenMode::kReadWrite
                                              : swath::OpenMode::kCreateNew;
        swath::EngineOptions options;
        options.engine = engine;
        if (lock_timeout) options.lock_timeout_seconds = *lock_timeout;
        swath::ThrottleOptions throttle;
        throttle.reads = reads ? std::optional(swath::StreamLimit{*reads}) : std::nullopt;
        throttle.writes = writes ? std::optional(swath::StreamLimit{*writes}) : std::nullopt;
        throttle.burst_bytes = burst_bytes;
        const auto reason = std::make_shared<std::string>();
        auto shared = std::make_unique<SharedEngine>(
            [=, make = swath::open_for_engines(path, open_mode, options)]() -> std::unique_ptr<swath::Engine> {
              auto made = make(reason.get());
              if (tokens == nullptr) return made;
              return std::make_unique<swath::ThrottledEngine>(std::move(made), tokens->for_this_process(), throttle);
            });
        return std::make_pair(std::move(shared), *reason);
      },
      "path"_a, "mode"_a, "engine"_a = "auto", "tokens"_a.none() = nb::none(), "reads"_a.none() = nb::none(),
      "writes"_a.none() = nb::none(), "burst_bytes"_a = int64_t{4} << 20, "lock_timeout"_a.none() = nb::none(),
      "(engine, why it is another than the one asked for). With tokens, streams served at a time: 0 as many as the "
      "controller says, None all. `lock_timeout`: seconds that a lock is waited for, None for ever.");

  m.def(
      "fill_range",
      [](SharedEngine& shared, int64_t begin, int64_t end, const nb::bytes& fill, bool is_alone) {
        const std::span element(reinterpret_cast<const std::byte*>(fill.c_str()), fill.size());
        const Interruptible interruptible(is_alone);
        swath::fill_range(*shared.lease(), begin, end, element);
      },
      "engine"_a, "begin"_a, "end"_a, "fill"_a, "is_alone"_a);

  m.def(
      "copy_strided",
      [](const nb::handle& target, const nb::handle& source) {
        const Place to(target);
        const Place from(source);
        const auto shape = to.shape();
        if (shape != from.shape() || to.element_bytes() != from.element_bytes()) {
          throw Error(ErrorKind::kInternal, "copy_strided needs two arrays of one shape and element size");
        }
        int64_t bytes = to.element_bytes();
        for (const int64_t count : shape) bytes *= count;
        if (bytes == 0) return;
        nb::gil_scoped_release release;
        swath::copy_levels(to.address(), from.address(), to.element_bytes(), levels_between(shape, to, from),
                           swath::target_of(bytes));
      },
      "target"_a, "source"_a,
      "Every element of `source` to its place in `target`, bytes as they are; the two must not overlap.");

  nb::class_<swath::Progress>(m, "Progress")
      .def(nb::init<>())
      .def_prop_ro("bytes_done", [](const swath::Progress& progress) { return progress.bytes_done.load(); })
      .def_prop_ro("bytes_total", [](const swath::Progress& progress) { return progress.bytes_total.load(); });

  nb::class_<Counters> counters(m, "Counters", "What an operation did on this rank.");
  counters.def(nb::init<>()).def(nb::self += nb::self);
  swath::for_each_counter([&](const char* name, auto member) { counters.def_ro(name, member); });

  m.def(
      "run",
      [](const swath::Plan& plan, Comm& comm, SharedEngine& shared, const nb::list& arrays, const nb::bytes& fill,
         swath::Progress* watched) {
        const swath::Layout& layout = *plan.request.layout;
        const auto memory = memory_of(plan.request.decomposition, comm.rank(), layout.element_bytes(), arrays);
        const std::span fill_element(reinterpret_cast<const std::byte*>(fill.c_str()), fill.size());
        swath::Progress unwatched;
        const Interruptible interruptible(comm);
        swath::Progress& progress = watched == nullptr ? unwatched : *watched;
        const auto engine = shared.lease();
        const Counters counters = swath::run(plan, engine.ranks(comm), *engine, memory, progress);
        if (plan.request.direction == swath::Direction::kRead && layout.has_absent_chunks()) {
          swath::fill_absent(layout, memory, fill_element);
        }
        return counters;
      },
      "plan"_a, "comm"_a, "engine"_a, "arrays"_a, "fill"_a, "progress"_a.none() = nb::none(), "Collective.");

  bind_again(m);
  bind_chunks(m);
  bind_formats(m);
  bind_write_back(m);

  m.def(
      "redistribute",
      [](int64_t element_bytes, const swath::Decomposition& from, const swath::Decomposition& to, Comm& comm,
         const nb::list& source, const nb::list& target, swath::Progress* watched) {
        const auto before = memory_of(from, comm.rank(), element_bytes, source);
        const auto after = memory_of(to, comm.rank(), element_bytes, target);
        swath::Progress unwatched;
        const Interruptible interruptible(comm);
        return swath::redistribute(element_bytes, {from, before}, {to, after}, comm, {},
                                   watched == nullptr ? unwatched : *watched);
      },
      "element_bytes"_a, "source_decomposition"_a, "target_decomposition"_a, "comm"_a, "source"_a, "target"_a,
      "progress"_a.none() = nb::none());
}
