// An open file, or a folder of chunks, for any number of arrays and threads. It has the engines that move its bytes,
// and the tokens that limit how many streams do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "array/shared_engine.h"
#include "base/gate.h"
#include "base/per_process.h"
#include "store/engine.h"
#include "store/stream.h"
#include "throttle/throttled_engine.h"

namespace swath {

struct FileOptions {
  EngineOptions engine;
  std::shared_ptr<Tokens> tokens;  // of the target that the file lies on; null: nothing takes turns
  ThrottleOptions throttle;        // how many streams it serves at a time
  // Of a store of several servers: who shares the tokens of each of them; empty: nothing takes turns there.
  std::string server_scope;
};

// The order in which operations write into one file, whichever array they are of: one at a time.
//
// A write that has holes reads a window of the file, fills in its own bytes, and writes the window back. Two such
// writes at a time could undo one another. Locks of the file keep out other open files, but not other arrays of this
// one (store/open_file.h); for these there is this order. Reads need no turn: the holes are written back as they were.
struct WriteOrder {
  Gate gate;
  // Held while an operation queues here and at the gate of its array. Both queues then have the same order, which
  // excludes a deadlock.
  PerProcess<std::mutex> taking;
};

class File {
 public:
  // Throws Error{kStore} where the system refuses.
  static std::shared_ptr<File> open(const std::string& path, OpenMode mode, const FileOptions& options = {});
  // Whose files are chunks.
  static std::shared_ptr<File> open_folder(const std::string& path, const FileOptions& options = {});
  // `make`: an engine of the open file `path`.
  File(std::string path, SharedEngine::Make make);

  const std::string& path() const { return path_; }
  // What moves the bytes: "posix", "chunks", …; and why it is another than the one asked for, else empty.
  std::string engine_name();
  const std::string& engine_reason() const { return engine_reason_; }
  // Throws Error{kInternal} for a folder.
  SharedEngine& engine();
  // How files of chunks are opened, and what moves their bytes: threads, each in its own turns.
  const EngineOptions& chunk_engine() const { return chunk_engine_; }
  const MakeStream& chunk_streams() const { return chunk_streams_; }

  int64_t size() { return engine().lease()->size(); }
  // Null for a folder: each of its files is written by one array.
  WriteOrder* write_order() { return engine_ ? &write_order_ : nullptr; }
  // The turn of whoever writes into it otherwise than by an array, as long as it lives. Waits.
  class WriteTurn {
   public:
    explicit WriteTurn(File& file);

   private:
    std::optional<GateReservation> place_;
  };

  // Bytes as they are, of this rank alone. Of what lies beyond the end none are read: how many were.
  int64_t read(int64_t offset, std::span<std::byte> bytes);
  // In its turn. The file grows to hold them.
  void write(int64_t offset, std::span<const std::byte> bytes);

  // When it returns, what this node has written is on the medium; of a folder with one call, however many files.
  void sync();
  // Whether close must check_written(): of each rank that writes, as of every file that may be lost while it is open.
  bool may_lose_writes() const { return may_lose_writes_; }
  // Throws Error{kStore} where the file was removed meanwhile, with what was written: see Engine.
  void check_written();

 private:
  File(std::string path, const FileOptions& options);

  std::string path_;
  std::string engine_reason_;
  bool may_lose_writes_ = false;
  std::optional<SharedEngine> engine_;
  EngineOptions chunk_engine_{.engine = "posix"};
  MakeStream chunk_streams_;
  WriteOrder write_order_;
};

}  // namespace swath
