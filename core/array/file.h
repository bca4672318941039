// An open file, or a folder of chunks, shared by any number of arrays and threads: its engines and the order of writes.
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
  std::shared_ptr<Tokens> tokens;  // of the file's target; null: no throttling
  ThrottleOptions throttle;        // how many streams the target serves at a time
  // For a store of several servers: the processes that share each server's tokens; empty: no throttling there.
  std::string server_scope;
};

// The order of all writes to one file, of all its arrays: one at a time.
//
// A write that fills holes reads a window and writes it back with the bytes of others: it must have read their latest
// values. Locks on the file exclude other open files, but not users of this one (store/open_file.h). Reads of other
// arrays need no turn: the bytes written back for them are unchanged.
struct WriteOrder {
  Gate gate;
  // Held while an operation reserves a place here and at its array's gate. Both orders are then the same, which rules
  // out a deadlock.
  PerProcess<std::mutex> taking;
};

class File {
 public:
  // Throws Error{kStore} for errors of the system.
  static std::shared_ptr<File> open(const std::string& path, OpenMode mode, const FileOptions& options = {});
  // Opens a folder whose files are chunks.
  static std::shared_ptr<File> open_folder(const std::string& path, const FileOptions& options = {});
  // `make`: makes an engine for the open file `path`.
  File(std::string path, SharedEngine::Make make);

  const std::string& path() const { return path_; }
  // The engine's name: "posix", "chunks", …; and why it is not the one that was asked for, else empty.
  std::string engine_name();
  const std::string& engine_reason() const { return engine_reason_; }
  // Throws Error{kInternal} for a folder.
  SharedEngine& engine();
  // How files of chunks are opened, and what makes the streams that move their bytes, each with its own tokens.
  const EngineOptions& chunk_engine() const { return chunk_engine_; }
  const MakeStream& chunk_streams() const { return chunk_streams_; }

  int64_t size() { return engine().lease()->size(); }
  // Null for a folder: each of its files is written by one array only.
  WriteOrder* write_order() { return engine_ ? &write_order_ : nullptr; }
  // The turn of a write that no array makes; it lasts as long as this object. The constructor waits for it.
  class WriteTurn {
   public:
    explicit WriteTurn(File& file);

   private:
    std::optional<GateReservation> place_;
  };

  // Local. Reads raw bytes, and returns how many: none beyond the end of the file.
  int64_t read(int64_t offset, std::span<std::byte> bytes);
  // Local. Waits for its turn. The file grows to hold the bytes.
  void write(int64_t offset, std::span<const std::byte> bytes);

  // When it returns, this node's writes are on the medium. A folder is synced by one call, however many files it has.
  void sync();
  // Close must call check_written() on each rank that writes. True for files that may be lost while they are open.
  bool may_lose_writes() const { return may_lose_writes_; }
  // Throws Error{kStore} if the file was removed while it was open, together with what was written: see Engine.
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
