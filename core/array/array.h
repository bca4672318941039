// An open array. Every read and write of an array, from every language, goes through execute().
//
// An array holds the communicator of the ranks that opened it, the file, the profile for cost estimates, what was
// learned of it, and the plans of the latest operations. Any number of threads may use it: reads run concurrently, a
// write is exclusive, close waits for both (base/gate.h). Writes to different arrays of one file run one at a time
// (array/file.h). Only one thread at a time may make collective calls.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "array/agreed_inputs.h"
#include "array/background_queue.h"
#include "array/chunk_writing.h"
#include "array/execution.h"
#include "array/file.h"
#include "array/learning.h"
#include "array/plan_cache.h"
#include "array/share_cache.h"
#include "array/shared_loops.h"
#include "base/gate.h"
#include "base/per_process.h"
#include "chunks/chunks.h"
#include "chunks/coded_array.h"
#include "comm/agreement.h"
#include "comm/comm.h"
#include "method/run.h"
#include "plan/chunk_plan.h"
#include "plan/operation.h"
#include "store/atomic_file.h"

namespace swath {

// An operation that may go on in the background.
class Future {
 public:
  // Collective if the operation is. Throws what execute() would have thrown. An interrupt ends the wait with its own
  // error; the operation continues.
  Execution wait();
  // Local. If true, wait() returns at once.
  bool is_done() const { return started_->is_done(); }
  // Local. The result is not needed, and the memory is about to be freed. An operation of this rank alone is stopped.
  // Returns when the operation is done, unless it is deferred and shared with other ranks: `keep` of its
  // execute_options then holds its memory. Never throws.
  void cancel() noexcept { background_->cancel(started_); }
  // For a finished operation: when it ran, in seconds of the monotonic clock.
  double began() const { return started_->began(); }
  double ended() const { return started_->ended(); }

 private:
  friend class Array;
  Future(BackgroundQueue& background, std::shared_ptr<BackgroundQueue::Started> started)
      : background_(&background), started_(std::move(started)) {}

  BackgroundQueue* background_;  // of the array, which outlives this
  std::shared_ptr<BackgroundQueue::Started> started_;
};

// Numbers that ranks compare: every rank gets the largest of each.
struct RankNumbers {
  std::array<double, 12> largest{};
  void combine(const RankNumbers& other);
};

class Array {
 public:
  struct Options {
    std::shared_ptr<const ArrayForm> form;
    std::vector<std::byte> fill;               // one element: the value of elements that were never stored
    std::shared_ptr<const CodedArray> chunks;  // null: the chunks are not coded
    std::shared_ptr<Learning> learning;  // shared by all arrays of the file; null: this array has the default profile
    // Shared by the arrays of ranks that are simulated in one process: plans are equal on all ranks. Null: its own.
    std::shared_ptr<PlanCache> plans;
    std::shared_ptr<ChunkAllocator> allocator;  // of coded chunks in one file; null: Swath does not write them
    std::string name;                           // of the file and the variable, for messages
    // The array is being created: all of it is in the page cache, unwritten elements get the fill value, and it will be
    // synced. False for an array that grows by records: its elements are not contiguous.
    bool is_new = false;
    // For a new array that is alone in its file: close() gives the file its name. Null: the caller does that.
    std::shared_ptr<AtomicFile> new_file;
  };

  struct Stored {
    std::shared_ptr<const ArrayForm> form;
    std::shared_ptr<const CodedArray> chunks;  // null: not coded
  };

  // Options of one execution.
  struct ExecuteOptions {
    Progress* progress = nullptr;  // watched from another thread
    // Moves this rank's elements by the format's own library, if neither a plan nor Swath's chunks can. Ranks read
    // concurrently, and write one after another.
    std::function<void()> library;
    // Collective. A write calls it first if chunks are not allocated yet, or if the file contains less than the array's
    // shape. Returns how the array is stored from then on.
    std::function<Stored()> relocate;
    // The operation holds this until it is done; for operations in the background.
    std::shared_ptr<void> keep;
    int loop = SharedLoops::kNone;  // the loop that this operation is a step of
    bool is_waited_for = false;     // the caller waits for it at once; reads only
  };

