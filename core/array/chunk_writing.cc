#include "array/chunk_writing.h"

#include <algorithm>
#include <compare>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "array/collectively.h"
#include "base/stopwatch.h"
#include "chunks/touched.h"
#include "comm/gather.h"
#include "layout/copy.h"
#include "plan/chunk_sharing.h"

namespace swath {
namespace {

// Logical OR over all ranks.
struct AnyRank {
  int64_t any;
  void combine(const AnyRank& other) { any |= other.any; }
};

// This rank's number among the ranks of the operation.
int own_number(const ChunkWriting& writing) {
  return std::min(writing.comm.rank(), writing.operation.decomposition().ranks() - 1);
}

bool is_on_any_rank(const ChunkWriting& writing, const std::string& step, bool mine) {
  return agree_on(writing.comm, step_of(writing.operation, step), std::nullopt, AnyRank{mine ? 1 : 0}).any != 0;
}

// A chunk whose elements several ranks hold; this rank is one of them.
struct SharedChunk {
  int64_t chunk;
  std::vector<int> ranks;
  int writer;
};

// The end of the shared chunks that are processed together; the minimum over all ranks.
struct WindowEnd {
  int64_t chunk;
  void combine(const WindowEnd& other) { chunk = std::min(chunk, other.chunk); }
};
// The end of an error message if nothing was changed, by the format's library either.
constexpr const char* kAsBefore = "is as it was before";
constexpr int64_t kAllChunks = std::numeric_limits<int64_t>::max();

// What ranks send each other about an encoded chunk.
struct ChunkSize {
  int64_t chunk;
  int64_t bytes;
  int64_t skipped;
  friend auto operator<=>(const ChunkSize&, const ChunkSize&) = default;
};

// Packed elements sent to a rank or received from one.
struct Packet {
  std::vector<std::byte> bytes;
  int64_t taken = 0;
};
using Packets = std::map<int, Packet>;

int64_t bytes_of(const Packets& packets) {
  int64_t bytes = 0;
  for (const auto& [rank, packet] : packets) bytes += std::ssize(packet.bytes);
  return bytes;
}

// Shared chunks that are processed together: what this rank sends and receives, and the chunks that it writes.
struct Window {
  Packets sent;
  Packets received;
  std::vector<SendMessage> sends;
  std::vector<ReceiveMessage> receives;
  std::vector<int64_t> own;
  std::vector<std::vector<ChunkPiece>> pieces;  // of each of those: in the caller's memory and in `received`

  int64_t bytes() const { return bytes_of(sent) + bytes_of(received); }
};

class TableWriting {
 public:
  TableWriting(const ChunkWriting& writing, const CodedArray& array, SharedEngine& engine, ChunkAllocator& allocator)
      : writing_(writing),
        comm_(writing.comm),
        engine_(engine.lease()),
        allocator_(allocator),
        array_(std::make_shared<CodedArray>(array)),
        units_(touched_units(array, writing.operation.decomposition(), own_number(writing))),
        touched_(array, writing.memory.parts),
        shares_(array, writing.operation.decomposition()) {
    engine_->set_write_behind(writing.will_sync);
  }

  // Collective.
  WrittenTable write() {
    const Stopwatch watch;
    try {
      write_own(units_.own);
      write_shared(units_.shared);
      if (was_placed_) on_first_rank(": kept", [&] { allocator_.keep(); });
    } catch (const Error& error) {
      if (!was_placed_) throw;
      throw taken_back(error);
    }
    counters_.total_seconds = watch.seconds();
    return {array_, counters_};
  }

 private:
  Question step(const std::string& words) const { return step_of(writing_.operation, words); }

  template <typename Work>
  void on_first_rank(const std::string& words, const Work& work) {
    run_collectively(comm_, step(words), [&] {
      if (comm_.rank() == 0) work();
    });
  }

