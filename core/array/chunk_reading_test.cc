// Coded chunks read by simulated ranks: the elements, and the counters, are those of the plan.
#include "array/chunk_reading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "array/array.h"
#include "base/math.h"
#include "chunks/compressors.h"
#include "testing/ranks_and_memory.h"
#include "testing/requests.h"

namespace swath {
namespace {

using namespace swath::testing;

std::shared_ptr<Comm> shared(Comm& comm) {
  return {&comm, [](Comm*) {}};
}

// A node with little memory to share.
class NarrowComm final : public Comm {
 public:
  NarrowComm(Comm& comm, int64_t window_bytes_max) : comm_(comm), window_bytes_max_(window_bytes_max) {}

  std::string name() const override { return comm_.name(); }
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  int node_of(int rank) const override { return comm_.node_of(rank); }
  void barrier() override { comm_.barrier(); }
  void node_arrive() override { comm_.node_arrive(); }
  void node_wait() override { comm_.node_wait(); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override { comm_.allgather(mine, all); }
  void allreduce(std::span<std::byte> record, const Combine& combine) override { comm_.allreduce(record, combine); }
  void broadcast(std::span<std::byte> data, int root) override { comm_.broadcast(data, root); }
  void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) override {
    comm_.exchange(sends, receives);
  }
  std::vector<std::span<std::byte>> shared_windows(int64_t bytes) override {
    if (bytes <= window_bytes_max_) return comm_.shared_windows(bytes);
    ++refusals;
    return {};
  }
  std::string shared_refusal() const override { return comm_.shared_refusal(); }
  std::unique_ptr<Comm> duplicate() override { return comm_.duplicate(); }
  bool may_be_called_in_background() const override { return comm_.may_be_called_in_background(); }

  int refusals = 0;

 private:
  Comm& comm_;
  const int64_t window_bytes_max_;
};

Codec codec(CodecKind kind, int64_t element_bytes) {
  Codec made;
  made.kind = kind;
  made.element_bytes = element_bytes;
  made.compressor = "lz4";
  made.block_bytes = 128;
  return made;
}

std::vector<Codec> some_codecs(Random& random, int64_t element_bytes) {
  std::vector<Codec> codecs;
  for (const CodecKind kind : {CodecKind::kBlosc, CodecKind::kShuffle, CodecKind::kZstd, CodecKind::kCrc32c}) {
    if (random.chance(40) && compressor_refusal(kind).empty()) codecs.push_back(codec(kind, element_bytes));
  }
  return codecs;
}

// An array of coded chunks on disk, the bytes of all its elements in C order, and the elements that each rank reads.
class StoredCase {
 public:
  StoredCase(Random& random, const std::string& folder) : random_(random) {
    given.file.shape = random_shape(random, static_cast<size_t>(random.between(random.chance(3) ? 0 : 1, 3)));
    given.file.element_bytes = random.one_of<int64_t>({1, 4});
    given.file.strides = c_strides(given.file.shape, given.file.element_bytes);
    make_array(folder);
    model = random_bytes(random, element_count(given.file.shape) * given.file.element_bytes);
    std::holds_alternative<ChunkTable>(array->places) ? store_in_table() : store_in_files();
    given.text += " in chunks of " + text_of(array->chunk_shape);
    if (!given.file.shape.empty() && random.chance(30)) {
      share_as_boxes(random, given, {.strided_memory = true, .overlapping_boxes = true});
    } else {
      const Selection selection = random_selection(random, given.file.shape);
      share_as_distribution(random, given, selection, {.strided_memory = true});
    }
  }

  int64_t chunk_of(int64_t element) const {
    int64_t chunk = 0;
    Shape at(array->shape.size());
    for (size_t d = at.size(); d-- > 0;) {
      at[d] = element % array->shape[d];
      element /= array->shape[d];
    }
    for (size_t d = 0; d < at.size(); ++d) {
      chunk = chunk * ceil_div(array->shape[d], array->chunk_shape[d]) + at[d] / array->chunk_shape[d];
    }
    return chunk;
  }
  std::set<int64_t> needed_by(int rank) const {
    std::set<int64_t> chunks;
    for (const PartCase& part : given.ranks[static_cast<size_t>(rank)]) {
      for (const auto& element : part.list) chunks.insert(chunk_of(element.offset / array->element_bytes));
    }
    return chunks;
  }
  bool is_decoded(int64_t chunk) const { return stored.contains(chunk) && array->grid().is_coded(chunk); }

  Operation operation(const Array& opened, int rank, TuningSettings tuning) const {
    Decomposition mine = given.decomposition;
    if (mine.is_boxes()) {
      mine = Decomposition::own_boxes(mine.boxes_of_rank()[static_cast<size_t>(rank)], rank, mine.ranks(),
                                      given.file.shape);
    }
    return {opened.form(), {Direction::kRead, mine, Method::kAuto, std::move(tuning)}};
  }

