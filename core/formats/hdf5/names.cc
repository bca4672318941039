#include "formats/hdf5/names.h"

#include <algorithm>

#include "formats/choose.h"
#include "formats/contents.h"
#include "formats/text.h"

namespace swath::formats::hdf5 {
namespace {

// Whether all characters of the text are in Latin-1.
bool is_in_latin1(std::string_view utf8) {
  return std::all_of(utf8.begin(), utf8.end(), [](char one) { return static_cast<unsigned char>(one) <= 0xC3; });
}

bool is_ascii(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char one) { return static_cast<unsigned char>(one) < 0x80; });
}

// Calls `take` with each name in a path.
template <typename Take>
void split(std::string_view path, const Take& take) {
  for (size_t begin = 0;;) {
    const size_t slash = path.find('/', begin);
    take(path.substr(begin, slash == std::string_view::npos ? slash : slash - begin));
    if (slash == std::string_view::npos) return;
    begin = slash + 1;
  }
}

}  // namespace

std::string path_text(std::string_view stored) {
  std::string path;
  bool is_first = true;
  split(stored, [&](std::string_view name) {
    if (!is_first) path += '/';
    is_first = false;
    path += text_of(name);
  });
  return path;
}

std::vector<std::string> encodings(const std::string& name) {
  std::vector<std::string> found{name};
  if (!is_ascii(name) && is_utf8(name) && is_in_latin1(name)) found.push_back(latin1_of(name));
  return found;
}

std::string joined(std::string_view group, std::string_view name) {
  return group.empty() ? std::string(name) : std::string(group) + "/" + std::string(name);
}

std::string shown_name(std::string_view stored) {
  const std::string path = path_text(stored);
  auto [group, name] = group_and_name(without_slashes(path));
  if (name.starts_with(kOtherName)) name.erase(0, kOtherName.size());
  return joined(group, name);
}

bool is_name(std::string_view name) {
  if (name.find('\0') != std::string_view::npos || !is_utf8(name)) return false;
  bool is_good = true;
  split(without_slashes(name), [&](std::string_view part) { is_good = is_good && !part.empty() && part != "."; });
  return is_good;
}

}  // namespace swath::formats::hdf5