  // Collective: the error is the same on all ranks. Returns the error to throw, after the library has restored its
  // file.
  Error taken_back(const Error& error) {
    std::string text = error.what();
    try {
      on_first_rank(": taken back", [&] { allocator_.undo(); });
      if (!text.ends_with(kAsBefore)) text += std::string("; the file ") + kAsBefore;
    } catch (const Error& second) {
      text += "; and what was placed could not be taken back: " + std::string(second.what());
    }
    return {error.kind(), text, error.os_error()};
  }

  // ---- chunks of one rank

  void write_own(std::span<const int64_t> chunks) {
    const auto at_once = static_cast<size_t>(encoded_at_once(*array_, writing_.options));
    while (is_on_any_rank(writing_, ": chunks of one rank", !chunks.empty())) {
      const auto round = chunks.first(std::min(at_once, chunks.size()));
      chunks = chunks.subspan(round.size());
      write_round(round, [&](size_t index) { return own_pieces(round[index]); }, 0);
    }
  }

  std::vector<ChunkPiece> own_pieces(int64_t chunk) const {
    const auto& all = touched_.chunks();
    const auto found = std::partition_point(all.begin(), all.end(), [&](const auto& c) { return c.chunk < chunk; });
    return pieces_of(*array_, chunk, writing_.memory.parts, writing_.memory.addresses, touched_.parts(*found));
  }

  // ---- chunks that several ranks share

  void write_shared(std::span<const int64_t> chunks) {
    if (!is_on_any_rank(writing_, ": shared chunks", !chunks.empty())) return;
    for (int64_t end = 0; end != kAllChunks;) {
      WindowEnd mine{kAllChunks};
      const auto failure = failure_of([&] { mine.chunk = window_end(chunks); });
      end = agree_on(comm_, failure ? Question{} : step(": window of shared chunks"), failure, mine).chunk;
      const auto behind = std::ranges::lower_bound(chunks, end);
      write_window({chunks.begin(), behind});
      chunks = {behind, chunks.end()};
    }
  }

  SharedChunk shared_chunk(int64_t chunk) {
    SharedChunk shared{chunk, shares_.ranks_of(chunk), 0};
    shared.writer = writer_of(chunk, shared.ranks);
    return shared;
  }

  // The first chunk for which this rank's memory does not suffice; at least one chunk is processed.
  int64_t window_end(std::span<const int64_t> chunks) {
    const int64_t encoded_bytes = array_->codecs.stored_bytes_max(array_->chunk_bytes());
    int64_t room = encoded_at_once(*array_, writing_.options) * encoded_bytes;
    for (size_t i = 0; i < chunks.size(); ++i) {
      const SharedChunk shared = shared_chunk(chunks[i]);
      const int64_t own_bytes = shares_.bytes(shared.chunk, own_number(writing_));
      const bool writes = shared.writer == own_number(writing_);
      room -= writes ? array_->chunk_bytes() + encoded_bytes : own_bytes;
      if (room < 0) return i == 0 ? chunks[i] + 1 : chunks[i];
    }
    return kAllChunks;
  }

  // Memory is allocated before an agreement, so that no rank waits for one that has run out of memory.
  void write_window(std::span<const int64_t> chunks) {
    const Stopwatch watch;
    Window window;
    run_collectively(comm_, step(": elements of shared chunks"), [&] { window = packed_window(chunks); });
    comm_.exchange(window.sends, window.receives);
    counters_.exchange_seconds += watch.seconds();
    write_round(window.own, [&](size_t index) { return window.pieces[index]; }, window.bytes());
  }

  Window packed_window(std::span<const int64_t> chunks) {
    std::vector<SharedChunk> shared;
    for (const int64_t chunk : chunks) shared.push_back(shared_chunk(chunk));
    Window window;
    pack(shared, window.sent, window.received);
    for (const SharedChunk& one : shared) {
      if (one.writer != comm_.rank()) continue;
      window.own.push_back(one.chunk);
      window.pieces.push_back(pieces_of_all(one, window.received));
    }
    name_messages(window);
    return window;
  }

