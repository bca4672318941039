#include <cmath>

#include "base/error.h"
#include "store/auto/engine.h"
#include "store/engine.h"
#include "store/fault/fault.h"
#include "store/model/engine.h"
#include "store/null/engine.h"
#include "store/open_file.h"
#include "store/posix/engine.h"
#include "store/rados/driver.h"
#include "store/rados/name.h"
#include "store/uring/engine.h"

namespace swath {

namespace {

constexpr int kQueueDepthMax = 32768;                            // the kernel's bound on ring entries
constexpr int64_t kRequestBytesMax = (int64_t{1} << 31) - 4096;  // the kernel moves no more in one call

void check_options(const EngineOptions& options) {
  if (options.queue_depth < 1 || options.queue_depth > kQueueDepthMax) {
    fail_argument("queue_depth " + std::to_string(options.queue_depth) + ": expected 1 to " +
                  std::to_string(kQueueDepthMax));
  }
  if (options.request_bytes_max < 1 || options.request_bytes_max > kRequestBytesMax) {
    fail_argument("request_bytes_max " + std::to_string(options.request_bytes_max) + ": expected 1 to " +
                  std::to_string(kRequestBytesMax) + " (the kernel moves no more in one call)");
  }
  if (std::isnan(options.lock_timeout_seconds) || options.lock_timeout_seconds <= 0) {
    fail_argument("lock_timeout " + std::to_string(options.lock_timeout_seconds) + ": expected more than 0 seconds");
  }
}

// The faults of an engine named "fault" or "fault:…"; else null.
std::unique_ptr<Faults> faults_of(const std::string& engine) {
  if (engine == "fault") return Faults::parse("");
  return engine.starts_with("fault:") ? Faults::parse(engine.substr(6)) : nullptr;
}

// Opens the file with these faults (null: none).
using OpenIt = std::function<std::shared_ptr<OpenFile>(std::unique_ptr<Faults> faults)>;

MakeEngine make_engines(const std::string& path, OpenMode mode, const EngineOptions& options, const OpenIt& open_it) {
  check_options(options);
  std::unique_ptr<Faults> faults = faults_of(options.engine);
  const std::string name = faults != nullptr ? faults->engine() : options.engine;
  const bool modelled = faults == nullptr && name.starts_with("model:");
  if (name != "auto" && name != "posix" && name != "uring" && name != "null" && !modelled) {
    fail_argument("engine \"" + options.engine +
                  "\": expected auto, posix, uring, null, fault:RULE, or model:PRESET[@NAME]");
  }
  const std::shared_ptr<ModelledDisk> disk = modelled ? modelled_disk_of(name.substr(6)) : nullptr;
  const int64_t request_bytes_max = options.request_bytes_max;
  if (name == "null") {
    return [=](std::string*) { return std::make_unique<NullEngine>(path, mode, request_bytes_max); };
  }
  const std::shared_ptr<OpenFile> file = open_it(std::move(faults));
  file->set_lock_timeout(options.lock_timeout_seconds);
  file->set_other_writers(options.other_writers);
  if (modelled) {
    if (mode == OpenMode::kCreateNew) add_new_file(*file, *disk);
    return [=](std::string*) { return std::make_unique<ModelEngine>(file, disk, request_bytes_max); };
  }
  if (name == "auto") return [=](std::string*) { return std::make_unique<AutoEngine>(file, options); };
  const bool wants_ring = name == "uring";
  return [=](std::string* reason) -> std::unique_ptr<Engine> {
    std::string why_other;
    if (wants_ring) {
      if (auto engine = make_uring_engine(file, options, why_other)) return engine;
    }
    if (reason != nullptr) *reason = why_other;
    return std::make_unique<PosixEngine>(file, request_bytes_max);
  };
}

// Engines for a file in a pool; engines for local files cannot access it.
MakeEngine make_rados_engines(const std::string& path, OpenMode mode, const EngineOptions& options) {
  check_options(options);
  if (options.engine != "auto" && options.engine != "rados") {
    fail_argument("engine \"" + options.engine + "\" of " + path + ": expected auto or rados, for a file in a pool");
  }
  return open_rados_engines(path, mode, options);
}

}  // namespace

MakeEngine open_for_engines(const std::string& path, OpenMode mode, const EngineOptions& options) {
  if (is_rados(path)) return make_rados_engines(path, mode, options);
  return make_engines(path, mode, options, [&](std::unique_ptr<Faults> faults) {
    return std::make_shared<OpenFile>(path, mode, std::move(faults));
  });
}

MakeEngine engines_of(Descriptor file, const std::string& path, OpenMode mode, const EngineOptions& options) {
  return make_engines(path, mode, options, [&](std::unique_ptr<Faults> faults) {
    return std::make_shared<OpenFile>(std::move(file), path, mode, std::move(faults));
  });
}

std::unique_ptr<Engine> open_engine(const std::string& path, OpenMode mode, const EngineOptions& options,
                                    std::string* reason) {
  if (reason != nullptr) reason->clear();
  return open_for_engines(path, mode, options)(reason);
}

}  // namespace swath
