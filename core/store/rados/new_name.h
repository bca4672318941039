// Creation in a pool: a new file NAME is a striped file NAME.gN with a unique number N. It becomes visible when the
// attribute swath.current of the object NAME is set to N.
//
// The object NAME has a mark swath.g.N for each striped file that is not current and not removed yet:
//
//   a number     the client with this number is writing it, and watches the object NAME
//   "replaced"   any process may remove it
//
// Each change of a mark is one atomic operation on NAME, which fails if the mark has changed since it was read:
//
//   begin      none -> the client's number, if NAME is the same object that the client watches
//   complete   the client's number -> none, swath.current becomes N, the former file is marked "replaced"
//   give up    the client's number -> "replaced", by the client, or by a process that finds its watch gone
//   forget     "replaced" -> none, when the file's objects are gone
//
// Only files marked "replaced" are removed, and such a file can never get the name: an operation that arrives late,
// after its client has given up waiting, changes nothing. The next creation of NAME removes the remains of dead
// processes and of failed removals. The watch of a dead process ends after a while (osd_client_watch_timeout, 30 s by
// default).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/atomic_file.h"
#include "store/new_name.h"
#include "store/rados/file.h"

namespace swath {

// A watch of an object shows other processes that this process is alive.
class RadosWatch {
 public:
  RadosWatch(std::shared_ptr<RadosPool> pool, std::string object);
  ~RadosWatch();
  RadosWatch(const RadosWatch&) = delete;
  RadosWatch& operator=(const RadosWatch&) = delete;

 private:
  std::shared_ptr<RadosPool> pool_;
  std::string object_;
  uint64_t cookie_ = 0;
  uint64_t made_in_;
};

class RadosNewName final : public NewName {
 public:
  // A name that another process has begun, or a file that is written under its final name.
  RadosNewName(const std::string& final_path, const AtomicFileOptions& options);
  // Begins a new name; sets options.working_path.
  static std::unique_ptr<RadosNewName> begin(const std::string& final_path, AtomicFileOptions& options);

  void check() const override;
  void complete() override;
  void remove() const noexcept override;
  bool is_aside() const override { return !number_.empty(); }

 private:
  std::string generation(const std::string& number) const { return file_ + ".g" + number; }
  std::optional<Attributes> index(uint64_t* version = nullptr) const { return pool_.get()->attributes(file_, version); }
  void begin_mark();
  bool give_up(const std::string& number, const std::string& owner) const;
  bool give_up_own() const;
  void remove_replaced(const std::string& number) const;
  void remove_unless_damaged(const std::string& number) const;
  void forget(const std::string& number) const;
  void remove_left() const noexcept;
  void replace_at_once() const;
  bool give_name(const std::optional<Attributes>& attributes) const;

  std::string final_path_;
  bool overwrite_;
  RadosPoolOfProcess pool_;
  std::string file_;
  std::string number_;  // N; empty: written under the final name
  std::string working_file_;
  std::unique_ptr<RadosWatch> watch_;  // null: the process that has begun the name has it
  bool is_complete_ = false;
};

}  // namespace swath