  Array(std::shared_ptr<Comm> comm, std::shared_ptr<File> file, const Options& options);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  Comm& comm() const { return *comm_; }
  std::shared_ptr<const ArrayForm> form() const;
  Learning& learning() { return *learning_; }
  // Where the coded chunks are stored now; null: the chunks are not coded.
  std::shared_ptr<const CodedArray> chunks() const { return stored()->chunks; }

  // Moves this rank's share between the file and `memory`. Collective, except for an operation of one rank alone
  // (Decomposition::alone, share_of). If it throws, every rank throws the same error. Bytes outside the operation are
  // never changed.
  //
  // Ranks agree by one reduction. A short read of cached bytes without an exchange is speculative: it is done before
  // the reduction, by the inputs that all ranks agreed on last. If the reduction confirms these inputs on all ranks, it
  // is done.
  Execution execute(const Operation& operation, const LocalMemory& memory, const ExecuteOptions& execute_options);
  Execution execute(const Operation& operation, const LocalMemory& memory);

  // Starts an operation in the background. Any number may be started: one thread carries them out one after another, in
  // the order of their calls; collective ones use a communicator of their own. A write waits for the operations called
  // before it; later operations, and writes to other arrays of the file, wait for the write. Where MPI allows no second
  // thread, reads are deferred until one of them is waited for or the array is used otherwise. The memory must stay
  // valid until then. The profile does not learn from them.
  //
  // Operations that may not run in the background (may_run_in_background) are carried out at once. These are operations
  // that need the format's library or code of the program, and writes where MPI allows no second thread: writes to
  // several arrays have one order, and a deferred write would block all others.
  Future start(const Operation& operation, const LocalMemory& memory, const ExecuteOptions& execute_options);
  bool may_run_in_background(Direction direction) const;
  // Collective, while other ranks start an operation in the background: this rank reports an error instead. The future
  // throws it on all ranks.
  Future start_refused(const Operation* operation, const Error& error, int loop = SharedLoops::kNone);

  // Operations that ranks share can continue while this rank does something else.
  bool ranks_allow_background() const { return comm_->size() == 1 || comm_->may_be_called_in_background(); }
  // Collective. Begins a loop that all ranks go through together. Operations started with its number are its steps.
  int begin_loop();
  // Local. This rank leaves a loop: steps that it has started are carried out; ranks that start a further step get
  // `text` as an Error{kLeft}. Returns at once; where MPI allows no second thread, when the others have left too or
  // reach their next step.
  void leave_loop(int loop, const std::string& text);
  // Collective, in the order of the started operations: a reduction of numbers, which are valid when the future is
  // done.
  Future start_comparing(int loop, const std::string& doing, std::shared_ptr<RankNumbers> numbers, bool is_waited_for);
  // Collective if the started operations are. Returns when all of them are done.
  void finish_started() { background_.finish(); }
  // True if an operation is in progress.
  bool is_under_way() { return background_.is_under_way(); }
  // Returns when no operation is in progress; none can be started from then on. The destructor calls it, too.
  void end_background() { background_.end(); }

  // Collective, while other ranks execute: this rank reports an error instead. `operation`: null if there is none.
  // Throws the error on all ranks, always.
  [[noreturn]] void refuse(const Operation* operation, const Error& error);

  // Local. How the operation would be carried out now. `cached`: the part of it that is assumed to be in the page
  // cache. The boxes of all ranks must be known.
  std::shared_ptr<const Plan> explain(const Operation& operation, std::optional<double> cached);
  // The same for coded chunks, from the sizes of the stored chunks if the array is open. `coding`: the measured cost of
  // their codecs.
  std::shared_ptr<const ChunkPlan> explain_chunks(const Operation& operation, std::optional<double> cached,
                                                  std::optional<CodecCost> coding = std::nullopt);
  // Collective. Returns the operation with the boxes of all ranks. `also`: other text that ranks compare.
  Operation with_all_shares(const Operation& operation, const std::string& also);

  // Collective. When it returns, the writes of all ranks are on the medium. Later writes start towards the device at
  // once, for another sync is expected.
  void sync();
  // Collective. Waits until no operation uses the array; later operations are refused. A new file is then complete,
  // under its name. Throws if it cannot be completed: the new file is removed, and the old one stays. Does nothing if
  // the array is closed already.
  void close();
  // The steps of close(). stop() waits until no operation uses the array; false: it was closed already.
  bool stop();
  // Collective. Gives the unwritten elements of a new array their fill value.
  void fill_unwritten();
  void release_file();

