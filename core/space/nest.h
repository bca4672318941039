// Nests: where the bytes of one rank lie, for whoever cannot be computed by the others: an MPI datatype, a user's list
// of places. A nest is a SEQUENCE of bytes: data byte p of it lies at offset_of(p). It is a tree of levels,
//
//   block(bytes)                     contiguous bytes
//   strided(count, stride, child)    the child, so often, `stride` bytes apart: any stride, also 0 and negative
//   indexed(displacements, child)    the child at each of the displacements, in any order
//   blocks(displacements, lengths)   contiguous bytes of different lengths
//   sequence(displacements, children) different children
//
// and takes as much memory as was listed: never as much as there are blocks. What is built is canonical: what touches
// is one block, what is listed at equal distances is strided, equal children of a sequence are indexed. So nests that
// were described in different words are often equal, and cheap ones are found in long lists.
//
// Closed forms cost O(depth), and a binary search for each listed level. Those of the file's side need a nest that
// ascends: each byte lies behind the one before it. Memory's side may go anywhere.
//
// Source: nested strides, ncio-2006 section 2.4 (datatype I/O); the levels are MPI's datatypes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace swath {

class Nest {
 public:
  struct Node;  // space/nest_node.h

  // A contiguous range of offsets, and the data byte that lies at its begin.
  struct Run {
    int64_t offset;
    int64_t bytes;
    int64_t position;
  };

  // No bytes.
  Nest() = default;
  // All of them throw Error{kArgument} where an offset or the number of bytes would leave 62 bits, or levels are
  // deeper than kDepthMax. Empty children, blocks and lists have no bytes.
  static Nest block(int64_t bytes);
  static Nest strided(int64_t count, int64_t stride, const Nest& child);
  static Nest indexed(std::span<const int64_t> displacements, const Nest& child);
  static Nest blocks(std::vector<int64_t> displacements, std::vector<int64_t> lengths);
  static Nest sequence(std::span<const int64_t> displacements, std::span<const Nest> children);
  // The same, `distance` bytes further on.
  Nest shifted(int64_t distance) const;

  static constexpr int kDepthMax = 32;

  int64_t bytes() const;
  bool empty() const { return node_ == nullptr; }
  int64_t origin() const { return origin_; }  // of data byte 0
  int64_t low() const;                        // the lowest byte of all; 0 where there is none
  int64_t high() const;                       // one past the highest
  int64_t end() const;                        // one past data byte bytes() - 1
  // Whether each data byte lies behind the one before it: no byte twice.
  bool is_ascending() const;

  int64_t offset_of(int64_t position) const;
  // How many data bytes lie before `offset`. Requires is_ascending().
  int64_t bytes_before(int64_t offset) const;
  // Contiguous runs of data bytes [first, last): maximal ranges in which each byte lies next to the one before it.
  //
  // Theorem: runs = 1 + breaks, where a break is a pair of successive bytes that do not touch. The breaks within a
  // child are those of all its repetitions; those between two repetitions are one or none, whichever two they are.
  int64_t runs(int64_t first, int64_t last) const;
  int64_t runs() const { return runs(0, bytes()); }
  // The run that begins at data byte `position`, no further than `last`.
  Run run_at(int64_t position, int64_t last) const;
  int64_t longest_run() const;  // bytes
  // The widest hole between two successive runs. Requires is_ascending().
  int64_t widest_hole() const;

  int depth() const;             // levels, the block among them
  int64_t listed() const;        // places that were listed, those of shared children once
  int64_t memory_bytes() const;  // that the tree takes
  // Whether each byte lies as far from that of the other.
  bool is_shifted(const Nest& other) const;
  friend bool operator==(const Nest& a, const Nest& b) { return a.origin_ == b.origin_ && a.is_shifted(b); }

  // For people: "1,000 x 16 bytes apart of 8 bytes", "12 places of 8 bytes".
  std::string to_string() const;
  // Canonical: equal nests have equal bytes.
  void write(ByteWriter& writer) const;
  // Throws Error{kFormat} for anything that write() has not made.
  static Nest read(ByteReader& reader);

  // Child i of the outermost level, where it lies. For whoever knows the levels (space/nest_node.h).
  Nest child(int64_t i) const;
  const std::shared_ptr<const Node>& node() const { return node_; }

 private:
  Nest(int64_t origin, std::shared_ptr<const Node> node) : origin_(origin), node_(std::move(node)) {}

  int64_t origin_ = 0;
  std::shared_ptr<const Node> node_;  // null: no bytes
};

}  // namespace swath
