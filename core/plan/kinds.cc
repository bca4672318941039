#include "plan/kinds.h"

namespace swath {

Kinds kinds_by_form(const Layout& layout, const Sharing& sharing) {
  if (layout.is_chunked()) return kinds_by_place(sharing);
  return {sharing.kinds(), true};
}

Kinds kinds_by_place(const Sharing& sharing) {
  return {sharing.kinds(kRanksCounted), sharing.is_boxes() || sharing.ranks() <= kRanksCounted};
}

}  // namespace swath
