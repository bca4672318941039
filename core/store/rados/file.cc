#include "store/rados/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/open_file.h"
#include "store/rados/library.h"
#include "store/rados/structured.h"

namespace swath {
namespace {

constexpr char kUnit[] = "striper.layout.stripe_unit";
constexpr char kCount[] = "striper.layout.stripe_count";
constexpr char kObjectBytes[] = "striper.layout.object_size";
constexpr char kSize[] = "striper.size";

constexpr int kAttemptsMax = 1000;  // retries when other processes change the same attribute

int64_t number_in(const Attributes& attributes, const char* name, const std::string& path) {
  const auto found = attributes.find(name);
  int64_t number = -1;
  if (found != attributes.end()) {
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) number = -1;
  }
  if (number < 0) {
    throw Error(ErrorKind::kFormat,
                "open " + path + ": the attribute " + name +
                    " of its first object is missing or no number: no striped file, or a damaged one");
  }
  return number;
}

// An object without a size was created by a late write to a removed file.
bool is_there(const std::optional<Attributes>& of_first_object) {
  return of_first_object && !of_first_object->contains(kRemoved) && of_first_object->contains(kSize);
}

}  // namespace

std::string object_name(const std::string& striped, int64_t object) {
  std::array<char, 20> number{};
  std::snprintf(number.data(), number.size(), ".%016llx", static_cast<unsigned long long>(object));
  return striped + number.data();
}

std::string striped_name(const RadosPool& pool, const std::string& file) {
  const auto index = pool.attributes(file);
  if (index && index->contains(kCurrent)) return file + ".g" + index->at(kCurrent);
  if (is_there(pool.attributes(object_name(file, 0)))) return file;
  // Another process may have replaced a file of that name between the two reads.
  const auto again = pool.attributes(file);
  return again && again->contains(kCurrent) ? file + ".g" + again->at(kCurrent) : "";
}

namespace {

// Marks the file as removed before its objects are, so that readers and writers get an error. Returns the attributes
// that stay; nullopt if there is no striped file.
std::optional<Attributes> mark_removed(const RadosPool& pool, const std::string& striped) {
  const std::string what = "remove " + striped + " of pool " + pool.name();
  const std::string first = object_name(striped, 0);
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    auto attributes = pool.attributes(first);
    if (!attributes || !attributes->contains(kSize)) return std::nullopt;
    RadosChange mark;
    const int result = mark.expect(kSize, attributes->at(kSize)).set(kRemoved, "1").apply(pool, first);
    if (result == 0) return attributes;
    if (result != -ECANCELED && result != -ENOENT) fail_rados(what, result);
  }
  fail_rados(what + ": others change its size all the time", -EBUSY);
}

}  // namespace

void remove_striped(const RadosPool& pool, const std::string& striped) {
  const std::string what = "remove " + striped + " of pool " + pool.name();
  const auto check = [&](int result) {
    if (result < 0 && result != -ENOENT) fail_rados(what, result);
  };
  const auto attributes = mark_removed(pool, striped);
  if (!attributes) return;
  const StripeLayout stripes{number_in(*attributes, kUnit, striped), number_in(*attributes, kCount, striped),
                             number_in(*attributes, kObjectBytes, striped)};
  if (!stripes.refusal().empty()) {
    throw Error(ErrorKind::kFormat, what + ": its layout cannot be true: " + std::string(stripes.refusal()));
  }
  constexpr int64_t kTogether = 64;
  const int64_t objects = stripes.objects(number_in(*attributes, kSize, striped));
  for (int64_t begin = 1; begin < objects; begin += kTogether) {
    std::vector<rados_completion_t> under_way;
    for (int64_t object = begin; object < std::min(objects, begin + kTogether); ++object) {
      rados_completion_t done = nullptr;
      check(librados().aio_create_completion2(nullptr, nullptr, &done));
      const int result = librados().aio_remove(pool.io(), object_name(striped, object).c_str(), done);
      if (result < 0) {
        librados().aio_release(done);
        check(result);
      } else {
        under_way.push_back(done);
      }
    }
    int failure = 0;
    for (const rados_completion_t done : under_way) {
      librados().aio_wait_for_complete(done);
      const int result = librados().aio_get_return_value(done);
      if (result < 0 && result != -ENOENT) failure = result;
      librados().aio_release(done);
    }
    check(failure);
  }
  check(librados().remove(pool.io(), object_name(striped, 0).c_str()));
}

RadosFile::RadosFile(const std::string& path, OpenMode mode, const EngineOptions& options)
    : path_(path),
      mode_(mode),
      lock_timeout_seconds_(options.lock_timeout_seconds),
      turns_(options.servers),
      pool_(RadosName::parse(path)) {
  mode == OpenMode::kCreateNew ? create() : find();
  class_refusal_ = pool_.name().use_class ? swath::class_refusal(*this) : "the name says class=no";
}

