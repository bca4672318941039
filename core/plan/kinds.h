// Kinds of rank: counts of one rank of a kind hold for all of it, so that planning never visits every rank.
#pragma once

#include <vector>

#include "layout/layout.h"
#include "plan/request.h"

namespace swath {

// Up to this number, ranks that cannot be grouped exactly are counted one by one; of more, about this many are sampled.
constexpr int kRanksCounted = 64;

struct Kinds {
  std::vector<RankKind> all;
  bool exact;  // false: the ranks of a kind are only similar
};

// For counts that depend on the form of a share: bytes, runs, pieces. In a strided layout these do not change with the
// share's position; in a chunked one they do, since chunks cut the share at other places.
Kinds kinds_by_form(const Layout& layout, const Decomposition& decomposition);
// For counts that depend on the position of a share, too: windows.
Kinds kinds_by_place(const Decomposition& decomposition);

}  // namespace swath