  std::unique_ptr<Array> open(Comm& comm) const {
    Array::Options options;
    options.name = "array";
    options.form = std::make_shared<const ArrayForm>("array", array->shape, array->element_bytes, nullptr);
    options.fill = array->fill;
    options.chunks = array;
    const bool is_table = std::holds_alternative<ChunkTable>(array->places);
    auto file = is_table ? File::open(array->path, OpenMode::kRead) : File::open_folder(array->path);
    return std::make_unique<Array>(shared(comm), std::move(file), options);
  }

  RequestCase given;
  std::shared_ptr<CodedArray> array = std::make_shared<CodedArray>();
  Bytes model;
  std::set<int64_t> stored;  // chunks

 private:
  void make_array(const std::string& folder) {
    array->shape = given.file.shape;
    array->element_bytes = given.file.element_bytes;
    Shape shard;
    for (size_t d = 0; d < array->shape.size(); ++d) {
      array->chunk_shape.push_back(random_.between(1, 7));
      shard.push_back(array->chunk_shape.back() * random_.between(1, 3));
    }
    std::vector<int> order(array->shape.size());
    std::iota(order.begin(), order.end(), 0);
    if (random_.chance(50)) std::reverse(order.begin(), order.end());
    array->chunk_strides = strides_in_order(array->chunk_shape, array->element_bytes, order);
    array->codecs = CodecChain(some_codecs(random_, array->element_bytes));
    array->fill = random_bytes(random_, array->element_bytes);
    array->path = folder + "/array";
    const ChunkFiles files{"c/", "/", "c"};
    switch (random_.between(0, 2)) {
      case 0:
        array->places = files;
        break;
      case 1:
        array->places = Shards{files, shard, CodecChain({codec(CodecKind::kCrc32c, 1)}), random_.chance(50)};
        break;
      default:
        array->places = table();
    }
    if (!std::holds_alternative<ChunkTable>(array->places)) std::filesystem::create_directories(array->path);
    array->check();
  }

  ChunkTable table() const {
    int64_t chunks = 1;
    for (size_t d = 0; d < array->shape.size(); ++d) chunks *= ceil_div(array->shape[d], array->chunk_shape[d]);
    const auto entries = static_cast<size_t>(chunks);
    return {std::vector<int64_t>(entries, -1), std::vector<int64_t>(entries), std::vector<uint32_t>(entries)};
  }

  // Stores some elements; the other chunks, or all of their files, do not exist.
  void store_in_files() {
    const Selection selection = random_.chance(50) ? select_all(array->shape) : random_selection(random_, array->shape);
    const Decomposition all = Decomposition::alone(selection);
    std::vector<Part> parts = all.parts(0, array->element_bytes);
    const TouchedUnits units = touched_units(*array, all, 0);
    Bytes image = model;
    model = filled();
    // The stored elements, packed.
    Bytes packed(static_cast<size_t>(parts[0].count() * array->element_bytes));
    for_each(selection, [&, next = size_t{0}](int64_t element) mutable {
      const auto bytes = static_cast<size_t>(array->element_bytes);
      const auto place = static_cast<size_t>(element) * bytes;
      std::memcpy(model.data() + place, image.data() + place, bytes);
      std::memcpy(packed.data() + next, image.data() + place, bytes);
      next += bytes;
      stored.insert(chunk_of(element));
    });
    const std::vector<std::byte*> addresses{packed.data()};
    write_chunks(*array, {parts, addresses}, units.own, {});
  }

