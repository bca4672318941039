#include "space/view.h"

#include <algorithm>

#include "base/error.h"
#include "base/math.h"
#include "space/nest_cursor.h"
#include "space/nest_node.h"

namespace swath {

View View::all(Nest nest) {
  const int64_t bytes = nest.bytes();
  return {std::move(nest), 0, bytes};
}

View View::repeated(const Nest& nest, int64_t extent, int64_t first, int64_t bytes) {
  if (bytes == 0) return {};
  if (nest.empty())
    fail_argument("view: a type without data is repeated, but " + std::to_string(bytes) + " bytes are wanted");
  // Whole repetitions before the first byte only shift the rest.
  const int64_t skipped = first / nest.bytes();
  int64_t distance = 0;
  if (__builtin_mul_overflow(skipped, extent, &distance)) distance = INT64_MAX;  // which shifted() refuses
  const Nest from = nest.shifted(distance);
  first -= skipped * nest.bytes();
  return {Nest::strided(ceil_div(first + bytes, nest.bytes()), extent, from), first, first + bytes};
}

int64_t View::bytes_before(int64_t offset) const { return std::clamp(nest.bytes_before(offset), first, last) - first; }

void View::check() const {
  if (first < 0 || last < first || last > nest.bytes()) {
    fail_argument("view: data bytes " + std::to_string(first) + " to " + std::to_string(last) + " of a nest of " +
                  std::to_string(nest.bytes()));
  }
  if (empty()) return;
  if (!nest.is_ascending()) {
    fail_argument("view: " + nest.to_string() +
                  ": places in a file must ascend and may not overlap; sort them, or read them in parts");
  }
  if (begin() < 0) fail_argument("view: its first byte would be byte " + std::to_string(begin()) + " of the file");
}

std::string View::to_string() const {
  std::string text = nest.to_string();
  if (bytes() < nest.bytes()) text += ", bytes " + std::to_string(first) + " to " + std::to_string(last);
  return text;
}

void View::write(ByteWriter& writer) const {
  nest.write(writer);
  writer.put(first);
  writer.put(last);
}

View View::read(ByteReader& reader) {
  View view;
  view.nest = Nest::read(reader);
  view.first = reader.number();
  view.last = reader.number();
  try {
    view.check();
  } catch (const Error& error) {
    reader.fail(error.what());
  }
  return view;
}

namespace {

using Node = Nest::Node;

// True if the two patterns have a common byte, repeated without end, if both are strided alike. For other patterns true
// means that they may.
bool patterns_may_meet(const Node& a, const Node& b, int64_t b_offset) {
  if (b_offset + b.all.high <= a.all.low || a.all.high <= b_offset + b.all.low) return false;
  if (a.kind != Node::Kind::kStrided || b.kind != Node::Kind::kStrided || a.stride != b.stride) return true;
  const int64_t behind = b_offset - floor_div(b_offset, a.stride) * a.stride;
  const Node& of_a = *a.children[0];
  const Node& of_b = *b.children[0];
  return patterns_may_meet(of_a, of_b, behind) || patterns_may_meet(of_a, of_b, behind - a.stride);
}

// A traversal of a view's bytes that moves on to an offset: row by row if it is near, else by a search.
class Walk {
 public:
  explicit Walk(const View& view) : view_(view), cursor_(view.nest, view.first), position_(view.first) {}

  // The first byte at or after `offset`, which never descends; -1 where there is none.
  int64_t next(int64_t offset) {
    for (int steps = 0; position_ < view_.last; ++steps) {
      const NestCursor::Row row = cursor_.row();
      if (row.offset + std::min(row.block, view_.last - position_) > offset) return std::max(row.offset, offset);
      if (steps == kStepsMax) {
        position_ = view_.first + view_.bytes_before(offset);
        cursor_ = NestCursor(view_.nest, position_);
        steps = 0;
        continue;
      }
      const int64_t behind = row.stride > 0 ? (offset - row.offset - row.block) / row.stride : 0;
      skip(std::min(behind + 1, row.count) * row.block);
    }
    return -1;
  }

 private:
  static constexpr int kStepsMax = 8;

  void skip(int64_t bytes) {
    position_ += bytes;
    if (position_ < view_.last) cursor_.advance(bytes);
  }

  const View& view_;
  NestCursor cursor_;
  int64_t position_;
};

// Alternates between the views: each finds its first byte at or after that of the other.
int64_t walked_shared_byte(const View& a, const View& b) {
  Walk of_a(a);
  Walk of_b(b);
  int64_t at = 0;
  while (true) {
    const int64_t found = of_a.next(at);
    if (found < 0) return -1;
    at = of_b.next(found);
    if (at < 0 || at == found) return at;
  }
}

}  // namespace

int64_t shared_byte(const View& a, const View& b) {
  if (a.empty() || b.empty()) return -1;
  if (!patterns_may_meet(*a.nest.node(), *b.nest.node(), b.nest.origin() - a.nest.origin())) return -1;
  return walked_shared_byte(a, b);
}

SharedByte shared_byte(const std::vector<View>& views) {
  std::vector<int> order;
  for (size_t rank = 0; rank < views.size(); ++rank) {
    if (!views[rank].empty()) order.push_back(static_cast<int>(rank));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) { return views[a].begin() < views[b].begin(); });
  // A sweep: a view is compared with those that begin before it ends.
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = i + 1; j < order.size() && views[order[j]].begin() < views[order[i]].end(); ++j) {
      const int64_t offset = shared_byte(views[order[i]], views[order[j]]);
      if (offset >= 0) return {std::min(order[i], order[j]), std::max(order[i], order[j]), offset};
    }
  }
  return {};
}

}  // namespace swath
