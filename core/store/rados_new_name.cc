#include "store/rados_new_name.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/error.h"
#include "store/atomic_file.h"
#include "store/new_name.h"
#include "store/open_file.h"

#ifdef SWATH_HAVE_RADOS

#include <new>
#include <set>
#include <utility>

#include "base/fork.h"

namespace swath {
namespace {

constexpr int kAttemptsMax = 100;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::kStore, "create " + path + ": " + what, error);
}

// Beside what is written, for whoever needs room meanwhile (copying/prepare.py); goes with it.
constexpr char kScratch[] = ".scratch";

void remove_generation(const RadosPool& pool, const std::string& striped) {
  remove_striped(pool, striped + kScratch);
  remove_striped(pool, striped);
}

std::string mark_of(const std::string& number) { return kGeneration + number; }

// Of the processes that watch an object; those that do not answer, too, for they may be busy.
std::set<std::string> watchers(const RadosPool& pool, const std::string& object) {
  constexpr uint64_t kMilliseconds = 2000;
  char* reply = nullptr;
  size_t bytes = 0;
  const int result = rados_notify2(pool.io(), object.c_str(), "", 0, kMilliseconds, &reply, &bytes);
  std::set<std::string> found;
  if (reply != nullptr) {
    notify_ack_t* acks = nullptr;
    notify_timeout_t* timeouts = nullptr;
    size_t ack_count = 0;
    size_t timeout_count = 0;
    if (rados_decode_notify_response(reply, bytes, &acks, &ack_count, &timeouts, &timeout_count) == 0) {
      for (size_t i = 0; i < ack_count; ++i) found.insert(std::to_string(acks[i].notifier_id));
      for (size_t i = 0; i < timeout_count; ++i) found.insert(std::to_string(timeouts[i].notifier_id));
      rados_free_notify_response(acks, ack_count, timeouts);
    }
    rados_buffer_free(reply);
  } else if (result < 0 && result != -ENOENT) {
    fail_rados("ask who writes " + object + " of pool " + pool.name(), result);
  }
  return found;
}

}  // namespace

RadosWatch::RadosWatch(std::shared_ptr<RadosPool> pool, std::string object)
    : pool_(std::move(pool)), object_(std::move(object)), made_in_(fork_generation()) {
  const auto asked = [](void* of, uint64_t id, uint64_t cookie, uint64_t, void*, size_t) {
    const auto* watch = static_cast<RadosWatch*>(of);
    rados_notify_ack(watch->pool_->io(), watch->object_.c_str(), id, cookie, "", 0);
  };
  // A watch that is lost is seen when the name is given: what was written may be gone then.
  const auto lost = [](void*, uint64_t, int) {};
  const int result = rados_watch2(pool_->io(), object_.c_str(), &cookie_, asked, lost, this);
  if (result < 0) fail_rados("watch object " + object_ + " of pool " + pool_->name(), result);
}

RadosWatch::~RadosWatch() {
  if (made_in_ == fork_generation()) {
    rados_unwatch2(pool_->io(), cookie_);
    rados_watch_flush(pool_->cluster());
    return;
  }
  // The parent's: never touched again.
  [[maybe_unused]] const auto* kept = new (std::nothrow) std::shared_ptr<RadosPool>(std::move(pool_));
}

RadosNewName::RadosNewName(const std::string& final_path, const AtomicFileOptions& options)
    : final_path_(final_path), overwrite_(options.overwrite), pool_(RadosName::parse(final_path)) {
  file_ = pool_.name().file;
  working_file_ = RadosName::parse(options.working_path).file;
  const std::string aside = file_ + ".g";
  if (working_file_.starts_with(aside)) number_ = working_file_.substr(aside.size());
}

std::unique_ptr<RadosNewName> RadosNewName::begin(const std::string& final_path, AtomicFileOptions& options) {
  const RadosName name = RadosName::parse(final_path);
  if (options.is_folder) {
    throw Error(ErrorKind::kUnsupported,
                "create " + final_path +
                    ": a pool holds no folders, and a Zarr store is one; create .npy, .nc or a "
                    "raw file there, or the store in a file system");
  }
  if (!options.working_path.empty() || !options.atomic) {
    if (options.working_path.empty()) options.working_path = final_path;
    auto made = std::make_unique<RadosNewName>(final_path, options);
    made->check();
    if (!made->is_aside()) made->replace_at_once();
    return made;
  }
  options.working_path = RadosName::beside(final_path, name.file + ".g" + random_digits());
  auto made = std::make_unique<RadosNewName>(final_path, options);
  made->check();
  const auto pool = made->pool_.get();
  RadosChange exists;
  int result = exists.create(false).apply(*pool, name.file);
  if (result < 0) fail_rados("create " + final_path, result);
  made->watch_ = std::make_unique<RadosWatch>(pool, name.file);
  RadosChange mark;
  result = mark.create(false)
               .set(mark_of(made->number_), std::to_string(rados_get_instance_id(pool->cluster())))
               .apply(*pool, name.file);
  if (result < 0) fail_rados("create " + final_path, result);
  made->remove_left();
  return made;
}