  // Stores chunks in any order, with holes between them; some are missing, some skip codecs.
  void store_in_table() {
    auto& places = std::get<ChunkTable>(array->places);
    const Bytes empty = filled();
    Bytes file = random_bytes(random_, 10);
    CodecWorkspace workspace;
    std::vector<size_t> chunks(places.offsets.size());
    std::iota(chunks.begin(), chunks.end(), size_t{0});
    for (size_t i = chunks.size(); i > 1; --i) {
      std::swap(chunks[i - 1], chunks[static_cast<size_t>(random_.between(0, static_cast<int64_t>(i) - 1))]);
    }
    for (const size_t chunk : chunks) {
      if (random_.chance(80)) stored.insert(static_cast<int64_t>(chunk));
    }
    std::map<size_t, Bytes> decoded;
    for (const int64_t chunk : stored) {
      decoded[static_cast<size_t>(chunk)].resize(static_cast<size_t>(array->chunk_bytes()));
    }
    const auto bytes = static_cast<size_t>(array->element_bytes);
    for_each(select_all(array->shape), [&](int64_t element) {
      const auto chunk = static_cast<size_t>(chunk_of(element));
      std::byte* at = model.data() + static_cast<size_t>(element) * bytes;
      if (!decoded.contains(chunk)) {
        std::memcpy(at, empty.data(), bytes);
      } else {
        std::memcpy(decoded[chunk].data() + place_in_chunk(element), at, bytes);
      }
    });
    for (const size_t chunk : chunks) {
      if (!decoded.contains(chunk)) continue;
      std::vector<Codec> used;
      for (size_t i = 0; i < array->codecs.codecs().size(); ++i) {
        if (random_.chance(15)) {
          places.skipped[chunk] |= 1U << i;
        } else {
          used.push_back(array->codecs.codecs()[i]);
        }
      }
      const auto coded = CodecChain(used).encode(decoded[chunk], workspace);
      places.offsets[chunk] = std::ssize(file);
      places.bytes[chunk] = std::ssize(coded);
      file.insert(file.end(), coded.begin(), coded.end());
    }
    std::ofstream(array->path, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), std::ssize(file));
  }

  int64_t place_in_chunk(int64_t element) const {
    int64_t place = 0;
    for (size_t d = array->shape.size(); d-- > 0;) {
      place += element % array->shape[d] % array->chunk_shape[d] * array->chunk_strides[d];
      element /= array->shape[d];
    }
    return place;
  }

  Bytes filled() const {
    Bytes bytes;
    for (int64_t i = 0; i < element_count(array->shape); ++i) {
      bytes.insert(bytes.end(), array->fill.begin(), array->fill.end());
    }
    return bytes;
  }

  // Calls visit for the elements of a selection, with their numbers in C order of the array, in NumPy's order.
  template <typename Visit>
  void for_each(const Selection& selection, Visit visit) const {
    const Shape shape = array->shape;
    std::vector<int64_t> at(shape.size(), 0);
    for (const auto& dimension : selection) {
      if (dimension.count == 0) return;
    }
    while (true) {
      int64_t element = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        element = element * shape[d] + selection[d].start + at[d] * selection[d].step;
      }
      visit(element);
      size_t d = shape.size();
      while (d > 0 && ++at[d - 1] == selection[d - 1].count) at[--d] = 0;
      if (d == 0) return;
    }
  }

  Random& random_;
};

struct Done {
  Counters counters;
  std::shared_ptr<const ChunkPlan> plan;
};

void expect_as_planned(const Done& done, int rank) {
  const ChunkCounts& planned = done.plan->each_rank[static_cast<size_t>(rank)];
  EXPECT_TRUE(done.plan->counts_are_exact);
  EXPECT_EQ(done.counters.chunks_decoded, planned.chunks_decoded);
  EXPECT_EQ(done.counters.decoded_bytes, planned.decoded_bytes);
  EXPECT_EQ(done.counters.exchanged_bytes, planned.exchanged_bytes);
  if (!done.plan->stored_is_exact) return;
  EXPECT_EQ(done.counters.read_bytes, planned.read_bytes);
  EXPECT_EQ(done.counters.read_requests, planned.read_requests);
}

void expect_decoded_once_a_node(const StoredCase& one, const Machine& machine, const std::vector<Done>& done) {
  std::map<int, std::set<int64_t>> needed;
  std::map<int, int64_t> decoded;
  for (int rank = 0; rank < machine.ranks; ++rank) {
    const int node = machine.shared_memory ? rank * machine.nodes / machine.ranks : rank;
    for (const int64_t chunk : one.needed_by(rank)) {
      if (one.is_decoded(chunk)) needed[node].insert(chunk);
    }
    decoded[node] += done[static_cast<size_t>(rank)].counters.chunks_decoded;
  }
  for (const auto& [node, count] : decoded) EXPECT_EQ(count, std::ssize(needed[node])) << "node " << node;
}

