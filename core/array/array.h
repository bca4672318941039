// An open array: whoever reads or writes one, from whichever language, comes through execute().
//
// It has the ranks that opened it together, the file, the profile that prices are made from and what is learned of it,
// and the plans of the latest operations. Any number of threads may use it: reads share it, a write has it alone, close
// waits for both (base/gate.h). Of all arrays of one file one writes at a time (array/file.h). Collective calls are of
// one thread at a time.
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
  // Collective where the operation is. Throws what execute() would have thrown. Told to stop meanwhile, it throws that,
  // and the operation goes on.
  Execution wait();
  // Local. Whether wait() returns at once.
  bool is_done() const { return started_->is_done(); }
  // Local. What comes of it is not wanted, and its memory goes away: of one rank alone it stops. Returns when it is
  // done, but for one that is deferred and shared with other ranks (`keep` of its execute_options). Never throws.
  void cancel() noexcept { background_->cancel(started_); }
  // Of one that is done: when it was carried out, in seconds of the monotonic clock.
  double began() const { return started_->began(); }
  double ended() const { return started_->ended(); }

 private:
  friend class Array;
  Future(BackgroundQueue& background, std::shared_ptr<BackgroundQueue::Started> started)
      : background_(&background), started_(std::move(started)) {}

  BackgroundQueue* background_;  // of the array, which outlives this
  std::shared_ptr<BackgroundQueue::Started> started_;
};

// What ranks compare: of each number they get the largest.
struct RankNumbers {
  std::array<double, 12> largest{};
  void combine(const RankNumbers& other);
};

class Array {
 public:
  struct Options {
    std::shared_ptr<const ArrayForm> form;
    std::vector<std::byte> fill;                // one element: what those read as that were never stored
    std::shared_ptr<const CodedArray> chunks;   // where they are coded; else null
    std::shared_ptr<Learning> learning;         // of all arrays of the file; null: the stated defaults, for this one
    std::shared_ptr<ChunkAllocator> allocator;  // of coded chunks in one file; null: they are not written by Swath
    std::string name;                           // of the file and the variable, for messages
    // It is being made: all of it is in the page cache, elements that are never written are filled, and it will be
    // synced. Not for one that grows by records: its elements do not lie together.
    bool is_new = false;
    // Of an array that is new and alone in its file: close() gives the file its name. Null: somebody else does.
    std::shared_ptr<AtomicFile> new_file;
  };

  struct Stored {
    std::shared_ptr<const ArrayForm> form;
    std::shared_ptr<const CodedArray> chunks;  // null: not coded
  };

  // What goes along with an operation.
  struct ExecuteOptions {
    Progress* progress = nullptr;  // for whoever watches from another thread
    // Moves this rank's elements by the format's own library, where neither a plan nor Swath's chunks can. Ranks read
    // at once, and write one after another.
    std::function<void()> library;
    // Collective. Called by a write before it where chunks have no place in the file yet, or the file has less of the
    // array than its shape says. How the array is stored from then on.
    std::function<Stored()> relocate;
    // Is held as long as the operation, where that goes on in the background.
    std::shared_ptr<void> keep;
    int loop = SharedLoops::kNone;  // that it is a step of
    bool is_waited_for = false;     // by whoever starts it, at once; of reads only
  };

  Array(std::shared_ptr<Comm> comm, std::shared_ptr<File> file, const Options& options);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  Comm& comm() const { return *comm_; }
  std::shared_ptr<const ArrayForm> form() const;
  Learning& learning() { return *learning_; }
  // Where the coded chunks are stored now; null where none are coded.
  std::shared_ptr<const CodedArray> chunks() const { return stored()->chunks; }
  ChunkAllocator* allocator() const { return allocator_.get(); }

  // Collective, but for an operation of one rank alone (Decomposition::alone, share_of). Moves this rank's share
  // between the file and `memory`. When it throws, every rank throws the same; what is not part of the operation is
  // untouched in any case.
  //
  // Ranks agree by one reduction. What is short, in the page cache and lets no ranks meet is read before it, by the
  // inputs that all ranks agreed on the last time: a read that is agreed on by all to have been made so is done.
  Execution execute(const Operation& operation, const LocalMemory& memory, const ExecuteOptions& execute_options);
  Execution execute(const Operation& operation, const LocalMemory& memory);

