#include "trace/file_call.h"

#include <exception>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "trace/trace.h"

namespace swath::trace {
namespace {

class FileEvent final : public Event {
 public:
  FileEvent(const char* name, double began, std::string path, const char* detail, bool has_failed)
      : Event(name, "swath", began, real_clock().now()),
        path_(std::move(path)),
        detail_(detail),
        has_failed_(has_failed) {}

 private:
  void write_arguments(JsonObject& arguments) const override {
    arguments.put("path", path_);
    if (*detail_ != '\0') arguments.put("mode", detail_);
    if (has_failed_) arguments.put("error", "the call has failed");
  }

  const std::string path_;
  const char* const detail_;
  const bool has_failed_;
};

}  // namespace

FileCall::FileCall(const char* name, const std::string& path, const char* detail)
    : name_(name),
      path_(is_active() ? path : ""),
      detail_(detail),
      began_(path_.empty() ? 0 : real_clock().now()),
      errors_before_(std::uncaught_exceptions()) {}

FileCall::~FileCall() {
  if (path_.empty()) return;
  const bool has_failed = std::uncaught_exceptions() > errors_before_;
  add(std::make_unique<FileEvent>(name_, began_, std::move(path_), detail_, has_failed));
}

}  // namespace swath::trace