void read_randomly(Random& random) {
  const EngineTestFile file;
  const StoredCase one(random, file.folder());
  const Machine machine = random_machine(random, one.given.decomposition.ranks());
  SCOPED_TRACE(one.given.text + machine.text());
  auto memory = memory_of_ranks(random, one.given);
  auto expected = memory;
  read_plainly(one.given, one.model, expected);
  const TuningSettings tuning{{"chunk_buffer_bytes", random.one_of<int64_t>({1, 2000, 1 << 28})}};
  std::vector<Done> done(static_cast<size_t>(machine.ranks));
  expect_no_errors(on_all_ranks(machine, [&](Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    const auto array = one.open(comm);
    const Execution first = array->execute(one.operation(*array, comm.rank(), tuning), memory[rank].local());
    done[rank] = {first.counters, array->explain_chunks(*first.of_chunks, std::nullopt)};
    array->execute(one.operation(*array, comm.rank(), tuning), memory[rank].local());  // with the windows that exist
  }));
  for (int rank = 0; rank < machine.ranks && !::testing::Test::HasFailure(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    EXPECT_EQ(memory[static_cast<size_t>(rank)].buffers(), expected[static_cast<size_t>(rank)].buffers());
    expect_as_planned(done[static_cast<size_t>(rank)], rank);
  }
  if (!::testing::Test::HasFailure()) expect_decoded_once_a_node(one, machine, done);
}

TEST(ChunkReading, DecodesEachChunkOnceANodeAndCountsWhatThePlanSays) {
  Random random(26);
  for (int i = 0; i < 250 && !HasFailure(); ++i) read_randomly(random);
}

TEST(ChunkReading, TakesSmallerWindowsWhereTheNodeHasNoRoomForLargeOnesAndDoesWithoutThem) {
  Random random(28);
  int smaller = 0;
  int without = 0;
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    const EngineTestFile file;
    const StoredCase one(random, file.folder());
    const Machine machine = random_machine(random, one.given.decomposition.ranks());
    SCOPED_TRACE(one.given.text + machine.text());
    auto memory = memory_of_ranks(random, one.given);
    auto expected = memory;
    read_plainly(one.given, one.model, expected);
    const int64_t place_bytes = ceil_div(one.array->chunk_bytes(), 64) * 64;
    // or three windows of one chunk each
    const int64_t window_bytes_max = random.chance(30) ? 0 : 64 + 3 * place_bytes;
    std::vector<std::pair<int, Counters>> done(static_cast<size_t>(machine.ranks));
    expect_no_errors(on_all_ranks(machine, [&](Comm& comm) {
      const auto rank = static_cast<size_t>(comm.rank());
      NarrowComm narrow(comm, window_bytes_max);
      const auto array = one.open(narrow);
      const Execution read = array->execute(one.operation(*array, comm.rank(), {}), memory[rank].local());
      done[rank] = {narrow.refusals, read.counters};
    }));
    bool takes = false;
    for (size_t rank = 0; rank < done.size(); ++rank) {
      EXPECT_EQ(memory[rank].buffers(), expected[rank].buffers()) << "rank " << rank;
      EXPECT_EQ(done[rank].first, done[0].first) << "ranks differ in how often they ask";
      takes = takes || done[rank].second.exchanged_bytes > 0;
    }
    if (done[0].first > 0) ++(takes ? smaller : without);
  }
  EXPECT_GT(smaller, 0);
  EXPECT_GT(without, 10);
}

// Any chunk may be damaged: a rank that needs it reports the error to all ranks, and no rank waits for ever.
TEST(ChunkReading, DamageIsAnErrorOfAllRanks) {
  Random random(27);
  int failures = 0;
  for (int i = 0; i < 120 && !HasFailure(); ++i) {
    const EngineTestFile file;
    StoredCase one(random, file.folder());
    if (one.stored.empty() || one.array->codecs.is_plain() || one.array->shards() != nullptr) continue;
    auto damaged = one.stored.begin();
    std::advance(damaged, random.between(0, std::ssize(one.stored) - 1));
    if (!one.is_decoded(*damaged)) continue;
    if (auto* table = std::get_if<ChunkTable>(&one.array->places)) {
      table->offsets[static_cast<size_t>(*damaged)] += 1 << 20;  // after the end
    } else {
      std::filesystem::resize_file(one.array->path + "/" + one.array->file_name(*damaged), 0);
    }
    const Machine machine = random_machine(random, one.given.decomposition.ranks());
    SCOPED_TRACE(one.given.text + machine.text() + " chunk " + std::to_string(*damaged));
    auto memory = memory_of_ranks(random, one.given);
    const TuningSettings tuning{{"chunk_buffer_bytes", random.one_of<int64_t>({1, 1 << 28})}};
    const auto errors = on_all_ranks(machine, [&](Comm& comm) {
      const auto array = one.open(comm);
      array->execute(one.operation(*array, comm.rank(), tuning), memory[static_cast<size_t>(comm.rank())].local());
    });
    bool is_needed = false;
    for (int rank = 0; rank < machine.ranks; ++rank) is_needed = is_needed || one.needed_by(rank).contains(*damaged);
    for (const Error& error : errors) {
      EXPECT_EQ(error.kind(), is_needed ? ErrorKind::kFormat : ErrorKind::kNone) << error.what();
      EXPECT_STREQ(error.what(), errors[0].what());
      if (is_needed) EXPECT_NE(std::string(error.what()).find("chunk ("), std::string::npos) << error.what();
    }
    failures += is_needed ? 1 : 0;
  }
  EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace swath
