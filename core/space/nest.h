// Nests: the places of one rank's bytes that other ranks cannot compute, such as an MPI datatype or a user's list. A
// nest is a SEQUENCE of bytes: data byte p is at offset_of(p). It is a tree of levels,
//
//   block(bytes)                     contiguous bytes
//   strided(count, stride, child)    the child, so often, `stride` bytes apart: any stride, also 0 and negative
//   indexed(displacements, child)    the child at each of the displacements, in any order
//   blocks(displacements, lengths)   contiguous bytes of different lengths
//   sequence(displacements, children) different children
//
// and takes as much memory as the lists given, never as much as the number of blocks. Nests are canonical: adjacent
// blocks are joined, lists with equal distances become strided, and equal children of a sequence become indexed. So
// different descriptions of the same nest are often equal, and long lists often become cheap.
//
// Closed forms cost O(depth), and a binary search for each listed level. Nests of the file must ascend: each byte is
// after the previous one. Nests of memory may be in any order.
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

  // A contiguous range of offsets, and the data byte at its start.
  struct Run {
    int64_t offset;
    int64_t bytes;
    int64_t position;
  };

  // An empty nest.
  Nest() = default;
  // All of these throw Error{kArgument} if an offset or the number of bytes exceeds 62 bits, or if the depth exceeds
  // kDepthMax. Empty children, blocks and lists have no bytes.
  static Nest block(int64_t bytes);
  static Nest strided(int64_t count, int64_t stride, const Nest& child);
  static Nest indexed(std::span<const int64_t> displacements, const Nest& child);
  static Nest blocks(std::vector<int64_t> displacements, std::vector<int64_t> lengths);
  static Nest sequence(std::span<const int64_t> displacements, std::span<const Nest> children);
  // The same nest moved by `distance` bytes.
  Nest shifted(int64_t distance) const;

  static constexpr int kDepthMax = 32;

  int64_t bytes() const;
  bool empty() const { return node_ == nullptr; }
  int64_t origin() const { return origin_; }  // of data byte 0
  int64_t low() const;                        // the lowest byte; 0 for an empty nest
  int64_t high() const;                       // one past the highest
  int64_t end() const;                        // one past data byte bytes() - 1
  // True if each data byte is after the previous one; no byte occurs twice.
  bool is_ascending() const;

  int64_t offset_of(int64_t position) const;
  // The number of data bytes before `offset`. Requires is_ascending().
  int64_t bytes_before(int64_t offset) const;
  // The number of contiguous runs of data bytes [first, last): maximal ranges in which each byte is adjacent to the
  // previous.
  //
  // Theorem: runs = 1 + breaks, where a break is a pair of successive bytes that do not touch. The breaks within a
  // child are those of all its repetitions; those between two repetitions are one or none, whichever two they are.
  int64_t runs(int64_t first, int64_t last) const;
  int64_t runs() const { return runs(0, bytes()); }
  // The run that begins at data byte `position`, up to `last`.
  Run run_at(int64_t position, int64_t last) const;
  int64_t longest_run() const;  // bytes
  // The widest hole between consecutive runs. Requires is_ascending().
  int64_t widest_hole() const;

  int depth() const;             // levels, including the block
  int64_t listed() const;        // listed places; shared children count once
  int64_t memory_bytes() const;  // of the tree
  // True if the nests differ only by a shift.
  bool is_shifted(const Nest& other) const;
  friend bool operator==(const Nest& a, const Nest& b) { return a.origin_ == b.origin_ && a.is_shifted(b); }

  // For messages: "1,000 x 16 bytes apart of 8 bytes", "12 places of 8 bytes".
  std::string to_string() const;
  // Canonical: equal nests have equal bytes.
  void write(ByteWriter& writer) const;
  // Throws Error{kFormat} for bytes that write() has not made.
  static Nest read(ByteReader& reader);

  // Child i of the outermost level, with its offset. For code that knows the levels (space/nest_node.h).
  Nest child(int64_t i) const;
  const std::shared_ptr<const Node>& node() const { return node_; }

 private:
  Nest(int64_t origin, std::shared_ptr<const Node> node) : origin_(origin), node_(std::move(node)) {}

  int64_t origin_ = 0;
  std::shared_ptr<const Node> node_;  // null: no bytes
};

}  // namespace swath
