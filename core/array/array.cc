#include "array/array.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "array/array_turn.h"
#include "array/chunk_reading.h"
#include "array/collectively.h"
#include "array/traced_operation.h"
#include "base/hash.h"
#include "chunks/chunks.h"
#include "comm/nodes.h"
#include "trace/trace.h"

namespace swath {
namespace {

// Below this predicted time, the agreement is a part worth saving.
constexpr double kShortSeconds = 5e-3;

bool is_nonzero(std::span<const std::byte> bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte != std::byte{0}; });
}

bool is_new(const Array::Options& options) { return options.is_new || options.new_file != nullptr; }

std::shared_ptr<Learning> learning_of(const Array::Options& options) {
  if (options.learning != nullptr) return options.learning;
  return std::make_shared<Learning>(std::make_shared<const Profile>(default_profile()), false);
}

// True if a new array's bytes are all in the file as zeros, and the fill value is not zero.
bool needs_filling(const Array::Options& options) {
  const Layout* layout = options.form->layout().get();
  return is_new(options) && layout != nullptr && !layout->is_tiled() && is_nonzero(options.fill);
}

}  // namespace

struct Array::Call {
  const Operation& operation;
  const LocalMemory& memory;
  const ExecuteOptions& execute_options;
  Progress& progress;
  Comm& comm;
  bool is_of_all_ranks;  // in program order: the profile learns from it, and its inputs are remembered
  // The profile when the program started the operation; null: the profile once the ranks have agreed.
  std::shared_ptr<const Profile> profile;
  bool will_sync;

  Call with(const Operation& other) const {
    return {other, memory, execute_options, progress, comm, is_of_all_ranks, profile, will_sync};
  }
};

// A read that is made before the ranks agree on it.
struct Array::SpeculativeRead {
  uint64_t agreed_inputs = 0;
  CachedPlan planned;
  Counters counters;
};

// What a rank contributes to the agreement.
struct Array::Beginning {
  std::optional<SharedEngine::Lease> engine;
  RankInputs own;
  std::optional<SpeculativeRead> speculative;
  std::optional<Error> failure;
};

Array::Array(std::shared_ptr<Comm> comm, std::shared_ptr<File> file, const Options& options)
    : comm_(std::move(comm)),
      alone_(make_solo_comm()),
      name_(options.name),
      fill_(options.fill),
      allocator_(options.allocator),
      new_file_(options.new_file),
      is_new_(is_new(options)),
      most_on_a_node_(most_on_a_node(*comm_)),
      is_first_of_node_(is_first_of_node(*comm_)),
      learning_(learning_of(options)),
      plans_(options.plans == nullptr ? std::make_shared<PlanCache>() : options.plans),
      will_sync_(is_new(options)),
      is_unfilled_(needs_filling(options)),
      stored_(std::make_shared<const Stored>(Stored{options.form, options.chunks})),
      file_(std::move(file)) {
  if (options.form->layout() != nullptr) capabilities_ = file_->engine().lease()->capabilities();
}

Array::~Array() { background_.end(); }

std::shared_ptr<const Array::Stored> Array::stored() const {
  const std::lock_guard guard(mutex_.get());
  return stored_;
}

std::shared_ptr<File> Array::file() const {
  const std::lock_guard guard(mutex_.get());
  return file_;
}

std::shared_ptr<const ArrayForm> Array::form() const { return stored()->form; }

void Array::store_as(Stored stored) {
  auto now = std::make_shared<const Stored>(std::move(stored));
  const std::lock_guard guard(mutex_.get());
  stored_.swap(now);
  plans_->clear();
}

void Array::relocate(Stored stored, std::shared_ptr<File> file) {
  background_.finish_deferred();
  const GateScope alone(gate_, Gate::Use::kAlone);  // also waits until no operation uses the array
  if (stored.form->layout() != nullptr) capabilities_ = file->engine().lease()->capabilities();
  store_as(std::move(stored));
  const std::lock_guard guard(mutex_.get());
  file_.swap(file);
}