  // The elements that go to each writer, chunk by chunk, and room for those that come to this one.
  void pack(const std::vector<SharedChunk>& window, Packets& sent, Packets& received) {
    for (const SharedChunk& shared : window) {
      if (shared.writer != comm_.rank()) {
        for (const ChunkPiece& piece : own_pieces(shared.chunk)) append(piece, sent[shared.writer].bytes);
        continue;
      }
      for (const int rank : shared.ranks) {
        if (rank == comm_.rank()) continue;
        std::vector<std::byte>& bytes = received[rank].bytes;
        bytes.resize(bytes.size() + static_cast<size_t>(shares_.bytes(shared.chunk, rank)));
      }
    }
  }

  static void append(const ChunkPiece& piece, std::vector<std::byte>& packed) {
    const size_t begin = packed.size();
    packed.resize(begin + static_cast<size_t>(piece.regions.bytes()));
    scatter_to_window(piece.regions.packed_in_file(), 0, piece.regions.count(), {packed.data() + begin, 0},
                      piece.memory);
  }

  void name_messages(Window& window) {
    for (const auto& [rank, packet] : window.sent) {
      window.sends.push_back({rank, packet.bytes});
      counters_.exchanged_bytes += std::ssize(packet.bytes);
      if (writing_.options.bytes_done != nullptr) *writing_.options.bytes_done += std::ssize(packet.bytes);
    }
    for (auto& [rank, packet] : window.received) window.receives.push_back({rank, packet.bytes});
  }

  // The pieces of a chunk from all ranks, in the order of packing; the bytes of other ranks arrive later.
  std::vector<ChunkPiece> pieces_of_all(const SharedChunk& shared, Packets& received) {
    std::vector<ChunkPiece> pieces = own_pieces(shared.chunk);
    const Panel panel = array_->chunk(shared.chunk);
    for (const int rank : shared.ranks) {
      if (rank == comm_.rank()) continue;
      Packet& packet = received[rank];
      for (const Part& part : shares_.parts(rank)) {
        const Regions regions = part.holds ? regions_in(panel, part, array_->element_bytes) : Regions();
        if (regions.count() == 0) continue;
        pieces.push_back({regions.packed(0), packet.bytes.data() + packet.taken});
        packet.taken += regions.bytes();
      }
    }
    return pieces;
  }

  // ---- a round

  // Collective. `kept_bytes`: memory that the operation has allocated for the pieces.
  void write_round(std::span<const int64_t> chunks, const PiecesOfChunk& pieces, int64_t kept_bytes) {
    EncodedChunks encoded;
    std::vector<ChunkSize> own;
    run_collectively(comm_, step(": chunks encoded"), [&] {
      encoded = encode_chunks(*array_, chunks, pieces, writing_.options);
      for (const EncodedChunk& chunk : encoded.chunks) {
        own.push_back({chunk.chunk, std::ssize(chunk.bytes), chunk.skipped});
      }
    });
    encoded.counters.buffer_bytes += kept_bytes;
    counters_ += encoded.counters;
    std::vector<ChunkSize> sizes;
    std::vector<int64_t> offsets;
    const std::vector<Bytes> gathered = gather_bytes(comm_, std::as_bytes(std::span(own)));
    run_collectively(comm_, step(": sizes of chunks"), [&] {
      sizes = sizes_in(gathered);
      offsets.resize(sizes.size());
    });
    if (sizes.empty()) return;
    was_placed_ = true;
    on_first_rank(": places of chunks", [&] { place(sizes, offsets); });
    comm_.broadcast(std::as_writable_bytes(std::span(offsets)), 0);
    run_collectively(comm_, step(": chunks written"), [&] { write_at(offsets, sizes, encoded.chunks); });
    auto& table = std::get<ChunkTable>(array_->places);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto entry = static_cast<size_t>(sizes[i].chunk);
      table.offsets[entry] = offsets[i];
      table.bytes[entry] = sizes[i].bytes;
      table.skipped[entry] = static_cast<uint32_t>(sizes[i].skipped);
    }
  }

