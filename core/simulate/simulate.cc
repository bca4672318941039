#include "simulate/simulate.h"

#include <malloc.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "array/array.h"
#include "base/bulk_data.h"
#include "base/error.h"
#include "method/local_memory.h"
#include "method/run.h"

namespace swath::simulate {
namespace {

using Json = nlohmann::json;

int64_t heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// What all ranks' arrays of one stored array share.
struct StoredArray {
  std::shared_ptr<SimulatedFile> file;
  std::shared_ptr<const ArrayForm> form;
  std::shared_ptr<PlanCache> plans = std::make_shared<PlanCache>();
};

// One case of a list, and the array that it accesses.
struct Prepared {
  const OperationCase* given = nullptr;
  int array = 0;
  std::vector<Operation> operation;  // of all ranks; of boxes or views, of each rank
  size_t first_result = 0;           // of its repetitions
};

int64_t local_bytes(const Decomposition& decomposition, int rank, int64_t element_bytes) {
  if (decomposition.is_views()) return decomposition.view(rank).bytes();
  int64_t bytes = 0;
  for (const Part& part : decomposition.parts(rank, element_bytes)) bytes += part.count() * element_bytes;
  return bytes;
}

// A decomposition with the share of one rank only, as a program gives it.
Decomposition own_share(const Decomposition& all, int rank, const Shape& shape) {
  if (all.is_views()) return Decomposition::own_view(all.view(rank), rank, all.ranks(), shape, all.allows_overlap());
  return Decomposition::own_boxes(all.boxes_of_rank()[static_cast<size_t>(rank)], rank, all.ranks(), shape);
}

class Runner {
 public:
  using FileOf = std::function<std::shared_ptr<SimulatedFile>(const OperationCase&)>;
  using MemoryOf = std::function<void(int operation, int rank, LocalMemory&)>;

  Runner(World& world, const std::vector<OperationCase>& operations, const FileOf& file_of, const MemoryOf& memory_of)
      : world_(world),
        memory_of_(memory_of),
        learning_(std::make_shared<Learning>(std::make_shared<const Profile>(profile_of(world.machine())), true)) {
    own_of_rank_.resize(static_cast<size_t>(world.ranks()));
    for (const OperationCase& one : operations) prepare(one, file_of);
  }

  Result run() {
    const int64_t before = heap_bytes();
    world_.run([&](int rank) { run_rank(rank); });
    result_.heap_bytes_per_rank = (heap_most_ - before) / world_.ranks();
    for (const OperationResult& one : result_.operations) result_.seconds = std::max(result_.seconds, one.ended);
    return result_;
  }

 private:
  static std::shared_ptr<const ArrayForm> form_of(const OperationCase& one) {
    if (one.form != nullptr) return one.form;
    const auto layout = std::make_shared<const Layout>(Layout::ordered(one.shape, one.element_bytes, 0, one.order));
    return std::make_shared<const ArrayForm>(one.file, one.shape, one.element_bytes, layout);
  }

  void prepare(const OperationCase& one, const FileOf& file_of) {
    const auto form = form_of(one);
    world_.storage().check_size(one.file, std::max(one.file_bytes, form->bytes()));
    const auto [found, is_new] = known_.try_emplace({one.file, form->key()}, static_cast<int>(arrays_.size()));
    if (is_new) {
      auto& file = files_[one.file];
      if (file == nullptr) file = file_of(one);
      arrays_.push_back({file, form});
    }
    const StoredArray& array = arrays_[static_cast<size_t>(found->second)];
    Prepared made{&one, found->second, {}, result_.operations.size()};
    const Decomposition& decomposition = one.access.decomposition;
    if (decomposition.is_gathered()) {
      for (int rank = 0; rank < decomposition.ranks(); ++rank) {
        Operation::Access access = one.access;
        access.decomposition = own_share(decomposition, rank, one.shape);
        made.operation.emplace_back(array.form, access);
      }
    } else {
      made.operation.emplace_back(array.form, one.access);
    }
    (one.is_alone() ? own_of_rank_[static_cast<size_t>(one.rank)] : of_all_ranks_).push_back(prepared_.size());
    prepared_.push_back(std::move(made));
    for (int i = 0; i < one.repeat; ++i) {
      result_.operations.push_back({.name = one.name, .rank = one.rank, .began = kNever});
    }
  }

  // The arrays that a rank has opened: with all ranks, or alone.
  struct OpenArrays {
    std::shared_ptr<Comm> comm;
    std::map<std::pair<int, bool>, std::unique_ptr<Array>> known;
  };