bool Array::goes_by_chunks(Direction direction) const {
  const auto chunks = stored()->chunks;
  if (chunks == nullptr) return false;
  return direction == Direction::kRead || allocator_ != nullptr || !std::holds_alternative<ChunkTable>(chunks->places);
}

Question Array::question(const std::string& doing) const {
  std::string words = doing + " " + form()->identity();
  const uint64_t key = hash_text(words);
  return {key, [words = std::move(words)] { return words; }};
}

// ---- one operation --------------------------------------------------------------------------------------------------

// True if all ranks take part, false for an operation of one rank. Throws Error{kArgument} for a subset of the ranks.
bool Array::is_of_ranks(const Operation& operation) const {
  const int ranks = operation.decomposition().ranks();
  if (ranks == comm_->size()) return true;
  if (ranks == 1) return false;
  fail_argument(to_string(operation.direction()) + " " + name_ + ": an operation of " + std::to_string(ranks) +
                " ranks, but the array was opened by " + std::to_string(comm_->size()));
}

Execution Array::execute(const Operation& operation, const LocalMemory& memory, const ExecuteOptions& execute_options) {
  const bool is_of_all_ranks = is_of_ranks(operation);
  background_.finish_deferred();
  Progress unwatched;
  Progress& progress = execute_options.progress == nullptr ? unwatched : *execute_options.progress;
  Comm& comm = is_of_all_ranks ? *comm_ : *alone_;
  const Call call{operation, memory, execute_options, progress, comm, is_of_all_ranks, nullptr, will_sync_};
  const bool is_read = operation.direction() == Direction::kRead;
  const Passage passage(*this, is_read ? Gate::Use::kShared : Gate::Use::kAlone, comm,
                        to_string(operation.direction()));
  return rebase_and_execute(call);
}

Execution Array::execute(const Operation& operation, const LocalMemory& memory) {
  return execute(operation, memory, {});
}

Execution Array::rebase_and_execute(const Call& call) {
  const auto now = form();
  if (&call.operation.array() == now.get()) return execute_traced(call);
  const Operation current = call.operation.of(now);  // chunks may have been allocated since
  return execute_traced(call.with(current));
}

Execution Array::execute_traced(const Call& call) {
  if (!trace::is_active()) return dispatch(call);
  const TracedOperation traced(call.operation, call.comm, capabilities_.stripes);
  try {
    Execution done = dispatch(call);
    traced.end(done);
    return done;
  } catch (const std::exception& error) {
    traced.fail(error.what());
    throw;
  }
}

bool Array::may_run_in_background(Direction direction) const {
  if (form()->layout() == nullptr && !goes_by_chunks(direction)) return false;
  return direction == Direction::kRead || (allocator_ == nullptr && ranks_allow_background());
}

// Collective in the first call.
Comm& Array::background_comm() {
  if (background_comm_ == nullptr) background_comm_ = comm_->duplicate();
  return *background_comm_;
}

Future Array::start(const Operation& operation, const LocalMemory& memory, const ExecuteOptions& execute_options) {
  if (!may_run_in_background(operation.direction()) || execute_options.relocate) {
    return {background_, BackgroundQueue::done_at_once([&] { return execute(operation, memory, execute_options); })};
  }
  const bool ranks_meet = is_of_ranks(operation) && comm_->size() > 1;
  const CollectiveTurnScope turn(ranks_meet ? &comm_->turn() : nullptr, to_string(operation.direction()), name_);
  Comm& comm = ranks_meet ? background_comm() : *alone_;
  const auto use = operation.direction() == Direction::kRead ? Gate::Use::kShared : Gate::Use::kAlone;
  std::unique_lock one_order(starting_.get());  // one order for the gate and the queue
  const auto place =
      std::make_shared<Turn>(*this, use, ranks_meet ? *comm_ : *alone_, to_string(operation.direction()));
  const auto execute_later = [=, this, &comm, profile = learning_->profile(), sync = will_sync_.load()] {
    place->enter();
    Progress unwatched;
    Progress& progress = execute_options.progress == nullptr ? unwatched : *execute_options.progress;
    return rebase_and_execute({operation, memory, execute_options, progress, comm, false, profile, sync});
  };
  if (!ranks_meet) return {background_, background_.start(execute_later, {.may_stop = true})};
  const auto job = [=, this] { return loops_.step(execute_options.loop, execute_later); };
  if (execute_options.is_waited_for) one_order.unlock();
  return start_among_ranks(job, execute_options.is_waited_for);
}

