// Left after a kill: objects of NAME.gN. The next creation of NAME removes them.
#include "store/rados/new_name.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/fork.h"
#include "store/atomic_file.h"
#include "store/new_name.h"
#include "store/open_file.h"
#include "store/rados/library.h"

namespace swath {
namespace {

constexpr int kNamingAttemptsMax = 100;
constexpr int kPauseMillisecondsMax = 20;

// Another process was first. Each process waits a random time, longer at each attempt, so that one of them succeeds.
void pause_before(int attempt) {
  if (attempt == 0) return;
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<int> milliseconds(0, std::min(attempt, kPauseMillisecondsMax));
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(random)));
}

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::kStore, "create " + path + ": " + what, error);
}

// The suffix of a second object for temporary data while the file is written (copying/prepare.py). It is removed with
// the file.
constexpr char kScratch[] = ".scratch";

void remove_generation(const RadosPool& pool, const std::string& striped) {
  remove_striped(pool, striped + kScratch);
  remove_striped(pool, striped);
  // Even if the file is gone, a late write may have created its first object again.
  const int result = librados().remove(pool.io(), object_name(striped, 0).c_str());
  if (result < 0 && result != -ENOENT) fail_rados("remove " + striped + " of pool " + pool.name(), result);
}

constexpr char kReplaced[] = "replaced";

std::string mark_of(const std::string& number) { return kGeneration + number; }

// Empty if there is no such attribute.
std::string value_of(const std::optional<Attributes>& attributes, const std::string& key) {
  if (!attributes) return "";
  const auto found = attributes->find(key);
  return found == attributes->end() ? "" : found->second;
}

// The object has changed since it was read.
bool is_other(int result) { return result == -ERANGE || result == -EOVERFLOW || result == -ENOENT; }

// The clients that watch an object, including those that do not answer: they may be busy.
std::set<std::string> watchers(const RadosPool& pool, const std::string& object) {
  constexpr uint64_t kMilliseconds = 2000;
  char* reply = nullptr;
  size_t bytes = 0;
  const int result = librados().notify2(pool.io(), object.c_str(), "", 0, kMilliseconds, &reply, &bytes);
  std::set<std::string> found;
  if (reply != nullptr) {
    notify_ack_t* acks = nullptr;
    notify_timeout_t* timeouts = nullptr;
    size_t ack_count = 0;
    size_t timeout_count = 0;
    if (librados().decode_notify_response(reply, bytes, &acks, &ack_count, &timeouts, &timeout_count) == 0) {
      for (size_t i = 0; i < ack_count; ++i) found.insert(std::to_string(acks[i].notifier_id));
      for (size_t i = 0; i < timeout_count; ++i) found.insert(std::to_string(timeouts[i].notifier_id));
      librados().free_notify_response(acks, ack_count, timeouts);
    }
    librados().buffer_free(reply);
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
    librados().notify_ack(watch->pool_->io(), watch->object_.c_str(), id, cookie, "", 0);
  };
  // Nothing is done here for a lost watch: complete() detects it, since the written file may be gone then.
  const auto lost = [](void*, uint64_t, int) {};
  const int result = librados().watch2(pool_->io(), object_.c_str(), &cookie_, asked, lost, this);
  if (result < 0) fail_rados("watch object " + object_ + " of pool " + pool_->name(), result);
}

RadosWatch::~RadosWatch() {
  if (made_in_ == fork_generation()) {
    librados().unwatch2(pool_->io(), cookie_);
    librados().watch_flush(pool_->cluster());
    return;
  }
  // In a forked child: the connection belongs to the parent, so it is never used nor freed here.
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
  made->begin_mark();
  made->remove_left();
  return made;
}

// Before it has the mark, the object NAME may be removed and created again at any time. The watch would then be on an
// old object, so the mark is set only on the version that was watched.
void RadosNewName::begin_mark() {
  const auto pool = pool_.get();
  const std::string owner = std::to_string(librados().get_instance_id(pool->cluster()));
  const std::string what = "create " + final_path_;
  for (int attempt = 0; attempt < kNamingAttemptsMax; ++attempt) {
    pause_before(attempt);
    RadosChange exists;
    int result = exists.create(false).apply(*pool, file_);
    if (result < 0) fail_rados(what, result);
    uint64_t version = 0;
    if (!index(&version)) continue;
    try {
      watch_ = std::make_unique<RadosWatch>(pool, file_);
    } catch (const Error& error) {
      if (error.os_error() != ENOENT) throw;
      continue;
    }
    RadosChange mark;
    result = mark.expect_version(version).set(mark_of(number_), owner).apply(*pool, file_);
    if (result == 0) return;
    watch_.reset();
    if (!is_other(result)) fail_rados(what, result);
  }
  fail(final_path_, "others begin to create it all the time", EBUSY);
}

// Marks the file for removal, so that it can no longer get its name. Returns false if its owner has completed it
// meanwhile, or if no answer arrives.
bool RadosNewName::give_up(const std::string& number, const std::string& owner) const {
  RadosChange change;
  return change.expect(mark_of(number), owner).set(mark_of(number), kReplaced).apply(*pool_.get(), file_) == 0;
}

void RadosNewName::remove_replaced(const std::string& number) const {
  remove_generation(*pool_.get(), generation(number));
  forget(number);
}

