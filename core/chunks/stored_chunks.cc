#include "chunks/stored_chunks.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "store/open_file.h"

namespace swath {
namespace {

constexpr uint64_t kAbsent = UINT64_MAX;
constexpr size_t kEntryBytes = 16;

[[noreturn]] void fail_store(const std::string& what, int error, const std::string& advice = "") {
  throw Error(ErrorKind::kStore, what + ": " + system_message(error) + advice, error);
}

[[noreturn]] void fail_format(const std::string& what) { throw Error(ErrorKind::kFormat, what); }

// -1 where there is no such file.
int open_below(int folder, const std::string& name, const std::string& path) {
  const int descriptor = open_existing(folder, name, O_RDONLY | O_CLOEXEC, Openable::kRegularFiles);
  if (descriptor >= 0) return descriptor;
  if (descriptor == -ENOENT) return -1;
  fail_store("open " + path + " for reading", -descriptor, expected_instead(-descriptor, Openable::kRegularFiles));
}

int64_t length_of(const StoredFile& file) {
  struct stat status = {};
  if (::fstat(file.descriptor.get(), &status) != 0) fail_store("size of " + file.path, errno);
  return status.st_size;
}

// How often this thread has gone to sleep of its own accord: for the device, in a read.
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
  return " in " + stored.file->path + " (" + with_commas(stored.bytes) + " bytes stored at offset " +
         with_commas(stored.offset) + ")";
}

}  // namespace