  // Local, called on every rank. Sets a new layout and file: the array has grown, or a change of its file has moved it.
  // Waits for running operations. Allowed after stop(), since the array may still have to be filled.
  void relocate(Stored stored, std::shared_ptr<File> file);
  // Local. The file was synced as a whole and will be again: see sync().
  void expect_sync() { will_sync_ = true; }
  bool is_closed() const { return gate_.is_closed(); }

  // True if Swath's coded chunks move the elements; false if the format's library or a plan does.
  bool goes_by_chunks(Direction direction) const;
  int64_t plans_made() const { return plans_->plans_made(); }
  bool has_plans() const { return form()->layout() != nullptr; }

 private:
  struct Call;
  struct SpeculativeRead;
  struct Beginning;
  class Turn;
  class Passage;

  std::shared_ptr<const Stored> stored() const;
  std::shared_ptr<File> file() const;
  void finish();
  Future start_among_ranks(const BackgroundQueue::Job& job, bool is_waited_for);
  void store_as(Stored stored);
  bool is_of_ranks(const Operation& operation) const;
  Comm& background_comm();
  // Uses the array's current layout: chunks may have been allocated since the operation was made.
  Execution rebase_and_execute(const Call& call);
  // Executes the call, and adds it to the trace of the process, if there is one.
  Execution execute_traced(const Call& call);
  // Executes the call by a plan, by coded chunks, or by the format's library.
  Execution dispatch(const Call& call);
  Execution plan_and_run(const Call& call);
  Execution execute_chunks(const Call& call);
  Counters write_chunks_of(const ChunkWriting& writing, const CodedArray& chunks);
  Execution read_chunks_together(const Call& call, const CodedArray& chunks, const ChunkOptions& options);
  ChunkOptions chunk_options(const Operation& operation) const;
  Execution execute_library(const Call& call);

  Beginning begin(const Call& call);
  RankInputs own_inputs(const Call& call, const Engine& engine);
  std::optional<AgreedInputs> expected_inputs(const Call& call, const RankInputs& own);
  std::optional<SpeculativeRead> read_before_agreement(const Call& call, const RankInputs& own, Engine& engine);
  RankInputs agree(const Call& call, const std::optional<Error>& failure, const RankInputs& own);
  Operation with_shares_of_all(const Call& call, uint64_t shares);
  PlanInputs plan_inputs(const Call& call, const AgreedInputs& agreed_inputs, uint64_t shares) const;
  Operation prepare_to_write(const Call& call, const Operation& operation, const PlanInputs& inputs);
  Execution finish_operation(const Call& call, const CachedPlan& planned, const Counters& counters,
                             bool was_read_before_agreement);
  void fill_absent_chunks(const Call& call) const;
  void measured(const Call& call, const CachedPlan& planned, const Counters& counters);
  static RankInputs own_share_inputs(const Call& call);
  void fill(Comm& comm);
  void fill_own_part();
  void sync_file();
  int64_t cached_steps(const FileRange& range, const Engine& engine) const;
  std::optional<AgreedInputs> agreed_last() const;
  Question question(const std::string& doing) const;

  const std::shared_ptr<Comm> comm_;
  const std::unique_ptr<Comm> alone_;
  const std::string name_;
  const std::vector<std::byte> fill_;
  const std::shared_ptr<ChunkAllocator> allocator_;
  const std::shared_ptr<AtomicFile> new_file_;
  const bool is_new_;
  const int most_on_a_node_;
  const bool is_first_of_node_;
  Capabilities capabilities_;

  Gate gate_;
  const std::shared_ptr<Learning> learning_;
  const std::shared_ptr<PlanCache> plans_;
  ShareCache share_cache_;
  std::unique_ptr<Comm> background_comm_;  // made when ranks first start an operation in the background
  SharedLoops loops_;
  BackgroundQueue background_;
  PerProcess<std::mutex> starting_;

  std::atomic<bool> will_sync_;
  std::atomic<bool> is_unfilled_;
  mutable PerProcess<std::mutex> mutex_;  // guards the members below; a forked child has its own
  std::shared_ptr<const Stored> stored_;
  std::shared_ptr<File> file_;
  std::optional<AgreedInputs> agreed_last_;  // of the last operation of all ranks
};

}  // namespace swath
