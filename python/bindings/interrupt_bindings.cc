// Signals and notices: the core's interrupt checks and notices (base/interrupt.h, base/notice.h) call Python.

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/notice.h"
#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// A flag that one thread sets and others read. Readers share the flag, not the Python object: a thread may end after
// the interpreter, when no Python object may be freed any more.
class Stop {
 public:
  using Flag = std::atomic<bool>;

  void set() { *is_set_ = true; }
  std::shared_ptr<const Flag> flag() const { return is_set_; }

 private:
  std::shared_ptr<Flag> is_set_ = std::make_shared<Flag>(false);
};

thread_local std::shared_ptr<const Stop::Flag> obeyed;

// The exception of a signal handler during work of the core on this thread; raised again at the end of the work.
thread_local std::optional<nb::python_error> raised;

// Python runs signal handlers in its main thread only, so other threads need not take the interpreter's lock.
bool runs_signal_handlers() { return ::getpid() == ::syscall(SYS_gettid); }

bool is_to_stop() {
  if (raised) return true;
  if (obeyed != nullptr && *obeyed) return true;
  if (!runs_signal_handlers()) return false;
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return false;
  raised.emplace();  // takes it
  return true;
}

// Shows a warning. Python code and signal handlers may run here; an exception ends the wait. If other ranks also wait,
// an interrupt is kept for later, and a warning that is configured as an error is only shown.
void warn(const std::string& text) {
  const nb::gil_scoped_acquire acquire;
  try {
    nb::module_::import_("swath.errors").attr("warn_of_wait")(text);
  } catch (nb::python_error& error) {
    if (swath::is_interruptible()) {
      raised.emplace(std::move(error));
    } else if (error.matches(PyExc_KeyboardInterrupt)) {
      PyErr_SetInterrupt();
    } else {
      error.discard_as_unraisable("swath: a warning");
    }
  }
}

}  // namespace

Interruptible::Interruptible(bool is_alone) {
  raised.reset();
  release_.emplace();
  if (is_alone) scope_.emplace(&is_to_stop);
}

bool raise_from_signal() {
  if (!raised) return false;
  // Code that gathers errors of all ranks does not catch such exceptions (swath/ranks/ranks.py).
  if (PyObject_SetAttrString(raised->value().ptr(), "is_from_signal", Py_True) != 0) PyErr_Clear();
  raised->restore();
  raised.reset();
  return true;
}

void bind_interrupt(nb::module_& m) {
  swath::set_notice_handler(&warn);
  nb::class_<Stop>(m, "Stop", "Tells threads that obey it to end what they are at.")
      .def(nb::init<>())
      .def("set", &Stop::set, "From now on what they do raises StoppedError.");
  m.def(
      "obey", [](const Stop* stop) { obeyed = stop == nullptr ? nullptr : stop->flag(); }, "stop"_a.none(),
      "This thread stops when that says so; None: only for signals again.");
}