StoredChunks::StoredChunks(const CodedArray& array) : array_(array) {
  if (!std::holds_alternative<ChunkTable>(array.places)) {
    folder_ = Descriptor(::open(array.path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (!folder_.is_open()) fail_store("open " + array.path + " for reading", errno);
    return;
  }
  auto file = std::make_shared<StoredFile>();
  file->descriptor = Descriptor(open_below(AT_FDCWD, array.path, array.path));
  if (!file->descriptor.is_open()) fail_store("open " + array.path + " for reading", ENOENT);
  file->path = array.path;
  file->bytes = length_of(*file);
  only_file_ = std::move(file);
}

std::shared_ptr<StoredFile> StoredChunks::open_unit(int64_t unit) const {
  const std::string name = array_.file_name(unit);
  auto file = std::make_shared<StoredFile>();
  file->path = array_.path + "/" + name;
  file->descriptor = Descriptor(open_below(folder_.get(), name, file->path));
  if (!file->descriptor.is_open()) return nullptr;
  file->bytes = length_of(*file);
  return file;
}

std::optional<StoredChunk> StoredChunks::find(int64_t chunk, const std::shared_ptr<const ShardFile>& shard) const {
  StoredChunk found;
  if (const auto* table = std::get_if<ChunkTable>(&array_.places)) {
    const auto entry = static_cast<size_t>(chunk);
    if (table->offsets[entry] < 0) return std::nullopt;
    found = {only_file_, table->offsets[entry], table->bytes[entry], table->skipped[entry]};
  } else if (array_.shards() == nullptr) {
    auto file = open_unit(chunk);
    if (file == nullptr) return std::nullopt;
    const int64_t bytes = file->bytes;
    found = {std::move(file), 0, bytes, 0};
  } else {
    if (shard == nullptr) return std::nullopt;
    const auto entry = 2 * static_cast<size_t>(array_.unit_of(chunk).index);
    const uint64_t offset = shard->index[entry];
    const uint64_t bytes = shard->index[entry + 1];
    if (offset == kAbsent && bytes == kAbsent) return std::nullopt;
    const auto limit = static_cast<uint64_t>(shard->file.bytes);
    if (offset > limit || bytes > limit - offset) {
      fail_format(array_.chunk_name(chunk) + ": the index of " + shard->file.path + " places it at offset " +
                  std::to_string(offset) + " with " + std::to_string(bytes) + " bytes, but the file has " +
                  with_commas(shard->file.bytes) + ": the file is truncated or damaged");
    }
    found = {std::shared_ptr<const StoredFile>(shard, &shard->file), static_cast<int64_t>(offset),
             static_cast<int64_t>(bytes), 0};
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
  const auto opened = open_unit(unit);
  if (opened == nullptr) return nullptr;
  auto shard = std::make_shared<ShardFile>();
  shard->file = std::move(*opened);
  const auto entries = static_cast<size_t>(array_.chunks_of_unit());
  const auto decoded_bytes = static_cast<int64_t>(entries * kEntryBytes);
  const CodecChain& codecs = array_.shards()->index_codecs;  // checksums, which only add to the length
  const int64_t stored_bytes = codecs.stored_bytes_max(decoded_bytes);
  if (shard->file.bytes < stored_bytes) {
    fail_format(shard->file.path + ": has " + with_commas(shard->file.bytes) + " bytes, but the index of a shard of " +
                array_.path + " takes " + with_commas(stored_bytes) + ": the file is truncated");
  }
  const auto stored = worker.stored.at_least(stored_bytes);
  read_stored(shard->file, array_.shards()->index_at_end ? shard->file.bytes - stored_bytes : 0, stored, worker);
  const auto decoded =
      worker.decoded.at_least(std::max(decoded_bytes, array_.chunk_bytes())).first(static_cast<size_t>(decoded_bytes));
  try {
    codecs.decode(stored, decoded, 0, worker.codecs);
  } catch (const Error& error) {
    fail_format(shard->file.path + ": the shard's index: " + error.what());
  }
  shard->index.resize(2 * entries);
  for (size_t i = 0; i < shard->index.size(); ++i) shard->index[i] = number_at(decoded, 8 * i);
  return shard;
}

void will_need(const StoredChunk& stored) {
  static_cast<void>(::posix_fadvise(stored.file->descriptor.get(), stored.offset, stored.bytes, POSIX_FADV_WILLNEED));
}

void fail_memory(const CodedArray& array, int64_t chunk) {
  throw Error(
      ErrorKind::kStore,
      array.chunk_name(chunk) + ": out of memory: decoded it takes " + with_commas(array.chunk_bytes()) + " bytes",
      ENOMEM);
}

void read_stored(const StoredFile& file, int64_t offset, std::span<std::byte> room, Worker& worker) {
  const Stopwatch watch;
  const int64_t sleeps_before = sleeps();
  size_t done = 0;
  while (done < room.size()) {
    check_interrupt();
    const size_t left = room.size() - done;
    const size_t part = std::min(left, static_cast<size_t>(kCallBytesMax));
    const ssize_t got = ::pread(file.descriptor.get(), room.data() + done, part, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) {
      check_interrupt_now();
      continue;
    }
    if (got <= 0) {
      const int error = errno;
      const std::string wanted = "read " + file.path + " at " + std::to_string(offset) + ": wanted " +
                                 std::to_string(room.size()) + " bytes, got " + std::to_string(done);
      if (got < 0) fail_store(wanted, error);
      fail_format(wanted + ": the file ends there; it is truncated");
    }
    done += static_cast<size_t>(got);
    // Parts are one request, as elsewhere (engine/request.h).
    worker.counters.read_requests += part == left || static_cast<size_t>(got) < part;
  }
  const double seconds = watch.seconds();
  worker.counters.read_bytes += static_cast<int64_t>(done);
  worker.counters.transfer_seconds += seconds;
  if (sleeps() > sleeps_before) worker.slept_seconds += seconds;
}

bool read_cached(const StoredFile& file, int64_t offset, std::span<std::byte> room, Worker& worker) {
  const Stopwatch watch;
  const struct iovec whole = {room.data(), room.size()};
  const ssize_t got = ::preadv2(file.descriptor.get(), &whole, 1, offset, RWF_NOWAIT);
  if (got < 0 || static_cast<size_t>(got) < room.size()) return false;
  ++worker.counters.read_requests;
  worker.counters.read_bytes += got;
  worker.counters.transfer_seconds += watch.seconds();
  return true;
}

void read_and_decode(const CodedArray& array, int64_t chunk, const StoredChunk& stored, std::span<std::byte> decoded,
                     Worker& worker, std::optional<ByteRange> wanted) {
  const bool is_plain = array.codecs.is_plain(stored.skipped);
  try {
    if (is_plain && stored.bytes != static_cast<int64_t>(decoded.size())) {
      fail_format("is not coded, so that it should take " + std::to_string(decoded.size()) + " bytes");
    }
    // All that a stored chunk may take at once: chunks of growing sizes do not allocate again and again, and what is
    // not touched costs nothing.
    const auto room = is_plain ? decoded : worker.stored.at_least(array.codecs.stored_bytes_max(array.chunk_bytes()));
    const auto bytes = room.first(static_cast<size_t>(stored.bytes));
    read_stored(*stored.file, stored.offset, bytes, worker);
    if (!is_plain) array.codecs.decode(bytes, decoded, stored.skipped, worker.codecs, wanted);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kFormat) throw;
    fail_format(array.chunk_name(chunk) + place_text(stored) + ": " + error.what());
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
  for (size_t more = 0; done < room.size(); done += more) {  // what is filled is copied behind itself
    more = std::min(done, room.size() - done);
    std::memcpy(room.data() + done, room.data(), more);
  }
}

}  // namespace swath