  void run_rank(int rank) {
    OpenArrays arrays;
    arrays.comm = world_.comm(rank);
    const std::vector<size_t>& own = own_of_rank_[static_cast<size_t>(rank)];
    for (size_t next_own = 0, next_of_all = 0; next_own < own.size() || next_of_all < of_all_ranks_.size();) {
      const bool is_own =
          next_of_all == of_all_ranks_.size() || (next_own < own.size() && own[next_own] < of_all_ranks_[next_of_all]);
      const size_t number = is_own ? own[next_own++] : of_all_ranks_[next_of_all++];
      run_repeatedly(number, arrays, rank);
    }
    heap_most_ = std::max(heap_most_, heap_bytes_if_due());
  }

  void run_repeatedly(size_t number, OpenArrays& arrays, int rank) {
    const Prepared& prepared = prepared_[number];
    for (int repeat = 0; repeat < prepared.given->repeat; ++repeat) {
      run_operation(prepared, arrays, rank, static_cast<int>(number),
                    result_.operations[prepared.first_result + static_cast<size_t>(repeat)]);
    }
  }

  // Asking takes a time that grows with the heap.
  int64_t heap_bytes_if_due() {
    ++finished_;
    return finished_ == 1 || finished_ == world_.ranks() ? heap_bytes() : 0;
  }

  Array& array_of(const Prepared& prepared, OpenArrays& arrays, int rank) {
    const bool is_alone = prepared.given->is_alone();
    std::unique_ptr<Array>& array = arrays.known[{prepared.array, is_alone}];
    if (array == nullptr) {
      const std::shared_ptr<Comm> comm = is_alone ? make_solo_comm() : arrays.comm;
      array = open(arrays_[static_cast<size_t>(prepared.array)], comm, rank);
    }
    return *array;
  }

  std::unique_ptr<Array> open(const StoredArray& stored, const std::shared_ptr<Comm>& comm, int rank) {
    const auto file = std::make_shared<File>(stored.file->path(), [this, file = stored.file, rank] {
      return std::make_unique<MachineEngine>(world_, file, rank);
    });
    Array::Options options;
    options.form = stored.form;
    options.learning = learning_;
    options.plans = stored.plans;
    options.name = stored.file->path();
    return std::make_unique<Array>(comm, file, options);
  }

  void run_operation(const Prepared& prepared, OpenArrays& arrays, int rank, int number, OperationResult& result) {
    const OperationCase& given = *prepared.given;
    Array& array = array_of(prepared, arrays, rank);
    Fibers& fibers = world_.fibers();
    fibers.sleep_until(fibers.now() + given.gap_of(rank));
    world_.count_time(rank);
    const RankUse before = world_.use(rank);
    result.began = std::min(result.began, fibers.now());
    fibers.spend(world_.machine().software.call_overhead * world_.storage().noise());
    const int own_rank = given.operation_rank(rank);
    LocalMemory memory =
        packed_memory(given.access.decomposition, own_rank, given.element_bytes, world_.placeholder(0));
    if (memory_of_) memory_of_(number, rank, memory);
    const bool is_shared = prepared.operation.size() == 1;
    const size_t planned = is_shared ? 0 : static_cast<size_t>(own_rank);
    const Execution done =
        given.target ? redistributed(given, memory, array.comm()) : array.execute(prepared.operation[planned], memory);
    if (given.sync && has_caches()) synchronise(prepared, arrays, rank);
    world_.count_time(rank);
    add(result, before, world_.use(rank), done, own_rank);
  }

  bool has_caches() const { return world_.storage().has_caches() || world_.machine().page_cache.exists(); }

  // When all ranks have written, one of them tells the servers to write what is dirty, and the others wait.
  void synchronise(const Prepared& prepared, OpenArrays& arrays, int rank) {
    const bool is_alone = prepared.given->is_alone();
    if (!is_alone) arrays.comm->barrier();
    if (is_alone || rank == 0) {
      MachineEngine(world_, arrays_[static_cast<size_t>(prepared.array)].file, rank).sync();
    }
    if (!is_alone) arrays.comm->barrier();
  }

  static Execution redistributed(const OperationCase& given, const LocalMemory& memory, Comm& comm) {
    const Decomposition& target = *given.target;
    const BulkBuffer received(local_bytes(target, comm.rank(), given.element_bytes));
    const LocalMemory after = packed_memory(target, comm.rank(), given.element_bytes, received.data());
    Progress progress;
    return {.method = "redistribute",
            .plan = nullptr,
            .counters = redistribute(given.element_bytes, {given.access.decomposition, memory}, {target, after}, comm,
                                     {}, progress)};
  }

