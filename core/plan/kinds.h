// Kinds of rank: what is counted for one of a kind holds for all of them, so that planning never visits every rank.
#pragma once

#include <vector>

#include "layout/layout.h"
#include "plan/request.h"

namespace swath {

// So many ranks are counted one by one where they cannot be grouped without loss; of more, about so many are looked at.
constexpr int kRanksCounted = 64;

struct Kinds {
  std::vector<RankKind> all;
  bool exact;  // false: a few ranks stand for others that are not quite like them
};

// For what depends on the form of a share: bytes, runs, pieces. In a strided layout moving a share changes none of
// these; in a chunked one the chunks cut it elsewhere.
Kinds kinds_by_form(const Layout& layout, const Decomposition& decomposition);
// For what depends on where a share lies, too: windows.
Kinds kinds_by_place(const Decomposition& decomposition);

}  // namespace swath
