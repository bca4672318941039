// What a file held at the last checkpoint of its changes: read while another process goes on changing it.
//
// What the other one has overwritten since is in its journal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/descriptor.h"

namespace swath {

struct CheckpointState {
  int64_t bytes = 0;                    // how long the file was
  std::map<int64_t, std::string> kept;  // what was overwritten since, by its offset; no two overlap

  // Makes bytes of the file, as it is now, from `offset` on what they were.
  void restore(int64_t offset, std::span<std::byte> read) const;
  bool operator==(const CheckpointState& other) const = default;
};

enum class WhoChanges { kOthers, kAnybody };  // kOthers: what this process changes itself is taken as it is

// None where the file itself is in that state: it has no journal with changes in it. Where the other process changes
// the file meanwhile, what is found may not be true of it any more: whoever has a lock by which it waits
// (share_target), or finds the same again when the file is read, has seen one moment. Throws Error{kStore} where the
// system refuses.
std::optional<CheckpointState> checkpoint_state(const std::string& path, WhoChanges who = WhoChanges::kOthers);

// Whether a process that lives, or was killed, has a journal of changes of the file: this one, too.
bool has_journal(const std::string& path);

// As long as it lives this process is known to change the file of a journal, by its name.
class OwnJournal {
 public:
  explicit OwnJournal(std::string journal);
  ~OwnJournal();
  OwnJournal(const OwnJournal&) = delete;
  OwnJournal& operator=(const OwnJournal&) = delete;

 private:
  const std::string journal_;
};

}  // namespace swath