  void add(OperationResult& result, const RankUse& before, const RankUse& after, const Execution& done, int own_rank) {
    result.ended = std::max(result.ended, world_.fibers().now());
    result.method = done.method;
    if (done.plan != nullptr) {
      result.reason = done.plan->reason;
      if (own_rank == 0) result.local_bytes_max = done.plan->runs.bytes_of_rank_max;
    }
    for (size_t phase = 0; phase < kPhases; ++phase) {
      const double seconds = after.seconds[phase] - before.seconds[phase];
      result.seconds[phase] += seconds;
      result.seconds_max[phase] = std::max(result.seconds_max[phase], seconds);
    }
    const int64_t agreement = after.agreement_messages - before.agreement_messages;
    const int64_t exchange = after.exchange_messages - before.exchange_messages;
    result.agreement_messages += agreement;
    result.agreement_messages_max = std::max(result.agreement_messages_max, agreement);
    result.exchange_messages += exchange;
    result.exchange_messages_max = std::max(result.exchange_messages_max, exchange);
    result.exchange_bytes += after.exchange_bytes - before.exchange_bytes;
    result.copied_bytes += after.copied_bytes - before.copied_bytes;
    for_each_amount([&](const char*, auto member) { result.amounts.*member += done.counters.*member; });
    result.buffer_bytes_max = std::max(result.buffer_bytes_max, done.counters.buffer_bytes);
  }

