// All ranks agree before the next collective step: the same error everywhere, or none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"

namespace swath {

// Collective. Where any rank brings an error, every rank throws the one of the lowest such rank, its text preceded by
// "rank R: " where there is more than one rank.
void agree(Comm& comm, const std::optional<Error>& mine);

// What a rank alone knows and planning needs; it travels with an agreement, at no further cost.
using Note = std::array<int64_t, 6>;

// Collective. Every rank brings what it is asked to do, in words; different words are an Error{kDisagreement} on all
// that quotes two of them. Words of several lines are what is done, then an argument a line ("method=auto"): the error
// names those that differ. A rank may bring an error of its own too, and all throw it as in agree(): before they
// compare words where it has none (what was asked of it cannot be), after that where it has. Returns every rank's note.
std::vector<Note> agree_same(Comm& comm, const std::string& asked, const std::optional<Error>& mine = std::nullopt,
                             const Note& note = {});

}  // namespace swath