// What jobs have left that are gone.
void RadosNewName::remove_left() const {
  const auto pool = pool_.get();
  const auto attributes = pool->attributes(file_);
  if (!attributes) return;
  std::map<std::string, std::string> marks;  // whose
  for (const auto& [key, owner] : *attributes) {
    if (key.starts_with(kGeneration) && key != mark_of(number_)) marks[key.substr(sizeof(kGeneration) - 1)] = owner;
  }
  if (marks.empty()) return;
  const std::set<std::string> there = watchers(*pool, file_);
  for (const auto& [number, owner] : marks) {
    if (there.contains(owner)) continue;
    remove_generation(*pool, file_ + ".g" + number);
    RadosChange change;
    rados_write_op_assert_exists(change.op());
    const int result = change.remove(mark_of(number)).apply(*pool, file_);
    if (result < 0 && result != -ENOENT && result != -ENODATA) fail_rados("create " + final_path_, result);
  }
}

void RadosNewName::check() const {
  if (overwrite_ || striped_name(*pool_.get(), file_).empty()) return;
  fail(final_path_, "the file exists; give overwrite=True to replace it", EEXIST);
}

// Not atomic: the old one goes before the new one comes.
void RadosNewName::replace_at_once() const {
  const auto pool = pool_.get();
  const std::string old = striped_name(*pool, file_);
  if (old.empty()) return;
  if (old != file_) {
    const int result = rados_remove(pool->io(), file_.c_str());
    if (result < 0 && result != -ENOENT) fail_rados("create " + final_path_, result);
  }
  remove_striped(*pool, old);
  if (old != file_) remove_striped(*pool, file_);
}

void RadosNewName::complete() {
  if (!is_aside()) return;
  const auto pool = pool_.get();
  const auto first = pool->attributes(object_name(working_file_, 0));
  if (!first || first->contains(kRemoved)) {
    fail(final_path_, "what was written is gone: another creation took this process for dead, and removed it", ESTALE);
  }
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto attributes = pool->attributes(file_);
    const bool has_current = attributes && attributes->contains(kCurrent);
    const std::string before = has_current ? attributes->at(kCurrent) : "";
    const bool has_own = !has_current && !striped_name(*pool, file_).empty();
    if (!overwrite_ && (has_current || has_own)) fail(final_path_, "the name was taken meanwhile", EEXIST);
    RadosChange change;
    change.create(false).expect(kCurrent, before).set(kCurrent, number_);
    if (attributes && attributes->contains(mark_of(number_))) change.remove(mark_of(number_));
    if (has_current) change.set(mark_of(before), "replaced");
    const int result = change.apply(*pool, file_);
    if (result == -ECANCELED) continue;  // another one was given the name
    if (result < 0) fail_rados("create " + final_path_ + ": cannot give it its name", result);
    watch_.reset();
    remove_striped(*pool, working_file_ + kScratch);
    if (has_current) remove_left();
    if (has_own) remove_striped(*pool, file_);
    return;
  }
  fail(final_path_, "others give the name all the time", EBUSY);
}

void RadosNewName::remove() const noexcept {
  try {
    const auto pool = pool_.get();
    remove_generation(*pool, working_file_);
    if (!is_aside()) return;
    const auto attributes = pool->attributes(file_);
    if (!attributes) return;
    RadosChange change;
    change.expect(kCurrent, "");
    if (attributes->size() == 1 && attributes->contains(mark_of(number_))) {
      rados_write_op_remove(change.op());
      if (change.apply(*pool, file_) == 0) return;
    }
    RadosChange unmark;
    rados_write_op_assert_exists(unmark.op());
    static_cast<void>(unmark.remove(mark_of(number_)).apply(*pool, file_));
  } catch (const Error&) {
    return;  // the next creation of the name removes it
  }
}

std::unique_ptr<NewName> rados_new_name(const std::string& final_path, const AtomicFileOptions& options) {
  return std::make_unique<RadosNewName>(final_path, options);
}

std::unique_ptr<NewName> begin_rados_name(const std::string& final_path, AtomicFileOptions& options) {
  return RadosNewName::begin(final_path, options);
}

}  // namespace swath

#else

namespace swath {

namespace {

[[noreturn]] void fail_without(const std::string& path) {
  throw Error(ErrorKind::kUnsupported, path +
                                           ": this Swath was built without librados (install librados-dev, and build "
                                           "it again)");
}

}  // namespace

std::unique_ptr<NewName> rados_new_name(const std::string& final_path, const AtomicFileOptions&) {
  fail_without(final_path);
}

std::unique_ptr<NewName> begin_rados_name(const std::string& final_path, AtomicFileOptions&) {
  fail_without(final_path);
}

}  // namespace swath

#endif

namespace swath {

std::string random_digits() {
  std::array<unsigned char, 6> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw Error(ErrorKind::kStore, "no random numbers: " + system_message(errno), errno);
  }
  std::string digits;
  for (const unsigned char byte : random) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", byte);
    digits += two.data();
  }
  return digits;
}

}  // namespace swath