Future Array::start_refused(const Operation* operation, const Error& error, int loop) {
  if (comm_->size() == 1 || (operation != nullptr && !is_of_ranks(*operation))) {
    return {background_, BackgroundQueue::done_at_once([&]() -> Execution { throw error; })};
  }
  const CollectiveTurnScope turn(&comm_->turn(), "refuse", name_);
  const auto asked = operation == nullptr ? std::nullopt : std::optional(*operation);
  const auto job = [=, this, &comm = background_comm()] {
    return loops_.step(loop, [&]() -> Execution {
      agree_on(comm, asked ? step_of(*asked) : Question{}, error, RankInputs{});
      throw error;  // not reached: agree_on() throws the error of any rank
    });
  };
  return start_among_ranks(job, false);
}

Execution Future::wait() {
  background_->wait(started_);
  return started_->execution();
}

Execution Array::dispatch(const Call& call) {
  if (call.operation.array().layout() != nullptr) return plan_and_run(call);
  return goes_by_chunks(call.operation.direction()) ? execute_chunks(call) : execute_library(call);
}

void Array::refuse(const Operation* operation, const Error& error) {
  background_.finish_deferred();  // as execute() does
  const bool is_alone = operation != nullptr && operation->decomposition().ranks() != comm_->size();
  const Question question = operation == nullptr ? Question{} : step_of(*operation);
  agree_on(is_alone ? *alone_ : *comm_, question, error, RankInputs{});
  throw error;  // not reached: agree_on() throws the error of any rank
}

RankInputs Array::agree(const Call& call, const std::optional<Error>& failure, const RankInputs& own) {
  const RankInputs all = agree_on(call.comm, step_of(call.operation), failure, own);
  if (call.is_of_all_ranks) learning_->take_slowest(all.nanoseconds);
  return all;
}

Operation Array::with_shares_of_all(const Call& call, uint64_t shares) {
  if (call.is_of_all_ranks) return share_cache_.complete(call.operation, shares, call.comm);
  if (call.operation.decomposition().knows_all_ranks()) return call.operation;
  return gather_shares(call.operation, call.comm);
}

Operation Array::with_all_shares(const Operation& operation, const std::string& also) {
  const Passage passage(*this, Gate::Use::kConcurrent, *comm_, "explain");
  RankInputs own;
  own.shares = ShareCache::key_of(operation, comm_->rank());
  const std::string step = "\n" + also;
  const RankInputs all = agree_on(*comm_, step_of(operation, step), std::nullopt, own);
  Operation complete = share_cache_.complete(operation, all.shares, *comm_);
  if (operation.direction() == Direction::kWrite) complete.decomposition().check_written_once();
  return complete;
}

// ---- by a plan ------------------------------------------------------------------------------------------------------

int64_t Array::cached_steps(const FileRange& range, const Engine& engine) const {
  if (is_new_) return kCachedSteps;
  if (!capabilities_.reports_cached) return kCachedUnknown;
  // Bytes beyond the end of the file are not read from the device.
  const int64_t bytes = std::min(range.bytes, engine.size() - range.begin);
  if (range.bytes > 0 && bytes <= 0) return kCachedSteps;
  const auto part = engine.cached_part(range.begin, bytes);
  return part ? std::lround(*part * static_cast<double>(kCachedSteps)) : kCachedUnknown;
}

RankInputs Array::own_inputs(const Call& call, const Engine& engine) {
  RankInputs own;
  const MemoryPlacement placement = placement_of(*call.operation.array().layout(), call.memory, call.memory.is_packed);
  own.memory_block_bytes = placement.block_bytes;
  own.memory_span_bytes = placement.span_bytes;
  if (call.comm.rank() == 0) {
    own.cached_steps = cached_steps(plans_->touched(call.operation), engine);
    own.shows_cache = capabilities_.shows_cache ? 1 : 0;
  }
  if (call.is_of_all_ranks) own.nanoseconds = learning_->ungathered_nanoseconds();
  own.shares = ShareCache::key_of(call.operation, call.comm.rank());
  return own;
}

