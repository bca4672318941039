#include "store/rados/driver.h"

#include "store/rados/engine.h"
#include "store/rados/file.h"
#include "store/rados/library.h"
#include "store/rados/new_name.h"

namespace swath {

MakeEngine open_rados_engines(const std::string& path, OpenMode mode, const EngineOptions& options) {
  const auto file = std::make_shared<RadosFile>(path, mode, options);
  return [=](std::string* reason) {
    if (reason != nullptr) *reason = file->class_refusal();
    return std::make_unique<RadosEngine>(file, options);
  };
}

std::unique_ptr<NewName> rados_new_name(const std::string& final_path, const AtomicFileOptions& options) {
  return std::make_unique<RadosNewName>(final_path, options);
}

std::unique_ptr<NewName> begin_rados_name(const std::string& final_path, AtomicFileOptions& options) {
  return RadosNewName::begin(final_path, options);
}

std::string striped_name_of(const std::string& path) { return RadosFile(path, OpenMode::kRead, {}).striped(); }

std::string librados_version() {
  if (!librados_refusal().empty()) return "";
  int major = 0;
  int minor = 0;
  int extra = 0;
  librados().version(&major, &minor, &extra);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(extra);
}

}  // namespace swath
