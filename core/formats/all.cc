#include "formats/all.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "formats/hdf5/hdf5_format.h"
#include "formats/netcdf/netcdf.h"
#include "formats/npy/npy.h"
#include "formats/one_array.h"
#include "formats/raw/raw.h"
#include "formats/text.h"
#include "formats/zarr/zarr.h"

namespace swath::formats {
namespace {

constexpr int64_t kStartBytes = 8;

std::vector<const Format*>& all() {
  static std::vector<const Format*> formats{&raw::format(),  &npy::format(),          &netcdf::classic_format(),
                                            &hdf5::format(), &hdf5::netcdf4_format(), &zarr::format()};
  return formats;
}

std::string names() {
  std::string found;
  for (const Format* format : all()) {
    found += (found.empty() ? "" : ", ") + std::string(format->name());
    for (const std::string_view flavour : format->flavours()) {
      found += ", " + std::string(format->name()) + ":" + std::string(flavour);
    }
  }
  return found;
}

[[noreturn]] void fail_name(std::string_view name) {
  fail_argument("format '" + std::string(name) + "' is unknown; expected one of " + names());
}

const Format* first_that(const auto& is_wanted) {
  const auto found = std::find_if(all().begin(), all().end(), is_wanted);
  return found == all().end() ? nullptr : *found;
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string lower_suffix(const std::string& path) {
  std::string suffix = std::filesystem::path(path).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  return suffix;
}

}  // namespace

void add_format(const Format& format) { all().push_back(&format); }

const Format& format_named(std::string_view name) {
  const std::string_view kind = name.substr(0, name.find(':'));
  const Format* found = first_that([&](const Format* format) { return format->name() == kind; });
  if (found == nullptr) fail_name(name);
  return *found;
}

const Format& format_of(const std::string& path) {
  if (is_folder(path)) {
    const Format* found =
        first_that([&](const Format* format) { return format->is_folder() && format->matches(path, ""); });
    if (found != nullptr) return *found;
    throw Error(ErrorKind::kStore,
                path + ": it is a directory, and no Zarr store: it has no zarr.json, .zarray or .zgroup", EISDIR);
  }
  const StoredFile file(path);
  const std::string start = file.read(0, kStartBytes);
  const Format* found =
      first_that([&](const Format* format) { return !format->is_folder() && format->matches(path, start); });
  if (found != nullptr) return *found;
  throw Error(ErrorKind::kFormat, path + ": no known format begins with " + formats::quoted(start) + " (the file has " +
                                      std::to_string(file.bytes()) + " bytes). Swath knows " + names() +
                                      "; for a raw file give its shape and type");
}

std::pair<const Format*, std::string> format_for(const std::string& path, std::string_view asked) {
  if (!asked.empty()) {
    const Format& format = format_named(asked);
    const size_t colon = asked.find(':');
    if (colon == std::string_view::npos) return {&format, ""};
    const std::string_view flavour = asked.substr(colon + 1);
    const auto flavours = format.flavours();
    if (std::find(flavours.begin(), flavours.end(), flavour) == flavours.end()) fail_name(asked);
    return {&format, std::string(flavour)};
  }
  const std::string suffix = lower_suffix(path);
  const Format* found = first_that([&](const Format* format) {
    const auto suffixes = format->suffixes();
    return std::find(suffixes.begin(), suffixes.end(), suffix) != suffixes.end();
  });
  if (found == nullptr) {
    fail_argument("create " + path + ": no format has the suffix '" + suffix + "'; say which is meant: " + names());
  }
  return {found, ""};
}

std::unique_ptr<FormatFile> open_with(const Format& format, const std::string& path, Changes* changes,
                                      const std::optional<RawElements>& raw) {
  return format.describes_itself() ? format.open(path, changes) : raw::open(path, raw.value());
}

}  // namespace swath::formats
