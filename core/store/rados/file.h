// A striped file in a pool, in libradosstriper's layout: objects NAME.0000000000000000, …. The first of them has the
// decimal attributes striper.layout.stripe_unit, .stripe_count, .object_size and striper.size.
//
// A file that Swath creates as NAME is the striped file NAME.gN; the attribute swath.current of the object NAME
// contains the current N (new_name.h). A file made by `rados --striper put` has its own name.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "store/engine.h"
#include "store/rados/pool.h"

namespace swath {

// Attributes of the object NAME: the current generation, and a mark for each generation that was begun or is to be
// removed.
inline constexpr char kCurrent[] = "swath.current";
inline constexpr char kGeneration[] = "swath.g.";
// Attribute of the first object of a striped file that is being removed.
inline constexpr char kRemoved[] = "swath.removed";

std::string object_name(const std::string& striped, int64_t object);

// The striped file of a name in a pool: its current generation, or a file of exactly that name. Empty: none.
std::string striped_name(const RadosPool& pool, const std::string& file);

// Removes a striped file; does nothing if it does not exist. Throws Error{kStore}.
void remove_striped(const RadosPool& pool, const std::string& striped);

// Shared by all engines that use it, in any thread.
class RadosFile {
 public:
  // Throws Error{kStore}.
  RadosFile(const std::string& path, OpenMode mode, const EngineOptions& options);

  const std::string& path() const { return path_; }
  // The turns at the OSDs; null: no throttling.
  const std::shared_ptr<ServerTurns>& turns() const { return turns_; }
  bool may_write() const { return mode_ != OpenMode::kRead; }
  // Why structured requests are not used; empty: they are. The cluster is asked once.
  const std::string& class_refusal() const { return class_refusal_; }
  const StripeLayout& stripes() const { return stripes_; }
  const std::string& striped() const { return striped_; }
  std::shared_ptr<RadosPool> pool() const { return pool_.get(); }
  std::string object(int64_t number) const { return object_name(striped_, number); }

  int64_t size() const;
  // True if the file had so many bytes when its size was last read.
  bool has_at_least(int64_t bytes) const { return bytes <= size_known_; }
  // Makes the file at least so long; the size is always an upper bound of the written bytes.
  void grow(int64_t bytes);
  void resize(int64_t bytes);
  // Completed writes are on the medium. Throws Error{kStore} with ESTALE if the file was removed meanwhile.
  void sync() const;
  // The same check for writes since the last one; does nothing without writes.
  void check_written() const;
  // To be called after a completed write: RADOS creates missing objects, so writes to a removed file do not fail.
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
  mutable std::atomic<bool> is_written_ = false;  // since the last check that the file exists
  mutable std::atomic<int64_t> size_known_ = 0;   // a lower bound of the size, from its last read
};

}  // namespace swath
