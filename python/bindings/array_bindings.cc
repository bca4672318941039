// Operations and open arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "array/array.h"
#include "base/error.h"
#include "base/per_process.h"
#include "bindings.h"
#include "files/collective_file.h"
#include "formats_convert.h"
#include "plan/operation.h"

namespace nb = nanobind;
using namespace nb::literals;
using package_types::Arrays;
using swath::Array;
using swath::ArrayForm;
using swath::CodedArray;
using swath::Comm;
using swath::Counters;
using swath::Error;
using swath::ErrorKind;
using swath::Execution;
using swath::File;
using swath::Operation;
using swath::Profile;

namespace {

std::vector<std::byte> vector_of(const nb::bytes& bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.c_str());
  return {begin, begin + bytes.size()};
}

nb::bytes bytes_of(const std::vector<std::byte>& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

swath::Direction direction_named(const std::string& name) {
  return name == "write" ? swath::Direction::kWrite : swath::Direction::kRead;
}

int own_number(const Operation& operation, const Comm& comm) {
  return std::min(comm.rank(), operation.decomposition().ranks() - 1);
}

bool is_alone(const Array& array, const Operation& operation) {
  return array.comm().size() == 1 || operation.decomposition().ranks() == 1;
}

Execution execute_with(Array& array, const Operation& operation, const Arrays& arrays, swath::Progress* watched,
                       const package_types::Work& library, std::function<Array::Stored()> relocate) {
  const auto memory = memory_of(operation.decomposition(), own_number(operation, array.comm()),
                                operation.array().element_bytes(), arrays);
  Callback by_library(library);
  Array::ExecuteOptions execute_options;
  execute_options.progress = watched;
  execute_options.library = [&] { by_library.call([](const nb::object&) {}); };
  execute_options.relocate = std::move(relocate);
  const bool alone = is_alone(array, operation);
  try {
    const Interruptible interruptible(alone);
    return array.execute(operation, memory, execute_options);
  } catch (const Error&) {
    if (alone) by_library.raise();
    throw;
  }
}

Execution execute(Array& array, const Operation& operation, const Arrays& arrays, swath::Progress* watched,
                  const package_types::Work& library) {
  return execute_with(array, operation, arrays, watched, library, nullptr);
}

Execution write_stored(swath::StoredArray& array, const Operation& operation, const Arrays& arrays,
                       swath::Progress* watched, const package_types::Work& library,
                       swath::CollectiveFile* allocating) {
  std::function<Array::Stored()> relocate;
  if (allocating != nullptr) relocate = [&] { return allocating->allocate(array); };
  return execute_with(array, operation, arrays, watched, library, std::move(relocate));
}

// A started operation with what it needs until it is done: the array and its memory. Its destructor waits for the
// operation's end, so that no freed memory is written; other Python threads run meanwhile.
class Started {
 public:
  Started(nb::object array, bool alone, std::shared_ptr<nb::list> memory, swath::Future future)
      : array_(std::move(array)), alone_(alone), memory_(std::move(memory)), future_(std::move(future)) {}
  ~Started() {
    if (future_.is_done() || is_abandoned_) return;
    const nb::gil_scoped_release release;
    future_.cancel();
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  bool is_done() const { return future_.is_done(); }
  bool is_alone() const { return alone_; }
  Execution wait() {
    const Interruptible interruptible(alone_);
    return future_.wait();
  }
  void cancel() {
    const nb::gil_scoped_release release;
    future_.cancel();
  }
  // For an operation with other ranks that owns its memory: it ends when theirs do.
  void abandon() { is_abandoned_ = true; }
  std::pair<double, double> times() const { return {future_.began(), future_.ended()}; }

 private:
  nb::object array_;
  bool alone_;
  std::shared_ptr<nb::list> memory_;  // lives as long as the operation, perhaps longer than this object
  swath::Future future_;
  bool is_abandoned_ = false;
};

// Tracks if threads may still take the interpreter's lock: the interpreter kills a thread that asks for the lock during
// its shutdown.
class LastCalls {
 public:
  // Calls it with the lock, unless the program is ending.
  template <typename Work>
  void call(const Work& work) {
    State& state = state_.get();
    ++state.calling;
    if (!state.has_ended) {
      const nb::gil_scoped_acquire acquire;
      work();
    }
    --state.calling;
  }
  // Waits until no thread is in a call; later calls do nothing.
  void end() {
    const nb::gil_scoped_release release;
    State& state = state_.get();
    state.has_ended = true;
    while (state.calling > 0) std::this_thread::yield();
  }

 private:
  struct State {
    std::atomic<int> calling = 0;
    std::atomic<bool> has_ended = false;
  };
  swath::PerProcess<State> state_;
};

// Never destroyed: threads may outlive the interpreter.
LastCalls& last_calls() {
  static auto* const calls = new LastCalls;
  return *calls;
}

// The objects that an operation holds; any thread may release them.
std::shared_ptr<nb::list> held(const Arrays& arrays) {
  return {new nb::list(static_cast<const nb::list&>(arrays)),
          [](nb::list* list) { last_calls().call([list] { delete list; }); }};
}

// An Array that Python may release: threads that end with it may need the interpreter's lock.
class HeldArray final : public Array {
 public:
  using Array::Array;
  ~HeldArray() {
    const nb::gil_scoped_release release;
    end_background();
  }
  HeldArray(const HeldArray&) = delete;
  HeldArray& operator=(const HeldArray&) = delete;
};

// Numbers that ranks compare in the background.
class Comparing {
 public:
  Comparing(nb::object array, std::shared_ptr<swath::RankNumbers> numbers, swath::Future future)
      : array_(std::move(array)), numbers_(std::move(numbers)), future_(std::move(future)) {}

  std::vector<double> wait() {
    {
      const nb::gil_scoped_release release;
      future_.wait();
    }
    return {numbers_->largest.begin(), numbers_->largest.end()};
  }

 private:
  nb::object array_;
  std::shared_ptr<swath::RankNumbers> numbers_;
  swath::Future future_;
};

Comparing start_comparing(const nb::object& self, int loop, const std::string& doing, const std::vector<double>& mine,
                          bool is_waited_for) {
  auto& array = nb::cast<Array&>(self);
  auto numbers = std::make_shared<swath::RankNumbers>();
  if (mine.size() > numbers->largest.size()) swath::fail_argument("more numbers than ranks compare at once");
  std::copy(mine.begin(), mine.end(), numbers->largest.begin());
  const nb::gil_scoped_release release;
  auto future = array.start_comparing(loop, doing, numbers, is_waited_for);
  const nb::gil_scoped_acquire acquire;
  return {self, std::move(numbers), std::move(future)};
}

std::unique_ptr<Started> start(const nb::object& self, const Operation& operation, const Arrays& arrays, int loop,
                               bool is_waited_for) {
  auto& array = nb::cast<Array&>(self);
  const auto memory = memory_of(operation.decomposition(), own_number(operation, array.comm()),
                                operation.array().element_bytes(), arrays);
  auto keep = held(arrays);
  Array::ExecuteOptions execute_options;
  execute_options.keep = keep;
  execute_options.loop = loop;
  execute_options.is_waited_for = is_waited_for;
  const bool alone = is_alone(array, operation);
  const auto future = [&] {
    const nb::gil_scoped_release release;
    return array.start(operation, memory, execute_options);
  }();
  return std::make_unique<Started>(self, alone, std::move(keep), future);
}

std::unique_ptr<Started> start_refused(const nb::object& self, const Operation* operation,
                                       const std::tuple<int, std::string, int>& error, int loop) {
  auto& array = nb::cast<Array&>(self);
  const auto& [kind, message, os_error] = error;
  const auto future = [&, kind = kind, os_error = os_error, &message = message] {
    const nb::gil_scoped_release release;
    return array.start_refused(operation, Error(static_cast<ErrorKind>(kind), message, os_error), loop);
  }();
  return std::make_unique<Started>(self, false, nullptr, future);
}

void bind_operation(nb::module_& m) {
  nb::class_<ArrayForm>(m, "ArrayForm", "What an operation must know of the array.")
      .def(
          "__init__",
          [](ArrayForm* self, std::string identity, swath::Shape shape, int64_t element_bytes,
             std::shared_ptr<swath::Layout> layout) {
            new (self) ArrayForm(std::move(identity), std::move(shape), element_bytes, std::move(layout));
          },
          "identity"_a, "shape"_a, "element_bytes"_a, "layout"_a.none())
      .def_prop_ro("identity", &ArrayForm::identity)
      .def_prop_ro("shape", &ArrayForm::shape)
      .def_prop_ro("element_bytes", &ArrayForm::element_bytes)
      .def_prop_ro(
          "layout",
          [](const ArrayForm& form) -> std::optional<std::shared_ptr<swath::Layout>> {
            if (form.layout() == nullptr) return std::nullopt;
            return std::const_pointer_cast<swath::Layout>(form.layout());
          },
          "None where no plan moves the bytes: coded chunks, and arrays that a format's library reads.")
      .def(
          "serialise",
          [](const ArrayForm& form) {
            swath::ByteWriter writer;
            form.write(writer);
            return bytes_of(writer.bytes());
          },
          "Return the bytes that `Operation.parse_parts` takes.");
  nb::class_<Operation>(m, "Operation", "One read or write as data; it never changes.")
      .def(
          "__init__",
          [](Operation* self, std::shared_ptr<ArrayForm> array, const std::string& direction,
             const swath::Decomposition& decomposition, const std::string& method, swath::TuningSettings tuning) {
            const swath::MethodChoice choice = swath::parse_choice(method);
            new (self) Operation(std::move(array), {direction_named(direction), decomposition, choice.method,
                                                    std::move(tuning), choice.inner});
          },
          "array"_a, "direction"_a, "decomposition"_a, "method"_a = "auto", "tuning"_a = swath::TuningSettings())
      .def_static(
          "parse", [](const nb::bytes& bytes) { return Operation::parse(vector_of(bytes)); }, "bytes"_a,
          "Raises FormatError for anything that `serialise` has not made.")
      .def_static(
          "parse_parts",
          [](const nb::bytes& array, const nb::bytes& access, const std::vector<nb::bytes>& shares) {
            std::vector<std::vector<std::byte>> of_ranks;
            for (const nb::bytes& share : shares) of_ranks.push_back(vector_of(share));
            return Operation::parse_parts(vector_of(array), vector_of(access), of_ranks);
          },
          "array"_a, "access"_a, "shares"_a,
          "Return the operation of the parts that a trace has of it: the array's form, the access, and each rank's "
          "share where there are boxes or views. Raise FormatError for anything else.")
      .def("serialise", [](const Operation& operation) { return bytes_of(operation.serialise()); })
      .def_prop_ro("array", [](const Operation& operation) { return std::make_shared<ArrayForm>(operation.array()); })
      .def_prop_ro("tuning", [](const Operation& operation) { return operation.tuning(); })
      .def_prop_ro("direction", [](const Operation& operation) { return swath::to_string(operation.direction()); })
      .def_prop_ro("method",
                   [](const Operation& operation) {
                     return swath::to_string(swath::MethodChoice{operation.method(), operation.inner()});
                   })
      .def_prop_ro("decomposition", &Operation::decomposition)
      .def_prop_ro(
          "access", [](const Operation& operation) { return bytes_of(operation.access_bytes()); },
          "Everything but the array and each rank's boxes or view, as `parse_parts` takes it.")
      .def_prop_ro(
          "shares",
          [](const Operation& operation) {
            std::vector<nb::bytes> shares;
            const swath::Decomposition& decomposition = operation.decomposition();
            const int ranks = decomposition.is_gathered() ? decomposition.ranks() : 0;
            for (int rank = 0; rank < ranks; ++rank) shares.push_back(bytes_of(decomposition.share_bytes_of(rank)));
            return shares;
          },
          "Each rank's boxes or view, as `parse_parts` takes them; else none.")
      .def_prop_ro("words", &Operation::words)
      .def_prop_ro("ranks", [](const Operation& operation) { return operation.decomposition().ranks(); })
      .def(
          "local_shapes",
          [](const Operation& operation, int rank) {
            return operation.decomposition().local_shapes(std::min(rank, operation.decomposition().ranks() - 1));
          },
          "rank"_a, "Of each of a rank's parts in memory.");
}

void bind_open_array(nb::module_& m) {
  nb::class_<swath::Learning>(m, "Learning", "The profile of an open file, and what its operations teach.")
      .def(
          "__init__",
          [](swath::Learning* self, std::shared_ptr<Profile> profile, bool frozen) {
            new (self) swath::Learning(std::move(profile), frozen);
          },
          "profile"_a, "frozen"_a)
      .def_prop_ro("profile",
                   [](const swath::Learning& learning) { return std::const_pointer_cast<Profile>(learning.profile()); })
      .def_prop_ro("has_learned", &swath::Learning::has_learned);
  nb::class_<Execution>(m, "Execution", "What was carried out.")
      .def_ro("method", &Execution::method)
      .def_prop_ro(
          "plan", [](const Execution& done) { return std::const_pointer_cast<swath::Plan>(done.plan); },
          nb::sig("def plan(self) -> swath._core.Plan | None"))
      .def_prop_ro(
          "of_chunks", [](const Execution& done) { return std::const_pointer_cast<Operation>(done.of_chunks); },
          nb::sig("def of_chunks(self) -> swath._core.Operation | None"),
          "Of coded chunks: what was carried out, with the boxes of all ranks; else None.")
      .def_ro("counters", &Execution::counters)
      .def_ro("was_read_before_agreement", &Execution::was_read_before_agreement);
  nb::class_<Started>(m, "Started", "An operation that may go on in the background.")
      .def_prop_ro("is_done", &Started::is_done)
      .def_prop_ro("is_alone", &Started::is_alone, "Whether no other rank takes part.")
      .def("wait", &Started::wait, "Collective where the operation is. Raises what `execute` would have raised.")
      .def("cancel", &Started::cancel, "It is not wanted: of one rank alone it stops. Waits for its end.")
      .def("abandon", &Started::abandon,
           "It is not wanted, and comes to its end when other ranks take part, in memory of its own.")
      .def_prop_ro("times", &Started::times,
                   "When it was carried out, in seconds of `time.monotonic`: began, ended. Once it is done.");
  nb::class_<Comparing>(m, "Comparing", "Numbers that ranks compare in the background.")
      .def("wait", &Comparing::wait, "Of each number the largest of all ranks.");
  m.def("end_calls", [] { last_calls().end(); }, "The program ends: threads take the interpreter's lock no more.");
  nb::class_<Array>(m, "OpenArray", "Whoever reads or writes an open array comes through `execute`.")
      .def("execute", &execute, "operation"_a, "arrays"_a, "watched"_a.none() = nb::none(),
           "library"_a.none() = nb::none(),
           "Collective, but for operations of one rank. `arrays`: this rank's memory, an ndarray a part.")
      .def("start", &start, "operation"_a, "arrays"_a, "loop"_a = 0, "is_waited_for"_a = false,
           "The same in the background, see `may_run_in_background`. `loop`: that it is a step of, see `begin_loop`.")
      .def("start_refused", &start_refused, "operation"_a.none(), "error"_a, "loop"_a = 0,
           "Collective, while other ranks start: this one cannot. `error`: as `swath.errors.to_core` gives it.")
      .def(
          "outlive_interpreter",
          [](const nb::object& self) {
            if (nb::cast<Array&>(self).is_under_way()) self.inc_ref();
          },
          "Where something is under way that other ranks take part in: nobody waits for it when the interpreter ends.")
      .def_prop_ro("ranks_allow_background", &Array::ranks_allow_background)
      .def("begin_loop", &Array::begin_loop, nb::call_guard<nb::gil_scoped_release>(),
           "Collective. The number of a loop that all ranks go through together.")
      .def("leave_loop", &Array::leave_loop, "loop"_a, "text"_a, nb::call_guard<nb::gil_scoped_release>(),
           "Local. This rank goes on no longer with it; ranks that do are told `text`, as an error.")
      .def("start_comparing", &start_comparing, "loop"_a, "doing"_a, "numbers"_a, "is_waited_for"_a = false,
           "Collective, in the background, in a loop: of up to 12 numbers the largest of all ranks.")
      .def(
          "may_run_in_background",
          [](const Array& array, const std::string& direction) {
            return array.may_run_in_background(direction_named(direction));
          },
          "direction"_a, "Whether the core carries it out by itself.")
      .def(
          "finish_started",
          [](Array& array, bool is_alone) {
            const Interruptible interruptible(is_alone);
            array.finish_started();
          },
          "is_alone"_a, "Collective where what was started is. Waits until all of it is done.")
      .def(
          "refuse",
          [](Array& array, const Operation* operation, int kind, const std::string& message, int os_error) {
            const nb::gil_scoped_release release;
            array.refuse(operation, Error(static_cast<ErrorKind>(kind), message, os_error));
          },
          "operation"_a.none(), "kind"_a, "message"_a, "os_error"_a,
          "Collective, while other ranks execute: raises, on all ranks, what this one brings or a lower one.")
      .def(
          "explain",
          [](Array& array, const Operation& operation, std::optional<double> cached) {
            return std::const_pointer_cast<swath::Plan>(array.explain(operation, cached));
          },
          "operation"_a, "cached"_a.none())
      .def(
          "explain_chunks",
          [](Array& array, const Operation& operation, std::optional<double> cached,
             std::optional<std::pair<double, double>> coding) {
            const nb::gil_scoped_release release;
            return std::const_pointer_cast<swath::ChunkPlan>(
                array.explain_chunks(operation, cached, coding_cost(coding)));
          },
          "operation"_a, "cached"_a.none(), "coding"_a.none() = nb::none(),
          "Of coded chunks. coding: seconds a byte of decoding and encoding, where they were measured.")
      .def("with_all_shares", &Array::with_all_shares, "operation"_a, "also"_a,
           nb::call_guard<nb::gil_scoped_release>(), "Collective. The operation with the boxes of all ranks.")
      .def("sync", &Array::sync, nb::call_guard<nb::gil_scoped_release>(), "Collective.")
      .def("expect_sync", &Array::expect_sync, "Its file was synced, and will be again.")
      .def("fill_unwritten", &Array::fill_unwritten, nb::call_guard<nb::gil_scoped_release>(),
           "Collective. What was never written of a new array gets its fill value.")
      .def_prop_ro(
          "shape",
          [](const Array& array) {
            nb::list lengths;
            for (const int64_t length : array.form()->shape()) lengths.append(length);
            return nb::typed<nb::tuple, int, nb::ellipsis>(nb::tuple(lengths));
          },
          "The lengths in elements.")
      .def_prop_ro(
          "form", [](const Array& array) { return std::const_pointer_cast<ArrayForm>(array.form()); },
          "What operations must know of it now; another object whenever its elements are elsewhere.")
      .def(
          "stop",
          [](Array& array, bool is_alone) {
            const Interruptible interruptible(is_alone);
            return array.stop();
          },
          "is_alone"_a, "Waits until nobody uses it. False: it was closed before. `is_alone`: no rank waits.")
      .def("release_file", &Array::release_file, nb::call_guard<nb::gil_scoped_release>(), "Once it is stopped.")
      .def_prop_ro("is_closed", &Array::is_closed)
      .def_prop_ro("has_plans", &Array::has_plans)
      .def_prop_ro(
          "chunks", [](const Array& array) { return std::const_pointer_cast<CodedArray>(array.chunks()); },
          nb::sig("def chunks(self) -> swath._core.CodedArray | None"),
          "The coded chunks as they are stored now; None where none are coded.")
      .def_prop_ro("plans_made", &Array::plans_made)
      .def(
          "goes_by_chunks",
          [](const Array& array, const std::string& direction) {
            return array.goes_by_chunks(direction_named(direction));
          },
          "direction"_a)
      .def_prop_ro("profile",
                   [](Array& array) { return std::const_pointer_cast<Profile>(array.learning().profile()); });
  nb::class_<HeldArray, Array>(m, "Array", "An open array that Python holds.")
      .def(
          "__init__",
          [](HeldArray* self, std::shared_ptr<Comm> comm, std::shared_ptr<File> file, std::shared_ptr<ArrayForm> form,
             const nb::bytes& fill, const package_types::Facts& options) {
            Array::Options given;
            given.form = std::move(form);
            given.fill = vector_of(fill);
            if (options.contains("chunks")) given.chunks = nb::cast<std::shared_ptr<CodedArray>>(options["chunks"]);
            given.learning = nb::cast<std::shared_ptr<swath::Learning>>(options["learning"]);
            given.is_new = nb::cast<bool>(options["is_new"]);
            given.name = nb::cast<std::string>(options["name"]);
            new (self) HeldArray(std::move(comm), std::move(file), std::move(given));
          },
          "comm"_a, "file"_a, "form"_a, "fill"_a, "options"_a);
}

}  // namespace

void bind_stored_array(nb::module_& m) {
  using swath::StoredArray;
  nb::class_<StoredArray, Array>(m, "StoredArray", "One array of an open file (core/files/stored_array.h).")
      .def("write", &write_stored, "operation"_a, "arrays"_a, "watched"_a.none() = nb::none(),
           "library"_a.none() = nb::none(), "allocating"_a.none() = nb::none(),
           "As `execute`. `allocating`: its file, which gives all elements a place before.")
      .def_prop_ro("times_described", &StoredArray::times_described, "How often its file has said where it is.")
      .def(
          "description",
          [](const StoredArray& array) -> package_types::Description {
            return swath::formats::to_python(*array.description());
          },
          "What the format has said of it last, once its file has said so.");
}

void bind_array(nb::module_& m) {
  bind_operation(m);
  bind_open_array(m);
  bind_stored_array(m);
}
