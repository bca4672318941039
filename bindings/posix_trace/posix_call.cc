#include "posix_trace/posix_call.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "trace/event.h"

namespace swath::posix_trace {
namespace {

class CallEvent final : public trace::Event {
 public:
  CallEvent(const Call& call, double began)
      : Event(call.name, call.category, began, real_clock().now()), name_(call.name), call_(call) {}

 private:
  void write_arguments(trace::JsonObject& arguments) const override {
    arguments.put("path", *call_.path);
    if (call_.offset) arguments.put("offset", *call_.offset);
    if (call_.bytes != 0) arguments.put(name_ == "read" ? "read_bytes" : "written_bytes", call_.bytes);
    if (call_.flags) arguments.put("flags", int64_t{*call_.flags});
    if (call_.error != 0) arguments.put("error", std::strerror(call_.error));
  }

  const std::string_view name_;
  const Call call_;
};

// Restores errno at the end of its lifetime: the program reads errno after its call.
class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = kept_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  const int kept_ = errno;
};

}  // namespace

double now() { return real_clock().now(); }

void add(const Call& call, double began) {
  const KeepErrno keep;
  const Untraced untraced;
  trace::add(std::make_unique<CallEvent>(call, began));
}

Path path_to_trace(int descriptor, const void* caller) {
  if (!is_traced(caller)) return nullptr;
  const KeepErrno keep;
  const Untraced untraced;
  return path_of(descriptor);
}

std::optional<int64_t> position_before(int descriptor, int64_t bytes) {
  const KeepErrno keep;
  const Untraced untraced;
  const off_t position = lseek(descriptor, 0, SEEK_CUR);
  return position < bytes ? std::nullopt : std::optional<int64_t>(position - bytes);
}

std::optional<int64_t> position_before(FILE* stream, int64_t bytes) {
  const KeepErrno keep;
  const Untraced untraced;
  const off_t position = ftello(stream);
  return position < bytes ? std::nullopt : std::optional<int64_t>(position - bytes);
}

void add_open(Call call, const char* path, int descriptor, double began) {
  const KeepErrno keep;
  const Untraced untraced;
  if (descriptor >= 0) {
    forget(descriptor);  // an old entry remains if an untraced call closed the descriptor
    call.path = path_of(descriptor);
  } else {
    call.error = errno;
    const std::string full = absolute(path);
    if (is_traced_path(full)) call.path = std::make_shared<const std::string>(full);
  }
  if (call.path != nullptr) add(call, began);
}

void add_of_path(const char* name, const char* path, int result, double began) {
  const KeepErrno keep;
  const Untraced untraced;
  const int error = result < 0 ? errno : 0;
  const std::string full = absolute(path);
  if (!is_traced_path(full)) return;
  add({.name = name, .path = std::make_shared<const std::string>(full), .error = error}, began);
}

}  // namespace swath::posix_trace