// Also removes the object NAME with its last entry.
void RadosNewName::forget(const std::string& number) const {
  const auto pool = pool_.get();
  uint64_t version = 0;
  const auto attributes = index(&version);
  if (attributes && attributes->size() == 1 && value_of(attributes, mark_of(number)) == kReplaced) {
    RadosChange change;
    change.expect_version(version);
    librados().write_op_remove(change.op());
    if (change.apply(*pool, file_) == 0) return;
  }
  RadosChange change;
  static_cast<void>(change.expect(mark_of(number), kReplaced).remove(mark_of(number)).apply(*pool, file_));
}

// Removes the remains of other processes. A file that cannot be removed now keeps its mark, and is removed later.
void RadosNewName::remove_left() const noexcept {
  try {
    const auto attributes = index();
    if (!attributes) return;
    std::optional<std::set<std::string>> there;
    for (const auto& [key, owner] : *attributes) {
      if (!key.starts_with(kGeneration) || key == mark_of(number_)) continue;
      const std::string number = key.substr(sizeof(kGeneration) - 1);
      if (owner != kReplaced) {
        if (!there) there = watchers(*pool_.get(), file_);
        if (there->contains(owner) || !give_up(number, owner)) continue;
      }
      remove_unless_damaged(number);
    }
  } catch (const Error&) {
    return;
  }
}

void RadosNewName::remove_unless_damaged(const std::string& number) const {
  try {
    remove_replaced(number);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kFormat) throw;
  }
}

void RadosNewName::check() const {
  if (overwrite_ || striped_name(*pool_.get(), file_).empty()) return;
  fail(final_path_, "the file exists; give overwrite=True to replace it", EEXIST);
}

// Not atomic: removes the old file before the new one is written. Files that other processes are creating stay.
void RadosNewName::replace_at_once() const {
  const auto pool = pool_.get();
  for (int attempt = 0; attempt < kNamingAttemptsMax; ++attempt) {
    const std::string current = value_of(index(), kCurrent);
    if (current.empty()) {
      remove_striped(*pool, file_);
      return;
    }
    RadosChange change;
    const int result =
        change.expect(kCurrent, current).remove(kCurrent).set(mark_of(current), kReplaced).apply(*pool, file_);
    if (result == 0) {
      remove_replaced(current);
    } else if (result != -ECANCELED && result != -ENOENT) {
      fail_rados("create " + final_path_, result);
    }
  }
  fail(final_path_, "others give the name all the time", EBUSY);
}

void RadosNewName::complete() {
  if (is_aside() && !is_complete_) {
    const auto pool = pool_.get();
    const auto is_gone = [&] {
      fail(final_path_, "what was written is gone: another creation took this process for dead, and removed it",
           ESTALE);
    };
    if (!pool->attributes(object_name(working_file_, 0))) is_gone();
    for (int attempt = 0; !is_complete_; ++attempt) {
      if (attempt == kNamingAttemptsMax) fail(final_path_, "others give the name all the time", EBUSY);
      const auto attributes = index();
      if (value_of(attributes, kCurrent) == number_) break;  // an earlier attempt succeeded without an answer
      const std::string owner = value_of(attributes, mark_of(number_));
      if (owner.empty() || owner == kReplaced) is_gone();
      is_complete_ = give_name(attributes);
    }
    // Errors from here on are ignored: the file has its name, and remains have their marks.
    is_complete_ = true;
    watch_.reset();
    remove_left();
    try {
      remove_striped(*pool, working_file_ + kScratch);
      if (overwrite_) remove_striped(*pool, file_);
    } catch (const Error&) {
      return;
    }
  }
  is_complete_ = true;
}

// False: the attributes of NAME have changed since they were read.
bool RadosNewName::give_name(const std::optional<Attributes>& attributes) const {
  const auto pool = pool_.get();
  const std::string before = value_of(attributes, kCurrent);
  if (!overwrite_ && !striped_name(*pool, file_).empty()) fail(final_path_, "the name was taken meanwhile", EEXIST);
  RadosChange change;
  change.expect(mark_of(number_), value_of(attributes, mark_of(number_)))
      .expect(kCurrent, before)
      .set(kCurrent, number_)
      .remove(mark_of(number_));
  if (!before.empty()) change.set(mark_of(before), kReplaced);
  const int result = change.apply(*pool, file_);
  if (result == -ECANCELED) return false;
  if (result < 0) fail_rados("create " + final_path_ + ": cannot give it its name", result);
  return true;
}

// True if the written file cannot get the name any more, so that it may be removed.
bool RadosNewName::give_up_own() const {
  const auto attributes = index();
  if (value_of(attributes, kCurrent) == number_) return false;
  const std::string owner = value_of(attributes, mark_of(number_));
  return owner.empty() || owner == kReplaced || give_up(number_, owner);
}

// Does nothing if the file is complete, even if complete() reported an error. If the removal fails, the next creation
// removes the file.
void RadosNewName::remove() const noexcept {
  if (is_complete_) return;
  try {
    if (!is_aside()) {
      remove_generation(*pool_.get(), working_file_);
    } else if (give_up_own()) {
      remove_replaced(number_);
    }
  } catch (const Error&) {
    return;
  }
}

}  // namespace swath
