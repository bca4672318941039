#include "chunks/stored_chunks.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "chunks/chunks.h"

namespace swath {
namespace {

constexpr uint64_t kAbsent = UINT64_MAX;

[[noreturn]] void fail_format(const std::string& what) { throw Error(ErrorKind::kFormat, what); }

// The number of voluntary context switches of this thread: waits for the device during reads.
int64_t sleeps() {
  struct rusage usage = {};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

uint64_t number_at(std::span<const std::byte> bytes, size_t offset) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; ++i) number |= static_cast<uint64_t>(bytes[offset + i]) << (8 * i);
  return number;
}

std::string place_text(const StoredChunk& stored) {
  return " in " + stored.file->path() + " (" + with_commas(stored.bytes) + " bytes stored at offset " +
         with_commas(stored.offset) + ")";
}

}  // namespace

WorkerLimits ChunkOptions::workers(int64_t worker_bytes) const {
  // The time of a modelled disk in a simulation passes for the rank's own thread only.
  if (engine.engine.starts_with("model:") && clock_of_thread().simulated()) return {1, 1};
  return worker_limits(worker_bytes, buffer_bytes_max, ranks_of_node);
}

StoredChunks::StoredChunks(const CodedArray& array, const EngineOptions& options, MakeStream make_stream)
    : array_(array), make_stream_(std::move(make_stream)) {
  if (std::holds_alternative<ChunkTable>(array.places)) {
    only_file_ = std::make_shared<StoredFile>(array.path, options);
  } else {
    folder_.emplace(array.path, options);
  }
}

Stream& StoredChunks::stream_of(Worker& worker) const {
  if (worker.stream == nullptr) worker.stream = make_stream_ ? make_stream_() : std::make_unique<Stream>();
  return *worker.stream;
}

std::unique_ptr<Stream> StoredChunks::second_stream(const WorkerLimits& limits) const {
  return make_stream_ && limits.most > 1 ? make_stream_() : nullptr;
}

std::optional<StoredChunk> StoredChunks::find(int64_t chunk, const std::shared_ptr<const ShardFile>& shard) const {
  StoredChunk found;
  if (const auto* table = std::get_if<ChunkTable>(&array_.places)) {
    const auto entry = static_cast<size_t>(chunk);
    if (table->offsets[entry] < 0) return std::nullopt;
    found = {only_file_, table->offsets[entry], table->bytes[entry], table->skipped[entry]};
  } else if (array_.shards() == nullptr) {
    auto file = folder_->open(array_.file_name(chunk));
    if (file == nullptr) return std::nullopt;
    const int64_t bytes = file->bytes();
    found = {std::move(file), 0, bytes, 0};
  } else {
    if (shard == nullptr) return std::nullopt;
    const auto entry = 2 * static_cast<size_t>(array_.unit_of(chunk).index);
    const uint64_t offset = shard->index[entry];
    const uint64_t bytes = shard->index[entry + 1];
    if (offset == kAbsent && bytes == kAbsent) return std::nullopt;
    const auto limit = static_cast<uint64_t>(shard->file->bytes());
    if (offset > limit || bytes > limit - offset) {
      fail_format(array_.chunk_name(chunk) + ": the index of " + shard->file->path() + " places it at offset " +
                  std::to_string(offset) + " with " + std::to_string(bytes) + " bytes, but the file has " +
                  with_commas(shard->file->bytes()) + ": the file is truncated or damaged");
    }
    found = {shard->file, static_cast<int64_t>(offset), static_cast<int64_t>(bytes), 0};
  }
  const int64_t bytes_max = array_.codecs.stored_bytes_max(array_.chunk_bytes());
  if (found.bytes < 0 || found.bytes > bytes_max) {
    fail_format(array_.chunk_name(chunk) + place_text(found) + ": a chunk of " + with_commas(array_.chunk_bytes()) +
                " bytes cannot take more than " + with_commas(bytes_max) + " when it is stored");
  }
  return found;
}

