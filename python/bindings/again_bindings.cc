// Short operations: reads that are agreed on once, and what is asked for again.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>

#include "bindings.h"
#include "method/again.h"
#include "method/shared_engine.h"
#include "plan/operation_times.h"

namespace nb = nanobind;
using namespace nb::literals;
using swath::Comm;
using swath::Counters;
using swath::OperationTimes;
using swath::Outcome;
using swath::SharedEngine;

namespace {

std::vector<std::byte> bytes_of(const nb::bytes& bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.c_str());
  return {begin, begin + bytes.size()};
}

// The core's, with all that Python would look at otherwise, from cold caches: where the memory is, and what is learned.
class Again {
 public:
  Again(const swath::Plan& plan, int64_t plan_number, const std::string& asked, const swath::Note& note,
        bool sees_cache, const nb::handle& array, const nb::bytes& fill, Comm& comm, SharedEngine& engine,
        OperationTimes& times)
      : place_(array),
        is_read_(plan.request.direction == swath::Direction::kRead),
        plan_number_(plan_number),
        comm_(comm),
        engine_(engine),
        times_(times),
        core_(plan, asked, note, sees_cache, memory_of(plan, comm.rank(), array), bytes_of(fill)) {}

  // Nothing where the memory is placed otherwise than before: then nothing was done, nor agreed on.
  std::optional<bool> carry_out(const nb::handle& array) {
    const Place place(array);
    if (!place.is(place_.shape, place_.strides) || (is_read_ && !place.is_writable())) return std::nullopt;
    Outcome outcome = carry_out_unlocked(place.address(), times_.own_nanoseconds());
    if (!outcome.counters) {
      notes_ = std::move(outcome.notes);
      return false;
    }
    counters_ = *outcome.counters;
    times_.set_slowest(outcome.slowest_nanoseconds());
    times_.measured(plan_number_, std::llround((counters_.total_seconds - counters_.token_seconds) * 1e9));
    return true;
  }

  const Counters& counters() const { return counters_; }
  const std::vector<swath::Note>& notes() const { return notes_; }

 private:
  struct Placed {
    explicit Placed(const nb::handle& array) : Placed(Place(array)) {}
    explicit Placed(const Place& place) : shape(place.shape()), strides(place.strides()) {}
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
  };

  // Other threads look at what was measured, and at the counters, while they have the interpreter's lock.
  Outcome carry_out_unlocked(std::byte* address, int64_t own_nanoseconds) {
    const Interruptible interruptible(comm_);
    const auto engine = engine_.lease();
    return core_.carry_out(address, own_nanoseconds, engine.ranks(comm_), *engine);
  }

  static swath::LocalMemory memory_of(const swath::Plan& plan, int rank, const nb::handle& array) {
    nb::list arrays;
    arrays.append(array);
    return ::memory_of(plan.request.decomposition, rank, plan.request.layout->element_bytes(), arrays);
  }

  const Placed place_;
  const bool is_read_;
  const int64_t plan_number_;
  Comm& comm_;
  SharedEngine& engine_;
  OperationTimes& times_;
  swath::Again core_;
  Counters counters_;
  std::vector<swath::Note> notes_;
};

}  // namespace

void bind_again(nb::module_& m) {
  nb::class_<OperationTimes>(m, "OperationTimes", "What operations took, until it is enough to learn from.")
      .def(nb::init<>())
      .def("measured", &OperationTimes::measured, "plan"_a, "nanoseconds"_a)
      .def_prop_ro("own_nanoseconds", &OperationTimes::own_nanoseconds)
      .def("set_slowest", &OperationTimes::set_slowest, "slowest_nanoseconds"_a)
      .def_prop_ro("is_complete", &OperationTimes::is_complete)
      .def("take", [](OperationTimes& times) {
        OperationTimes::Group group = times.take();
        return nb::make_tuple(group.plan, std::move(group.nanoseconds));
      });
  m.attr("GROUP_NANOSECONDS") = OperationTimes::kGroupNanoseconds;
  m.attr("GROUP_OPERATIONS") = OperationTimes::kGroupOperations;

  nb::class_<Outcome>(m, "Outcome").def_ro("notes", &Outcome::notes).def_ro("counters", &Outcome::counters);
  m.def(
      "read_then_agree",
      [](const swath::Plan& plan, const std::string& asked, const swath::Note& note, const nb::list& arrays,
         const nb::bytes& fill, Comm& comm, SharedEngine& shared) {
        const auto memory =
            memory_of(plan.request.decomposition, comm.rank(), plan.request.layout->element_bytes(), arrays);
        const std::span element(reinterpret_cast<const std::byte*>(fill.c_str()), fill.size());
        const Interruptible interruptible(comm);
        const auto engine = shared.lease();
        return swath::read_then_agree(plan, asked, note, memory, element, comm, *engine);
      },
      "plan"_a, "asked"_a, "note"_a, "arrays"_a, "fill"_a, "comm"_a, "engine"_a,
      "Collective, beside ranks that agree with a note that says otherwise. By a plan in which no ranks meet.");

  nb::class_<Again>(m, "Again", "A short operation as it was carried out, to be carried out again.")
      .def(nb::init<const swath::Plan&, int64_t, const std::string&, const swath::Note&, bool, const nb::handle&,
                    const nb::bytes&, Comm&, SharedEngine&, OperationTimes&>(),
           "plan"_a, "plan_number"_a, "asked"_a, "note"_a, "sees_cache"_a, "array"_a, "fill"_a, "comm"_a, "engine"_a,
           "times"_a, nb::keep_alive<1, 9>(), nb::keep_alive<1, 10>(), nb::keep_alive<1, 11>())
      .def("carry_out", &Again::carry_out, "array"_a,
           "Collective, once it does anything. True: done; False: agreed on, but not done, see `notes`; None: `array`, "
           "an "
           "ndarray of the same dtype, has another shape or other strides than before, or cannot be written.")
      .def_prop_ro("counters", &Again::counters, nb::rv_policy::reference_internal, "Of the last time, always.")
      .def_prop_ro("notes", &Again::notes, "Of all ranks, when it was not done.");
  m.attr("CACHED_STEPS") = swath::kCachedSteps;
  m.attr("BY_CONDITIONS_AGREED_LAST") = static_cast<int64_t>(swath::kConditionsAgreedLast);
}