std::optional<AgreedInputs> Array::agreed_last() const {
  const std::lock_guard guard(mutex_.get());
  return agreed_last_;
}

// The inputs on which this rank expects all ranks to agree: those of the same operation the last time, else those of
// the last operation. Only for cached bytes, since the read may be wasted.
std::optional<AgreedInputs> Array::expected_inputs(const Call& call, const RankInputs& own) {
  if (call.comm.rank() == 0 && own.cached_steps != kCachedSteps) return std::nullopt;
  const MemoryPlacement own_memory{own.memory_block_bytes, own.memory_span_bytes};
  const auto last = plans_->last(call.operation);
  if (last && last->agreed_inputs.is_all_cached() && last->own_memory == own_memory) return last->agreed_inputs;
  const auto agreed = agreed_last();
  const MemoryPlacement packed;
  const bool is_likely = agreed && agreed->is_all_cached() && agreed->memory == packed && own_memory == packed;
  return is_likely ? agreed : std::nullopt;
}

std::optional<Array::SpeculativeRead> Array::read_before_agreement(const Call& call, const RankInputs& own,
                                                                   Engine& engine) {
  const Operation& operation = call.operation;
  if (call.comm.size() == 1 || operation.direction() == Direction::kWrite || operation.decomposition().is_gathered()) {
    return std::nullopt;
  }
  const auto agreed_inputs = expected_inputs(call, own);
  if (!agreed_inputs) return std::nullopt;
  SpeculativeRead speculative{agreed_inputs->key(), plans_->plan(operation, plan_inputs(call, *agreed_inputs, 0)), {}};
  const Plan& plan = *speculative.planned.plan;
  if (plan.method == Method::kTwoPhase || speculative.planned.estimate->get().seconds() >= kShortSeconds) {
    return std::nullopt;
  }
  speculative.counters = run_own_part(plan, call.comm, engine, call.memory, call.progress);
  return speculative;
}

// Reports any failure to the other ranks through the agreement.
Array::Beginning Array::begin(const Call& call) {
  Beginning begun;
  begun.failure = failure_of([&] {
    begun.engine.emplace(file_->engine().lease());
    begun.own = own_inputs(call, **begun.engine);
    begun.speculative = read_before_agreement(call, begun.own, **begun.engine);
    if (begun.speculative) begun.own.read_by_least = begun.own.read_by_most = begun.speculative->agreed_inputs;
  });
  return begun;
}

PlanInputs Array::plan_inputs(const Call& call, const AgreedInputs& agreed_inputs, uint64_t shares) const {
  PlanInputs inputs;
  inputs.agreed_inputs = agreed_inputs;
  inputs.capabilities = capabilities_;
  inputs.profile = call.profile != nullptr ? call.profile : learning_->profile();
  inputs.shares = shares;
  if (call.comm.size() > 1) {
    inputs.ranks_of_node = std::min(most_on_a_node_, call.comm.size());
    inputs.messages = most_on_a_node_ < call.comm.size() || !call.comm.shared_refusal().empty();
  }
  inputs.will_sync = call.will_sync;
  return inputs;
}

Execution Array::plan_and_run(const Call& call) {
  Beginning begun = begin(call);
  const RankInputs all = agree(call, begun.failure, begun.own);
  const AgreedInputs agreed_inputs = all.agreed();
  if (call.is_of_all_ranks) {
    plans_->keep_last(call.operation, {agreed_inputs, {begun.own.memory_block_bytes, begun.own.memory_span_bytes}});
    const std::lock_guard guard(mutex_.get());
    agreed_last_ = agreed_inputs;
  }
  if (begun.speculative && all.all_have_read()) {
    return finish_operation(call, begun.speculative->planned, begun.speculative->counters, true);
  }
  Operation operation = with_shares_of_all(call, all.shares);
  const PlanInputs inputs = plan_inputs(call, agreed_inputs, all.shares);
  if (operation.direction() == Direction::kWrite) operation = prepare_to_write(call, operation, inputs);
  const CachedPlan planned = plans_->plan(operation, inputs);
  SharedEngine::Lease& engine = *begun.engine;
  engine->set_write_behind(call.will_sync);
  const Counters counters = run(*planned.plan, engine.ranks(call.comm), *engine, call.memory, call.progress);
  // After a write, every element was filled before, or is written now.
  if (operation.direction() == Direction::kWrite) is_unfilled_ = false;
  return finish_operation(call.with(operation), planned, counters, false);
}