std::shared_ptr<const ShardFile> StoredChunks::open_shard(int64_t unit, Worker& worker) const {
  if (array_.shards() == nullptr) return nullptr;
  auto shard = std::make_shared<ShardFile>();
  shard->file = folder_->open(array_.file_name(unit));
  if (shard->file == nullptr) return nullptr;
  const StoredFile& file = *shard->file;
  const auto entries = static_cast<size_t>(array_.chunks_of_unit());
  const auto decoded_bytes = static_cast<int64_t>(entries) * kIndexEntryBytes;
  const CodecChain& codecs = array_.shards()->index_codecs;  // checksums, which only add bytes
  const int64_t stored_bytes = codecs.stored_bytes_max(decoded_bytes);
  if (file.bytes() < stored_bytes) {
    fail_format(file.path() + ": has " + with_commas(file.bytes()) + " bytes, but the index of a shard of " +
                array_.path + " takes " + with_commas(stored_bytes) + ": the file is truncated");
  }
  const auto stored = worker.stored.at_least(stored_bytes);
  read(file, array_.shards()->index_at_end ? file.bytes() - stored_bytes : 0, stored, worker);
  const auto decoded =
      worker.decoded.at_least(std::max(decoded_bytes, array_.chunk_bytes())).first(static_cast<size_t>(decoded_bytes));
  try {
    codecs.decode(stored, decoded, 0, worker.codecs);
  } catch (const Error& error) {
    fail_format(file.path() + ": the shard's index: " + error.what());
  }
  shard->index.resize(2 * entries);
  for (size_t i = 0; i < shard->index.size(); ++i) shard->index[i] = number_at(decoded, 8 * i);
  return shard;
}

void fail_memory(const CodedArray& array, int64_t chunk) {
  throw Error(
      ErrorKind::kStore,
      array.chunk_name(chunk) + ": out of memory: decoded it takes " + with_commas(array.chunk_bytes()) + " bytes",
      ENOMEM);
}

void StoredChunks::will_need(const StoredChunk& stored, Worker& worker) const {
  stored.file->engine(stream_of(worker))->will_need(stored.offset, stored.bytes);
}

void StoredChunks::read(const StoredFile& file, int64_t offset, std::span<std::byte> room, Worker& worker) const {
  const Transfer piece{offset, room.data(), static_cast<int64_t>(room.size())};
  const int64_t there = std::clamp(file.bytes() - offset, int64_t{0}, piece.bytes);
  if (there < piece.bytes) {
    fail_format("read " + file.path() + " at " + std::to_string(offset) + ": wanted " + std::to_string(piece.bytes) +
                " bytes, got " + std::to_string(there) + ": the file ends there; it is truncated");
  }
  const auto engine = file.engine(stream_of(worker));
  const Stopwatch watch;
  const int64_t sleeps_before = sleeps();
  const double waited_before = worker.counters.token_seconds;
  engine->transfer(Direction::kRead, {&piece, 1}, worker.counters);
  engine->end_burst();
  const double seconds = watch.seconds() - (worker.counters.token_seconds - waited_before);
  worker.counters.transfer_seconds += seconds;
  if (sleeps() > sleeps_before) worker.slept_seconds += seconds;
}

bool StoredChunks::read_cached(const StoredFile& file, int64_t offset, std::span<std::byte> room,
                               Worker& worker) const {
  const Stopwatch watch;
  const Transfer piece{offset, room.data(), static_cast<int64_t>(room.size())};
  const bool was_there = file.engine(stream_of(worker))->read_cached(piece, worker.counters);
  if (was_there) worker.counters.transfer_seconds += watch.seconds();
  return was_there;
}

void StoredChunks::read_and_decode(int64_t chunk, const StoredChunk& stored, std::span<std::byte> decoded,
                                   Worker& worker, std::optional<ByteRange> wanted) const {
  const bool is_plain = array_.codecs.is_plain(stored.skipped);
  try {
    if (is_plain && stored.bytes != static_cast<int64_t>(decoded.size())) {
      fail_format("is not coded, so that it should take " + std::to_string(decoded.size()) + " bytes");
    }
    // The maximum of a stored chunk, allocated at once: chunks of growing sizes cause no new allocations, and untouched
    // memory costs nothing.
    const auto room = is_plain ? decoded : worker.stored.at_least(array_.codecs.stored_bytes_max(array_.chunk_bytes()));
    const auto bytes = room.first(static_cast<size_t>(stored.bytes));
    read(*stored.file, stored.offset, bytes, worker);
    if (is_plain) return;
    array_.codecs.decode(bytes, decoded, stored.skipped, worker.codecs, wanted);
    ++worker.counters.chunks_decoded;
    worker.counters.decoded_bytes += static_cast<int64_t>(decoded.size());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kFormat) throw;
    fail_format(array_.chunk_name(chunk) + place_text(stored) + ": " + error.what());
  }
}

void fill_with(std::span<std::byte> room, std::span<const std::byte> element) {
  if (room.empty() || element.empty()) return;
  if (std::all_of(element.begin(), element.end(), [&](std::byte b) { return b == element.front(); })) {
    std::memset(room.data(), static_cast<int>(element.front()), room.size());
    return;
  }
  size_t done = std::min(element.size(), room.size());
  std::memcpy(room.data(), element.data(), done);
  for (size_t more = 0; done < room.size(); done += more) {  // copies the filled part to the bytes after it, doubling
                                                             // it
    more = std::min(done, room.size() - done);
    std::memcpy(room.data() + done, room.data(), more);
  }
}

}  // namespace swath
