#include "mpi_io/traced_file.h"

#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "mpi_io/file_name.h"
#include "trace/trace.h"

namespace swath::mpi_io {
namespace {

std::mutex mutex;

// Never destroyed: late destructors may use it.
std::map<MPI_File, TracedFile>& all() {
  static auto* const files = new std::map<MPI_File, TracedFile>;
  return *files;
}

std::string error_text(int code) {
  if (code == MPI_SUCCESS) return "";
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  return MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS ? text.data()
                                                                     : "MPI error " + std::to_string(code);
}

class CallEvent final : public trace::Event {
 public:
  struct Facts {
    CallName name;
    std::string path;
    CallBytes bytes;
    std::string error;
    std::string more;
  };

  CallEvent(Facts facts, double began, double ended)
      : Event(facts.name.name, "mpi-io", began, ended), facts_(std::move(facts)) {}

 private:
  void write_arguments(trace::JsonObject& arguments) const override {
    const CallBytes& bytes = facts_.bytes;
    arguments.put("path", facts_.path);
    arguments.put("function", facts_.name.function);
    if (facts_.name.is_collective) arguments.put_json("collective", "true");
    if (bytes.is_started) arguments.put_json("started", "true");
    if (bytes.offset) arguments.put("offset", *bytes.offset);
    if (bytes.begin) arguments.put("begin", *bytes.begin);
    if (bytes.end) arguments.put("end", *bytes.end);
    const bool is_read = facts_.name.name == std::string_view("read");
    if (bytes.moved != 0) arguments.put(is_read ? "read_bytes" : "written_bytes", bytes.moved);
    if (!facts_.more.empty()) arguments.put_json("view", facts_.more);
    if (!facts_.error.empty()) arguments.put("error", facts_.error);
  }

  const Facts facts_;
};

}  // namespace

std::optional<TracedFile> traced_file(MPI_File file) {
  const std::lock_guard guard(mutex);
  const auto found = all().find(file);
  return found == all().end() ? std::nullopt : std::optional(found->second);
}

void remember(MPI_File file, TracedFile known) {
  const std::lock_guard guard(mutex);
  all()[file] = std::move(known);
}

void forget(MPI_File file) {
  const std::lock_guard guard(mutex);
  all().erase(file);
}

std::string absolute_path(const char* name) {
  if (name == nullptr) return "";
  const std::string path = without_file_system(name);
  std::error_code failed;
  const std::string absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute;
}

int TracedCall::end(const std::string& path, int code, const CallBytes& bytes, const std::string& more) const {
  const double ended = real_clock().now();
  trace::add(std::make_unique<CallEvent>(CallEvent::Facts{name_, path, bytes, error_text(code), more}, began_, ended));
  return code;
}

}  // namespace swath::mpi_io