Execution Array::finish_operation(const Call& call, const CachedPlan& planned, const Counters& counters,
                                  bool was_read_before_agreement) {
  fill_absent_chunks(call);
  measured(call, planned, counters);
  return {to_string(planned.plan->method), planned.plan, counters, planned.estimate, was_read_before_agreement};
}

void Array::fill_absent_chunks(const Call& call) const {
  const Layout& layout = *call.operation.array().layout();
  if (call.operation.direction() == Direction::kRead && layout.has_absent_chunks()) {
    fill_absent(layout, call.memory, fill_);
  }
}

void Array::measured(const Call& call, const CachedPlan& planned, const Counters& counters) {
  // The reason for a duration is unknown if the plan did not know whether the bytes were cached.
  if (!call.is_of_all_ranks || !planned.plan->request.cached) return;
  learning_->measured(planned.estimate, std::llround((counters.total_seconds - counters.token_seconds) * 1e9));
}

// Conditions of a write: each element is written once, chunks are allocated, and unwritten elements have the fill
// value.
Operation Array::prepare_to_write(const Call& call, const Operation& operation, const PlanInputs& inputs) {
  operation.decomposition().check_written_once();
  const bool is_of_one_of_many = call.comm.size() != comm_->size();
  if (is_of_one_of_many && is_unfilled_) {
    fail_argument("write " + name_ +
                  " by one rank alone: what is not written must have the fill value first, which all ranks give it: "
                  "let all ranks write, those that have nothing an empty share");
  }
  Operation current = operation;
  // Some chunks are not allocated, or the file contains less than the variable's shape, even if all chunks exist.
  if (call.execute_options.relocate) {
    store_as(call.execute_options.relocate());
    current = operation.of(form());
  }
  // If ranks overlap, their bytes do not show how much of the array is written.
  const Decomposition& decomposition = current.decomposition();
  const bool is_counted_once = !decomposition.is_views() || decomposition.are_disjoint();
  if (is_unfilled_ && (!is_counted_once || plans_->plan(current, inputs).plan->runs.bytes < current.array().bytes())) {
    fill(call.comm);
  }
  return current;
}

std::shared_ptr<const Plan> Array::explain(const Operation& operation, std::optional<double> cached) {
  const Passage passage(*this, Gate::Use::kConcurrent, *alone_, "explain");
  const Operation current = operation.of(form());
  AgreedInputs agreed_inputs;
  agreed_inputs.shows_cache = capabilities_.shows_cache;
  if (!capabilities_.reports_cached) agreed_inputs.cached_steps = kCachedUnknown;
  if (cached) {
    agreed_inputs.cached_steps = std::lround(*cached * static_cast<double>(kCachedSteps));
  } else if (comm_->size() == 1) {
    const auto open = file();
    agreed_inputs.cached_steps = cached_steps(plans_->touched(current), *open->engine().lease());
  } else if (const auto agreed = agreed_last(); agreed && capabilities_.reports_cached) {
    // Ranks may see different cache contents at different moments, which would lead to different plans.
    agreed_inputs.cached_steps = agreed->cached_steps;
  }
  Progress unwatched;
  const LocalMemory nothing;
  const ExecuteOptions none;
  const bool is_alone = comm_->size() == 1 || operation.decomposition().ranks() == 1;
  const Call call{current, nothing, none, unwatched, is_alone ? *alone_ : *comm_, false, nullptr, will_sync_};
  const uint64_t shares = current.decomposition().is_gathered() ? ShareCache::key_of_all(current) : 0;
  return plans_->plan(current, plan_inputs(call, agreed_inputs, shares)).plan;
}

