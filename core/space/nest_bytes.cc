// Nests as bytes: a table of their levels, each once, children before parents.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "space/nest.h"
#include "space/nest_node.h"

namespace swath {
namespace {

using Node = Nest::Node;

// Levels that are equal are one, wherever they come from: their bytes tell.
class LevelTable {
 public:
  int64_t place_of(const Node& node) {
    const auto known = places_.find(&node);
    if (known != places_.end()) return known->second;
    const int64_t place = place_of_bytes(bytes_of(node));
    places_.emplace(&node, place);
    return place;
  }
  // In the order of their places.
  const std::vector<const std::string*>& levels() const { return levels_; }

 private:
  std::vector<std::byte> bytes_of(const Node& node) {
    ByteWriter writer;
    writer.put(static_cast<int64_t>(node.kind));
    switch (node.kind) {
      case Node::Kind::kBlock:
        writer.put(node.all.bytes);
        break;
      case Node::Kind::kStrided:
        writer.put(node.count);
        writer.put(node.stride);
        writer.put(place_of(*node.children[0]));
        break;
      case Node::Kind::kIndexed:
        writer.put(node.displacements);
        writer.put(place_of(*node.children[0]));
        break;
      case Node::Kind::kBlocks: {
        std::vector<int64_t> lengths;
        for (int64_t i = 0; i < node.count; ++i) lengths.push_back(node.child_bytes(i));
        writer.put(node.displacements);
        writer.put(lengths);
        break;
      }
      case Node::Kind::kSequence: {
        std::vector<int64_t> children;
        for (const auto& child : node.children) children.push_back(place_of(*child));
        writer.put(node.displacements);
        writer.put(children);
        break;
      }
    }
    return writer.take();
  }

  int64_t place_of_bytes(const std::vector<std::byte>& bytes) {
    const std::string_view key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto [level, is_new] = by_bytes_.emplace(key, std::ssize(levels_));
    if (is_new) levels_.push_back(&level->first);
    return level->second;
  }

  std::unordered_map<const Node*, int64_t> places_;
  std::map<std::string, int64_t> by_bytes_;  // ordered, not hashed: hostile input cannot make it slow
  std::vector<const std::string*> levels_;
};

struct ReadLevel {
  Nest nest;
  bool is_used = false;
};

const Nest& child_of(std::vector<ReadLevel>& levels, int64_t place, ByteReader& reader) {
  if (place < 0 || place >= std::ssize(levels)) reader.fail("a level that does not come before the one that has it");
  ReadLevel& level = levels[static_cast<size_t>(place)];
  level.is_used = true;
  return level.nest;
}

Nest read_level(std::vector<ReadLevel>& levels, ByteReader& reader) {
  const auto kind = static_cast<Node::Kind>(reader.number_in(0, 5, "the kind of a level"));
  Nest level;
  switch (kind) {
    case Node::Kind::kBlock:
      level = Nest::block(reader.number());
      break;
    case Node::Kind::kStrided: {
      const int64_t count = reader.number();
      const int64_t stride = reader.number();
      level = Nest::strided(count, stride, child_of(levels, reader.number(), reader));
      break;
    }
    case Node::Kind::kIndexed: {
      const std::vector<int64_t> displacements = reader.numbers();
      level = Nest::indexed(displacements, child_of(levels, reader.number(), reader));
      break;
    }
    case Node::Kind::kBlocks: {
      std::vector<int64_t> displacements = reader.numbers();
      std::vector<int64_t> lengths = reader.numbers();
      if (lengths.size() != displacements.size()) reader.fail("as many lengths as displacements were expected");
      level = Nest::blocks(std::move(displacements), std::move(lengths));
      break;
    }
    case Node::Kind::kSequence: {
      const std::vector<int64_t> displacements = reader.numbers();
      std::vector<Nest> children;
      for (const int64_t place : reader.numbers()) children.push_back(child_of(levels, place, reader));
      if (children.size() != displacements.size()) reader.fail("as many children as displacements were expected");
      level = Nest::sequence(displacements, children);
      break;
    }
  }
  if (level.empty() || level.origin() != 0 || level.node()->kind != kind) reader.fail("a level that is not canonical");
  return level;
}

}  // namespace

void Nest::write(ByteWriter& writer) const {
  LevelTable table;
  if (!empty()) table.place_of(*node_);
  writer.put(origin_);
  writer.put(std::ssize(table.levels()));
  for (const auto* level : table.levels()) writer.put_raw(std::as_bytes(std::span(*level)));
}

Nest Nest::read(ByteReader& reader) {
  constexpr int64_t kLevelBytesMin = 16;
  const int64_t origin = reader.number();
  const int64_t count = reader.count(kLevelBytesMin);
  std::vector<ReadLevel> levels;
  LevelTable table;
  Nest nest;
  // No level twice, and none that is not used. Equal levels are refused as they come: those that follow are compared
  // with each other, which is quick where equal ones are the same.
  try {
    for (int64_t i = 0; i < count; ++i) {
      levels.push_back({read_level(levels, reader)});
      if (table.place_of(*levels.back().nest.node_) != i) reader.fail("a level that was there before");
    }
    if (count > 0) nest = levels.back().nest.shifted(origin);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kFormat) throw;
    reader.fail(error.what());
  }
  const auto unused =
      std::count_if(levels.begin(), levels.end(), [](const ReadLevel& level) { return !level.is_used; });
  if (unused > 1 || (count == 0 && origin != 0)) reader.fail("levels that are not canonical");
  return nest;
}

}  // namespace swath
