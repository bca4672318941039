#include "plan/kinds.h"

namespace swath {

Kinds kinds_by_form(const Layout& layout, const Decomposition& decomposition) {
  if (layout.is_chunked() && !decomposition.is_views()) return kinds_by_place(decomposition);
  return {decomposition.kinds(), true};
}

Kinds kinds_by_place(const Decomposition& decomposition) {
  return {decomposition.kinds(kRanksCounted), decomposition.is_gathered() || decomposition.ranks() <= kRanksCounted};
}

}  // namespace swath
