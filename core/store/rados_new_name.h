// Creation in a pool: a new file NAME is the striped file NAME.gN of a number N that nobody else has, and counts from
// the moment that the object NAME says so in its attribute swath.current.
//
// Whoever creates one watches the object NAME, where a mark swath.g.N says whose N is. The watch of a process that is
// gone ends after a while (osd_client_watch_timeout, 30 s by default); who creates NAME next removes what it has left.
#pragma once

#ifdef SWATH_HAVE_RADOS

#include <memory>
#include <string>

#include "store/atomic_file.h"
#include "store/new_name.h"
#include "store/rados_file.h"

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
  void replace_at_once() const;
  void remove_left() const;

  std::string final_path_;
  bool overwrite_;
  RadosPoolOfProcess pool_;
  std::string file_;
  std::string number_;  // N; empty: it is written under its name
  std::string working_file_;
  std::unique_ptr<RadosWatch> watch_;  // null: of whoever has begun it
};

}  // namespace swath

#endif
