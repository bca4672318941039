// The content of a file at the last checkpoint of its changes, for a reader while another process changes the file.
//
// The journal of the other process has the bytes that it overwrote since the checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/descriptor.h"

namespace swath {

struct CheckpointState {
  int64_t bytes = 0;                    // the length of the file
  std::map<int64_t, std::string> kept;  // the bytes that were overwritten since, by their offset; no two ranges overlap

  // Takes bytes that were read at `offset`, and replaces those that were overwritten since the checkpoint.
  void restore(int64_t offset, std::span<std::byte> read) const;
  bool operator==(const CheckpointState& other) const = default;
};

enum class WhoChanges { kOthers, kAnybody };  // kOthers: this process's own changes are not undone

// Returns nothing if the file is in that state already: its journal has no changes. If the other process changes the
// file during this call, the result may be out of date. It is consistent if the caller holds a lock that the other
// process waits for (share_target), or if a second call after the read finds the same. Throws Error{kStore} if the
// system refuses.
std::optional<CheckpointState> checkpoint_state(const std::string& path, WhoChanges who = WhoChanges::kOthers);

// Whether a process, also this one or a killed one, has a journal of changes of the file.
bool has_journal(const std::string& path);

// While this object lives, this process is registered as the owner of the journal with this name.
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
