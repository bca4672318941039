// A striped file in a pool, in libradosstriper's layout: objects NAME.0000000000000000, …, and on the first of them the
// decimal attributes striper.layout.stripe_unit, .stripe_count, .object_size and striper.size.
//
// What Swath creates as NAME is the striped file NAME.gN; the object NAME says in its attribute swath.current which N
// counts (new_name.h). What `rados --striper put` has made is there under its own name.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "store/engine.h"
#include "store/rados/pool.h"

namespace swath {

// Attributes of the object NAME: which generation counts, and a mark for each that was begun or is to be removed.
inline constexpr char kCurrent[] = "swath.current";
inline constexpr char kGeneration[] = "swath.g.";
// Of the first object of a striped file that is being removed.
inline constexpr char kRemoved[] = "swath.removed";

std::string object_name(const std::string& striped, int64_t object);

// The striped file that a name means in a pool: its generation that counts, or one of its own name. Empty: none.
std::string striped_name(const RadosPool& pool, const std::string& file);

// Removes a striped file; nothing where it is gone. Throws Error{kStore}.
void remove_striped(const RadosPool& pool, const std::string& striped);

// Of all engines that use it, in any thread.
class RadosFile {
 public:
  // Throws Error{kStore}.
  RadosFile(const std::string& path, OpenMode mode, const EngineOptions& options);

  const std::string& path() const { return path_; }
  // Who may be served by an OSD now; null where nobody takes turns.
  const std::shared_ptr<ServerTurns>& turns() const { return turns_; }
  bool may_write() const { return mode_ != OpenMode::kRead; }
  // Why objects are not asked by structure, in words; empty where they are. Asked of the cluster once.
  const std::string& class_refusal() const { return class_refusal_; }
  const StripeLayout& stripes() const { return stripes_; }
  const std::string& striped() const { return striped_; }
  std::shared_ptr<RadosPool> pool() const { return pool_.get(); }
  std::string object(int64_t number) const { return object_name(striped_, number); }

  int64_t size() const;
  // Whether it had so many when that was looked at last.
  bool has_at_least(int64_t bytes) const { return bytes <= size_known_; }
  // At least so many bytes; the size is an upper bound of what is written at any time.
  void grow(int64_t bytes);
  void resize(int64_t bytes);
  // What is answered is on the medium. Throws Error{kStore} with ESTALE where the file was removed meanwhile.
  void sync() const;
  // The same of what was written since the last time; nothing where that is nothing.
  void check_written() const;
  // To be called when a write was answered: RADOS makes objects that are missing, and refuses none of a removed file.
  void note_write() const { is_written_ = true; }
  double lock_timeout_seconds() const { return lock_timeout_seconds_; }

 private:
  void create();
  void find();
  Attributes find_named();
  int64_t stored_size() const;
  void cut_objects(int64_t old_bytes, int64_t bytes) const;

  const std::string path_;
  const OpenMode mode_;
  const double lock_timeout_seconds_;
  const std::shared_ptr<ServerTurns> turns_;
  const RadosPoolOfProcess pool_;
  std::string striped_;
  StripeLayout stripes_;
  std::string class_refusal_;
  mutable std::atomic<bool> is_written_ = false;  // since the last look whether the file is there
  mutable std::atomic<int64_t> size_known_ = 0;   // that the file had at least when it was looked at last
};

}  // namespace swath
