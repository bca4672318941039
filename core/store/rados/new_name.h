// Creation in a pool: a new file NAME is the striped file NAME.gN of a number N that nobody else has, and counts from
// the moment that the object NAME says so in its attribute swath.current.
//
// The object NAME has a mark swath.g.N for each file that does not count and is not gone yet:
//
//   a number     the client of that number writes it, and watches the object NAME meanwhile
//   "replaced"   it is to be removed, by whoever comes by
//
// A mark changes in one operation on NAME, which takes place only where the mark still is what it was when looked at:
//
//   begin      none -> the client's number, where NAME is the same object that the client watches
//   complete   the client's number -> none, swath.current becomes N, and what counted before is marked "replaced"
//   give up    the client's number -> "replaced": by the client, or by one who finds that it watches no more
//   forget     "replaced" -> none, when the file's objects are gone
//
// Objects are removed only of a file that is marked "replaced", and no such file can be given the name any more: an
// operation that arrives late, after its client gave up waiting for it, changes nothing. What is left over by a
// process that is gone, or by a removal that failed, is removed when NAME is created the next time. The watch of a
// process that is gone ends after a while (osd_client_watch_timeout, 30 s by default).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/atomic_file.h"
#include "store/new_name.h"
#include "store/rados/file.h"

namespace swath {

// A watch of an object: others can tell that this process is there.
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
  // As it was begun elsewhere, or with a file that is written under its name at once.
  RadosNewName(const std::string& final_path, const AtomicFileOptions& options);
  // A new one: sets options.working_path.
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
  std::string number_;  // N; empty: it is written under its name
  std::string working_file_;
  std::unique_ptr<RadosWatch> watch_;  // null: of whoever has begun it
  bool is_complete_ = false;
};

}  // namespace swath