void RadosFile::create() {
  striped_ = pool_.name().file;
  stripes_ = pool_.name().stripes;
  const auto pool = this->pool();
  const auto number = [](int64_t value) { return std::to_string(value); };
  RadosChange change;
  const int result = change.create(true)
                         .set(kUnit, number(stripes_.unit))
                         .set(kCount, number(stripes_.count))
                         .set(kObjectBytes, number(stripes_.object_bytes))
                         .set(kSize, "0")
                         .apply(*pool, object(0));
  if (result < 0) fail_rados("create " + path_, result == -EEXIST ? -EEXIST : result);
}

// Sets striped_, and returns the attributes of its first object.
Attributes RadosFile::find_named() {
  const std::string what = "open " + path_ + (mode_ == OpenMode::kRead ? " for reading" : " for reading and writing");
  const auto pool = this->pool();
  std::string before;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    striped_ = striped_name(*pool, pool_.name().file);
    if (striped_.empty()) {
      throw Error(ErrorKind::kStore,
                  what + ": " + system_message(ENOENT) + " (no file of that name in pool " + pool->name() + ")",
                  ENOENT);
    }
    const auto attributes = pool->attributes(object(0));
    if (is_there(attributes)) return *attributes;
    // The file was replaced, and the name now leads to another striped file; if it does not, the file is damaged.
    if (striped_ == before) fail_rados(what + ": the first object, " + object(0) + ", of what it names", -ENOENT);
    before = striped_;
  }
  fail_rados(what + ": it is replaced all the time", -EBUSY);
}

void RadosFile::find() {
  const Attributes attributes = find_named();
  stripes_ = {number_in(attributes, kUnit, path_), number_in(attributes, kCount, path_),
              number_in(attributes, kObjectBytes, path_)};
  const std::string wrong(stripes_.refusal());
  if (!wrong.empty()) throw Error(ErrorKind::kFormat, "open " + path_ + ": its stripes cannot be true: " + wrong);
  size_known_ = number_in(attributes, kSize, path_);
}

int64_t RadosFile::stored_size() const {
  const auto attributes = pool()->attributes(object(0));
  if (!is_there(attributes)) {
    throw Error(ErrorKind::kStore, path_ + ": the file was replaced or removed while it was open: open it again",
                ESTALE);
  }
  return number_in(*attributes, kSize, path_);
}

int64_t RadosFile::size() const {
  const int64_t size = stored_size();
  size_known_ = size;
  return size;
}

void RadosFile::sync() const {
  is_written_ = false;
  static_cast<void>(stored_size());
}

void RadosFile::check_written() const {
  if (is_written_) sync();
}

void RadosFile::grow(int64_t bytes) {
  if (bytes <= size_known_) return;
  const auto pool = this->pool();
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const int64_t before = stored_size();
    if (bytes <= before) {
      size_known_ = before;
      return;
    }
    RadosChange change;
    const int result = change.expect(kRemoved, "")
                           .expect(kSize, std::to_string(before))
                           .set(kSize, std::to_string(bytes))
                           .apply(*pool, object(0));
    if (result == 0) {
      size_known_ = bytes;
      return;
    }
    if (result != -ECANCELED) fail_rados("resize " + path_ + " to " + std::to_string(bytes) + " bytes", result);
  }
  fail_rados("resize " + path_ + ": others change its size all the time", -EBUSY);
}

// Removes the bytes behind the new end before the size is changed, so that they read as zeros if the file grows again.
void RadosFile::cut_objects(int64_t old_bytes, int64_t bytes) const {
  const auto pool = this->pool();
  const int64_t first = bytes / stripes_.set_bytes() * stripes_.count;
  for (int64_t number = first; number < stripes_.objects(old_bytes); ++number) {
    const int64_t kept = stripes_.bytes_of_object(number, bytes);
    const std::string name = object(number);
    uint64_t stored = 0;
    int result = librados().stat(pool->io(), name.c_str(), &stored, nullptr);
    if (result == 0 && static_cast<int64_t>(stored) > kept) {
      result = kept == 0 && number > 0 ? librados().remove(pool->io(), name.c_str())
                                       : librados().trunc(pool->io(), name.c_str(), static_cast<uint64_t>(kept));
    }
    if (result < 0 && result != -ENOENT) fail_rados("resize " + path_ + ": object " + name, result);
  }
}

void RadosFile::resize(int64_t bytes) {
  if (bytes < 0) fail_argument("resize " + path_ + " to " + std::to_string(bytes) + " bytes: expected a size >= 0");
  if (!may_write()) fail_rados("resize " + path_ + ", which was opened for reading", -EBADF);
  const int64_t before = size();
  if (bytes >= before) return grow(bytes);
  cut_objects(before, bytes);
  RadosChange change;
  const int result =
      change.expect(kSize, std::to_string(before)).set(kSize, std::to_string(bytes)).apply(*pool(), object(0));
  if (result < 0) fail_rados("resize " + path_ + " to " + std::to_string(bytes) + " bytes", result);
  size_known_ = bytes;
}

}  // namespace swath