// ---- otherwise than by a plan ---------------------------------------------------------------------------------------

ChunkOptions Array::chunk_options(const Operation& operation) const {
  ChunkOptions options;
  options.buffer_bytes_max = setting_or(operation.tuning(), "chunk_buffer_bytes", options.buffer_bytes_max);
  options.ranks_of_node = most_on_a_node_;
  options.engine = file_->chunk_engine();
  options.make_stream = file_->chunk_streams();
  return options;
}

// Ranks agree on what their nodes share together with the operation, if each rank can compute it by then: boxes must be
// sent first.
Execution Array::read_chunks_together(const Call& call, const CodedArray& chunks, const ChunkOptions& options) {
  std::optional<ChunkReading> reading;
  const auto plan = [&](const Operation& operation) {
    return failure_of([&] { reading.emplace(chunks, operation.decomposition(), options, call.comm); });
  };
  RankInputs own = own_share_inputs(call);
  std::optional<Error> failure;
  if (call.operation.decomposition().knows_all_ranks()) failure = plan(call.operation);
  if (reading) own.chunks = reading->needs();
  const RankInputs all = agree(call, failure, own);
  const auto operation = std::make_shared<const Operation>(with_shares_of_all(call, all.shares));
  ChunkNeeds needs = all.chunks;
  if (!reading) {
    failure = plan(*operation);
    const ChunkNeeds mine = reading ? reading->needs() : ChunkNeeds{};
    needs = agree_on(call.comm, step_of(*operation, ": shared chunks"), failure, mine);
  }
  Execution done{"chunks", nullptr, {}, nullptr, false, operation};
  run_collectively(call.comm, step_of(*operation, ": chunks"), [&] {
    done.counters = reading->read(call.comm, {call.memory.parts, call.memory.addresses}, needs);
  });
  return done;
}

Execution Array::execute_chunks(const Call& call) {
  const std::shared_ptr<const CodedArray> chunks = stored()->chunks;
  ChunkOptions options = chunk_options(call.operation);
  options.bytes_done = &call.progress.bytes_done;
  for (const Part& part : call.memory.parts) call.progress.bytes_total += part.count() * chunks->element_bytes;
  if (call.operation.direction() == Direction::kRead) return read_chunks_together(call, *chunks, options);
  const RankInputs all = agree(call, std::nullopt, own_share_inputs(call));
  const auto operation = std::make_shared<const Operation>(with_shares_of_all(call, all.shares));
  const ChunkMemory memory{call.memory.parts, call.memory.addresses};
  Execution done{"chunks", nullptr, {}, nullptr, false, operation};
  done.counters = write_chunks_of({call.comm, *operation, memory, options, call.will_sync}, *chunks);
  return done;
}

Counters Array::write_chunks_of(const ChunkWriting& writing, const CodedArray& chunks) {
  writing.operation.decomposition().check_written_once();
  if (!std::holds_alternative<ChunkTable>(chunks.places)) return write_chunk_files(writing, chunks);
  WrittenTable written = write_chunk_table(writing, chunks, file_->engine(), *allocator_);
  store_as({form(), std::move(written.array)});
  return written.counters;
}

Execution Array::execute_library(const Call& call) {
  const Operation operation = with_shares_of_all(call, agree(call, std::nullopt, own_share_inputs(call)).shares);
  if (operation.direction() == Direction::kRead) {
    run_collectively(call.comm, step_of(operation, ": library"), call.execute_options.library);
  } else {
    operation.decomposition().check_written_once();
    for (int rank = 0; rank < call.comm.size(); ++rank) {
      run_collectively(call.comm, step_of(operation, ": rank " + std::to_string(rank)), [&] {
        if (rank == call.comm.rank()) call.execute_options.library();
      });
    }
  }
  return {"library", nullptr, {}};
}

RankInputs Array::own_share_inputs(const Call& call) {
  RankInputs own;
  own.shares = ShareCache::key_of(call.operation, call.comm.rank());
  return own;
}

}  // namespace swath