  // The same in the background, for any number of operations: they are carried out one after another, in the order in
  // which they were started, by one thread; where ranks meet, on a communicator of its own. They take effect in the
  // order of all calls: a write waits for the operations called before it, those called after it wait for it, and so do
  // writes of other arrays of the file. Where MPI allows no second thread, reads are carried out when one of them is
  // waited for, or when the array is used otherwise. The memory must stay until then. Nothing is learned from them.
  //
  // What may not run in the background (may_run_in_background) is done at once: what needs the format's library, or
  // code of the program, and writes where MPI allows no second thread: those of several arrays have one order, and one
  // that nobody carries out yet would be in the way of all others.
  Future start(const Operation& operation, const LocalMemory& memory, const ExecuteOptions& execute_options);
  bool may_run_in_background(Direction direction) const;
  // Collective, while other ranks start an operation in the background: this rank cannot, and says why. All are told
  // by the future.
  Future start_refused(const Operation* operation, const Error& error, int loop = SharedLoops::kNone);

  // Whether what ranks share goes on while this one does something else.
  bool ranks_allow_background() const { return comm_->size() == 1 || comm_->may_be_called_in_background(); }
  // Collective. A loop that all ranks go through together: what is started with its number is a step of it.
  int begin_loop();
  // Local. This rank goes on no longer with a loop: what was started of it is carried out, and ranks that start a step
  // more hear the text, as an Error{kLeft}. Returns at once; where MPI allows no second thread, when the others have
  // left too, or come to their next step.
  void leave_loop(int loop, const std::string& text);
  // Collective, in the order of what is started: an agreement on numbers, which are there when the future is done.
  Future start_comparing(int loop, const std::string& doing, std::shared_ptr<RankNumbers> numbers, bool is_waited_for);
  // Collective where such operations are. Returns when all that was started is done.
  void finish_started() { background_.finish(); }
  // Whether anything is under way now.
  bool is_under_way() { return background_.is_under_way(); }
  // Returns when nothing is under way any more; nothing is started from now on. The destructor does so, too.
  void end_background() { background_.end(); }

  // Collective, while other ranks execute: this rank cannot, and says why. `operation`: null where it is none. Always
  // throws, on all ranks alike.
  [[noreturn]] void refuse(const Operation* operation, const Error& error);

  // Local. How the operation would be carried out, by what is known now; `cached`: the part of it that is taken to be
  // in the page cache. The boxes of all ranks must be known.
  std::shared_ptr<const Plan> explain(const Operation& operation, std::optional<double> cached);
  // The same of coded chunks, by a look at what is stored of them, where the array is not closed. `coding`: what their
  // codecs cost, where it was measured.
  std::shared_ptr<const ChunkPlan> explain_chunks(const Operation& operation, std::optional<double> cached,
                                                  std::optional<CodecCost> coding = std::nullopt);
  // Collective. The same operation with the boxes of all ranks. `also`: what ranks compare besides.
  Operation with_all_shares(const Operation& operation, const std::string& also);

  // Collective. When it returns, what all ranks wrote is on the medium; what is written from then on is on its way to
  // the device as soon as it is written.
  void sync();
  // Collective. Waits until nobody uses the array; from then on nobody can. A new file is complete then, under its
  // name. Throws where it cannot be completed: it is then removed, and the old one is there. Does nothing where it is
  // closed.
  void close();
  // The steps of it. Nobody uses the array any more; false: it was closed before.
  bool stop();
  // Collective. What was never written of a new array gets its fill value.
  void fill_unwritten();
  void release_file();

  // Local, on every rank. The array is stored so from now on, in that file: it has grown, or others of its file have
  // moved it. Waits for what uses it. Also where it is stopped, and may have to be filled still.
  void relocate(Stored stored, std::shared_ptr<File> file);
  // Local. Whoever has the file open has synced it, and will again: see sync().
  void expect_sync() { will_sync_ = true; }
  bool is_closed() const { return gate_.is_closed(); }

  // Whether elements go by Swath's own chunks, by the format's library, or neither: then there is a plan.
  bool goes_by_chunks(Direction direction) const;
  int64_t plans_made() const { return plans_.plans_made(); }
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
  // Of the array as it is stored now: chunks may have got a place since the operation was made.
  Execution rebase_and_execute(const Call& call);
  // Adds it to the trace of the process, where there is one.
  Execution execute_traced(const Call& call);
  // To a plan, to chunks, or to the format's library.
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
  PlanCache plans_;
  ShareCache share_cache_;
  std::unique_ptr<Comm> background_comm_;  // once ranks started something in the background
  SharedLoops loops_;
  BackgroundQueue background_;
  PerProcess<std::mutex> starting_;

  std::atomic<bool> will_sync_;
  std::atomic<bool> is_unfilled_;
  mutable PerProcess<std::mutex> mutex_;  // of what follows; a forked child waits for no thread of its parent
  std::shared_ptr<const Stored> stored_;
  std::shared_ptr<File> file_;
  std::optional<AgreedInputs> agreed_last_;  // of the last operation of all ranks
};

}  // namespace swath
