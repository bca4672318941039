// For tests of open arrays: a small vector, whose elements are distributed cyclically to the ranks.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array/array.h"
#include "comm/comm.h"
#include "store/engine_test_file.h"
#include "store/open_file.h"
#include "store/posix/engine.h"
#include "testing/ranks_and_memory.h"

namespace swath {

using namespace swath::testing;
using ByteVector = std::vector<std::byte>;
using Kind = DimensionRule::Kind;

// Reports the cached part that the test sets. Negative: unknown. More than 1: the report fails.
class TellingEngine final : public PosixEngine {
 public:
  TellingEngine(std::shared_ptr<OpenFile> file, const std::atomic<double>& cached)
      : PosixEngine(std::move(file), int64_t{1} << 30), cached_(cached) {}
  std::optional<double> cached_part(int64_t, int64_t) const override {
    if (cached_ > 1) throw Error(ErrorKind::kStore, "cannot tell what is cached");
    return cached_ < 0 ? std::nullopt : std::optional(cached_.load());
  }

 private:
  const std::atomic<double>& cached_;
};

inline std::shared_ptr<File> open_by(const std::string& engine, const std::string& path) {
  return std::make_shared<File>(
      path, [make = open_for_engines(path, OpenMode::kReadWrite, {.engine = engine})] { return make(nullptr); });
}

inline std::shared_ptr<File> open_telling(const std::string& path, const std::atomic<double>& cached) {
  const auto file = std::make_shared<OpenFile>(path, OpenMode::kReadWrite, nullptr);
  return std::make_shared<File>(path, [file, &cached] { return std::make_unique<TellingEngine>(file, cached); });
}

// A communicator owned by the test, for an array that shares it.
inline std::shared_ptr<Comm> shared(Comm& comm) {
  return {&comm, [](Comm*) {}};
}

inline Array::Options options_of(const std::shared_ptr<const Layout>& layout, std::vector<std::byte> fill = {}) {
  Array::Options options;
  options.name = "a.raw";
  options.form = std::make_shared<const ArrayForm>("a.raw", layout->shape(), layout->element_bytes(), layout);
  options.fill = std::move(fill);
  return options;
}

inline constexpr int64_t kElements = 37;  // ragged for 2, 3, 4 and 5 ranks

inline std::shared_ptr<const Layout> vector_layout() {
  return std::make_shared<const Layout>(Layout::ordered({kElements}, 4, 0, {0}));
}

inline Decomposition dealt_out(int ranks, int64_t elements = kElements) {
  return Decomposition::distributed(Distribution({{Kind::kCyclic, 1}}, {ranks}), {{0, 1, elements, false}}, ranks);
}

// One rank's memory for its part of a distributed vector.
struct Share {
  Share(const Operation& operation, int rank)
      : parts(operation.decomposition().parts(rank, 4)),
        bytes(static_cast<size_t>(parts.empty() ? 0 : parts[0].count() * 4)) {}
  LocalMemory local() {
    LocalMemory memory{parts, {}};
    for (size_t part = 0; part < parts.size(); ++part) memory.addresses.push_back(bytes.data());
    return memory;
  }

  std::vector<Part> parts;
  ByteVector bytes;
};

// The elements of a rank that has every `ranks`-th one.
inline ByteVector every(const ByteVector& bytes, int rank, int ranks) {
  ByteVector mine;
  for (size_t element = static_cast<size_t>(rank); element * 4 < bytes.size(); element += static_cast<size_t>(ranks)) {
    mine.insert(mine.end(), bytes.begin() + static_cast<int64_t>(element * 4),
                bytes.begin() + static_cast<int64_t>(element * 4 + 4));
  }
  return mine;
}

class VectorTest : public ::testing::Test {
 protected:
  VectorTest() { file_.write(bytes_); }

  Operation reading(const Array& array, int ranks, Method method = Method::kDirect) const {
    return {array.form(), {Direction::kRead, dealt_out(ranks), method, {}}};
  }
  Operation writing(const Array& array, int ranks, Method method = Method::kDirect) const {
    return {array.form(), {Direction::kWrite, dealt_out(ranks), method, {}}};
  }

  const EngineTestFile file_;
  const ByteVector bytes_ = counting_bytes(kElements * 4);
  std::atomic<double> cached_ = 1;
};

using ArrayOfRanks = VectorTest;

}  // namespace swath