  // The sizes of all ranks in chunk order, so that neighbours in the array become neighbours in the file.
  static std::vector<ChunkSize> sizes_in(const std::vector<Bytes>& gathered) {
    std::vector<ChunkSize> all;
    for (const Bytes& of_rank : gathered) {
      const size_t begin = all.size();
      all.resize(begin + of_rank.size() / sizeof(ChunkSize));
      if (!of_rank.empty()) std::memcpy(all.data() + begin, of_rank.data(), of_rank.size());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  void place(const std::vector<ChunkSize>& sizes, std::span<int64_t> given) {
    const auto& table = std::get<ChunkTable>(array_->places);
    std::vector<NewChunk> chunks;
    for (const ChunkSize& size : sizes) {
      const auto entry = static_cast<size_t>(size.chunk);
      const auto skipped = static_cast<uint32_t>(size.skipped);
      const bool is_as_long = table.offsets[entry] >= 0 && table.bytes[entry] == size.bytes;
      chunks.push_back({coordinates_of(array_->shape, array_->chunk_shape, size.chunk), size.bytes, skipped,
                        is_as_long && table.skipped[entry] != skipped});
    }
    const std::vector<int64_t> offsets = allocator_.place(array_->shape, chunks);
    if (offsets.size() != sizes.size() || std::ranges::any_of(offsets, [](int64_t offset) { return offset < 0; })) {
      throw Error(ErrorKind::kInternal, array_->path + ": " + std::to_string(sizes.size()) + " chunks got " +
                                            std::to_string(offsets.size()) + " places, or some before the file");
    }
    std::ranges::copy(offsets, given.begin());
  }

  void write_at(std::span<const int64_t> offsets, const std::vector<ChunkSize>& sizes,
                std::vector<EncodedChunk>& chunks) {
    std::vector<Transfer> batch;
    for (EncodedChunk& chunk : chunks) {
      const auto found = std::ranges::lower_bound(sizes, chunk.chunk, {}, &ChunkSize::chunk);
      batch.push_back(
          {offsets[static_cast<size_t>(found - sizes.begin())], chunk.bytes.data(), std::ssize(chunk.bytes)});
    }
    std::ranges::sort(batch, {}, &Transfer::offset);
    const Stopwatch watch;
    engine_->transfer(Direction::kWrite, batch, counters_);
    engine_->end_burst();
    counters_.transfer_seconds += watch.seconds();
  }

  const ChunkWriting& writing_;
  Comm& comm_;
  const SharedEngine::Lease engine_;
  ChunkAllocator& allocator_;
  const std::shared_ptr<CodedArray> array_;  // as it is now
  const TouchedUnits units_;
  const TouchedChunks touched_;
  UnitShares shares_;
  Counters counters_;
  bool was_placed_ = false;  // chunks were placed, on any rank
};

}  // namespace

Counters write_chunk_files(const ChunkWriting& writing, const CodedArray& array) {
  Counters counters;
  const auto write = [&](const std::string& words, std::span<const int64_t> units) {
    run_collectively(writing.comm, step_of(writing.operation, words),
                     [&] { counters += write_chunks(array, writing.memory, units, writing.options); });
  };
  TouchedUnits units;
  run_collectively(writing.comm, step_of(writing.operation, ": units"),
                   [&] { units = touched_units(array, writing.operation.decomposition(), own_number(writing)); });
  write(": chunks of one rank", units.own);
  if (!is_on_any_rank(writing, ": shared chunks", !units.shared.empty())) return counters;
  for (int round = 0; round < writing.comm.size(); ++round) {
    // The ranks that share a chunk write it in different rounds.
    std::vector<int64_t> turn;
    std::ranges::copy_if(units.shared, std::back_inserter(turn), [&](int64_t unit) {
      return writing_turn(unit, writing.comm.rank(), writing.comm.size()) == round;
    });
    write(": shared chunks, round " + std::to_string(round), turn);
  }
  return counters;
}

WrittenTable write_chunk_table(const ChunkWriting& writing, const CodedArray& array, SharedEngine& engine,
                               ChunkAllocator& allocator) {
  std::optional<TableWriting> table;
  run_collectively(writing.comm, step_of(writing.operation, ": units"),
                   [&] { table.emplace(writing, array, engine, allocator); });
  return table->write();
}

}  // namespace swath