  World& world_;
  const MemoryOf& memory_of_;
  const std::shared_ptr<Learning> learning_;
  std::map<std::pair<std::string, uint64_t>, int> known_;  // by file and form
  std::map<std::string, std::shared_ptr<SimulatedFile>> files_;
  std::vector<StoredArray> arrays_;
  std::vector<Prepared> prepared_;
  std::vector<size_t> of_all_ranks_;              // indices of prepared_, in their order
  std::vector<std::vector<size_t>> own_of_rank_;  // likewise
  Result result_;
  int64_t heap_most_ = 0;
  int finished_ = 0;
};

// ---- as JSON --------------------------------------------------------------------------------------------------------

Json messages_json(int ranks, int64_t all, int64_t most) {
  return {{"mean", static_cast<double>(all) / ranks}, {"max", most}};
}

Json operation_json(const World& world, const OperationResult& one) {
  const int ranks = one.rank == kAllRanks ? world.ranks() : 1;
  Json phases;
  Json phases_max;
  for (size_t phase = 0; phase < kPhases; ++phase) {
    const char* const name = name_of(static_cast<Phase>(phase));
    phases[name] = one.seconds[phase] / ranks;
    phases_max[name] = one.seconds_max[phase];
  }
  Json json{{"name", one.name},
            {"method", one.method},
            {"reason", one.reason},
            {"began", one.began},
            {"seconds", one.ended - one.began},
            {"phases", phases},
            {"phases_max", phases_max},
            {"messages",
             {{"agree", messages_json(ranks, one.agreement_messages, one.agreement_messages_max)},
              {"exchange", messages_json(ranks, one.exchange_messages, one.exchange_messages_max)}}},
            {"message_bytes", one.exchange_bytes},
            {"copied_bytes", one.copied_bytes},
            {"buffer_bytes_max", one.buffer_bytes_max},
            {"local_bytes_max", one.local_bytes_max}};
  for (const auto& [name, member] :
       {std::pair{"read_requests", &IoAmounts::read_requests}, std::pair{"write_requests", &IoAmounts::write_requests},
        std::pair{"read_bytes", &IoAmounts::read_bytes}, std::pair{"written_bytes", &IoAmounts::written_bytes},
        std::pair{"exchanged_bytes", &IoAmounts::exchanged_bytes}, std::pair{"locks", &IoAmounts::locks}}) {
    json[name] = one.amounts.*member;
  }
  if (one.rank != kAllRanks) json["rank"] = one.rank;
  return json;
}

Json servers_json(World& world) {
  Json servers = Json::array();
  for (const ServerUse& use : world.storage().uses()) {
    servers.push_back({{"requests", use.requests},
                       {"regions", use.regions},
                       {"bytes", use.read_bytes + use.written_bytes},
                       {"read_bytes", use.read_bytes},
                       {"written_bytes", use.written_bytes},
                       {"lock_transfers", use.lock_transfers},
                       {"busy_seconds", use.busy_seconds},
                       {"waited_seconds", use.waited_seconds},
                       {"cache_hit_bytes", use.cache_hit_bytes},
                       {"written_back_bytes", use.written_back_bytes}});
  }
  return servers;
}

Json links_json(World& world) {
  Json links = Json::object();
  for (const LinkUse& use : world.network().uses()) {
    links[use.kind] = {{"links", use.links},
                       {"bytes", use.bytes},
                       {"messages", use.messages},
                       {"busy_seconds_max", use.busy_seconds_max},
                       {"waited_seconds", use.waited_seconds}};
  }
  return links;
}

// Both timelines with the longer of their intervals: each is halved until it fits.
std::vector<double> with_interval(const Timelines& lines, size_t row, double seconds) {
  std::vector<double> parts(Timelines::kIntervals);
  for (size_t i = 0; i < Timelines::kIntervals; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * lines.interval_seconds();
    parts[std::min<size_t>(static_cast<size_t>(middle / seconds), Timelines::kIntervals - 1)] +=
        lines.rows()[row][i] / seconds;
  }
  return parts;
}

Json timeline_json(World& world, double seconds) {
  const Timelines& servers = world.storage().timelines();
  const double interval = std::max(servers.interval_seconds(), world.timelines().interval_seconds());
  const auto count = std::clamp<size_t>(static_cast<size_t>(seconds / interval) + 1, 1, Timelines::kIntervals);
  const auto row = [&](const Timelines& lines, size_t number) {
    std::vector<double> parts = with_interval(lines, number, interval);
    parts.resize(count);
    return parts;
  };
  Json json{{"edges", Json::array()}, {"ranks", Json::object()}, {"servers", Json::array()}};
  for (size_t i = 0; i <= count; ++i) json["edges"].push_back(static_cast<double>(i) * interval);
  for (size_t phase = 0; phase < kPhases; ++phase) {
    json["ranks"][name_of(static_cast<Phase>(phase))] = row(world.timelines(), phase);
  }
  for (size_t server = 0; server < servers.rows().size(); ++server) json["servers"].push_back(row(servers, server));
  return json;
}

Json result_json(World& world, const Result& result) {
  Json json{{"seconds", result.seconds}, {"operations", Json::array()}};
  Json phases = Json::object();
  int64_t agreement = 0, agreement_max = 0, exchange = 0, exchange_max = 0, buffers = 0, local = 0;
  std::array<double, kPhases> seconds{};
  for (const OperationResult& one : result.operations) {
    json["operations"].push_back(operation_json(world, one));
    for (size_t phase = 0; phase < kPhases; ++phase) seconds[phase] += one.seconds[phase] / world.ranks();
    agreement += one.agreement_messages;
    exchange += one.exchange_messages;
    agreement_max += one.agreement_messages_max;
    exchange_max += one.exchange_messages_max;
    buffers = std::max(buffers, one.buffer_bytes_max);
    local = std::max(local, one.local_bytes_max);
  }
  for (size_t phase = 0; phase < kPhases; ++phase) phases[name_of(static_cast<Phase>(phase))] = seconds[phase];
  json["phases"] = phases;
  json["messages"] = {{"agree", messages_json(world.ranks(), agreement, agreement_max)},
                      {"exchange", messages_json(world.ranks(), exchange, exchange_max)}};
  json["memory"] = {
      {"buffer_bytes_max", buffers}, {"local_bytes_max", local}, {"heap_bytes_per_rank", result.heap_bytes_per_rank}};
  json["servers"] = servers_json(world);
  json["links"] = links_json(world);
  json["timeline"] = timeline_json(world, result.seconds);
  return json;
}

}  // namespace

Result run_operations(World& world, const std::vector<OperationCase>& operations,
                      const std::function<std::shared_ptr<SimulatedFile>(const OperationCase&)>& file_of,
                      const std::function<void(int operation, int rank, LocalMemory&)>& memory_of) {
  return Runner(world, operations, file_of, memory_of).run();
}

std::string run(const Request& request) {
  const Machine machine = parse_machine(request.machine);
  const std::vector<OperationCase> operations = parse_operations(request.operations, request.ranks);
  World world(machine, {.ranks = request.ranks, .seed = request.seed, .noise = request.noise, .data = request.data});
  std::vector<std::vector<std::byte>> memory(static_cast<size_t>(request.ranks));
  const auto file_of = [&](const OperationCase& first) {
    const int64_t bytes = element_count(first.shape) * first.element_bytes;
    const bool exists = first.access.direction == Direction::kRead;
    return std::make_shared<SimulatedFile>(world, first.file,
                                           first.file_bytes > 0 ? first.file_bytes
                                           : exists             ? bytes
                                                                : 0);
  };
  const auto memory_of = [&](int operation, int rank, LocalMemory& local) {
    if (!request.data) return;
    const OperationCase& given = operations[static_cast<size_t>(operation)];
    const Decomposition& decomposition = given.access.decomposition;
    auto& mine = memory[static_cast<size_t>(rank)];
    const int own_rank = given.operation_rank(rank);
    const auto bytes = static_cast<size_t>(local_bytes(decomposition, own_rank, given.element_bytes));
    mine.resize(bytes, static_cast<std::byte>(rank + 1));
    local = packed_memory(decomposition, own_rank, given.element_bytes, mine.data());
  };
  const Result result = run_operations(world, operations, file_of, memory_of);
  Json json = result_json(world, result);
  json["host"] = {{"switches", world.fibers().switches()}};
  return json.dump();
}

}  // namespace swath::simulate
