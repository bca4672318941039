#include "array/file.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "store/folder_store.h"
#include "store/rados/name.h"
#include "throttle/server_tokens.h"
#include "trace/file_call.h"

namespace swath {
namespace {

void check_offset(const char* doing, const std::string& path, int64_t offset) {
  if (offset < 0) {
    fail_argument(std::string(doing) + " " + path + ": offset " + std::to_string(offset) + " is negative");
  }
}

// Threads that read many files cannot use these engines; they use plain system calls.
bool is_of_one_file(const std::string& engine) { return engine == "uring" || engine == "null"; }

}  // namespace

File::File(std::string path, SharedEngine::Make make)
    : path_(std::move(path)), engine_(std::in_place, std::move(make)) {}

File::File(std::string path, const FileOptions& options) : path_(std::move(path)), chunk_engine_(options.engine) {
  if (options.engine.engine == "auto" || is_of_one_file(options.engine.engine)) chunk_engine_.engine = "posix";
  if (options.tokens == nullptr) return;
  chunk_streams_ = [tokens = options.tokens, throttle = options.throttle] {
    return std::make_unique<ThrottledStream>(tokens->for_this_process(), throttle);
  };
}

std::shared_ptr<File> File::open(const std::string& path, OpenMode mode, const FileOptions& options) {
  const trace::FileCall traced("open", path, mode == OpenMode::kRead ? "r" : "r+");
  auto file = std::shared_ptr<File>(new File(path, options));
  EngineOptions engines = options.engine;
  if (!options.server_scope.empty()) {
    engines.servers = std::make_shared<ServerTokens>(options.server_scope, options.throttle);
  }
  const auto make = open_for_engines(path, mode, engines);
  std::string reason;
  std::string* first_reason = &reason;  // threads make more engines later: only the first engine reports a reason
  file->engine_.emplace(
      [make, first_reason, tokens = options.tokens, throttle = options.throttle]() mutable -> std::unique_ptr<Engine> {
        auto engine = make(std::exchange(first_reason, nullptr));
        if (tokens == nullptr) return engine;
        return std::make_unique<ThrottledEngine>(std::move(engine), tokens->for_this_process(), throttle);
      });
  file->engine_reason_ = reason;
  file->may_lose_writes_ = is_rados(path) && mode == OpenMode::kReadWrite;
  return file;
}

std::shared_ptr<File> File::open_folder(const std::string& path, const FileOptions& options) {
  const trace::FileCall traced("open", path, "folder");
  auto folder = std::shared_ptr<File>(new File(path, options));
  if (is_of_one_file(options.engine.engine)) {
    folder->engine_reason_ = options.engine.engine + " moves bytes of one file; chunks are read and written by threads";
  }
  return folder;
}

std::string File::engine_name() { return engine_ ? engine_->lease()->name() : "chunks"; }

SharedEngine& File::engine() {
  if (!engine_) throw Error(ErrorKind::kInternal, path_ + " is a folder: no engine moves its bytes");
  return *engine_;
}

File::WriteTurn::WriteTurn(File& file) {
  WriteOrder* const order = file.write_order();
  if (order != nullptr) place_.emplace(order->gate, Gate::Use::kAlone).enter();
}

int64_t File::read(int64_t offset, std::span<std::byte> bytes) {
  check_offset("read", path_, offset);
  const auto lease = engine().lease();
  Counters counters;
  const int64_t count = lease->read_to_end({offset, bytes.data(), std::ssize(bytes)}, counters);
  lease->end_burst();
  return count;
}

void File::write(int64_t offset, std::span<const std::byte> bytes) {
  check_offset("write", path_, offset);
  if (bytes.empty()) return;
  const WriteTurn turn(*this);
  const auto lease = engine().lease();
  const auto lock = lease->lock_shared(offset, offset + std::ssize(bytes));
  Counters counters;
  // On a write, an engine only reads from the memory.
  const Transfer transfer{offset, const_cast<std::byte*>(bytes.data()), std::ssize(bytes)};
  lease->transfer(Direction::kWrite, {&transfer, 1}, counters);
  lease->end_burst();
}

void File::check_written() {
  if (engine_) engine_->lease()->check_written();
}

void File::sync() {
  const trace::FileCall traced("sync", path_);
  if (engine_) {
    engine_->lease()->sync();
  } else {
    sync_folder(path_);
  }
}

}  // namespace swath
