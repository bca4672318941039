#include "array/traced_operation.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "array/learning.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "layout/access.h"
#include "trace/trace.h"

namespace swath {
namespace {

// With boxes or views, each rank has a key of its own.
uint64_t key_of(const Operation& operation, int rank) {
  if (!operation.decomposition().is_gathered()) return operation.key();
  const std::array<uint64_t, 2> keys{operation.key(), operation.decomposition().gathered_key(rank)};
  return hash_bytes(std::as_bytes(std::span(keys)));
}

// A prediction costs some microseconds, so it is made for long operations only. Short operations are in the trace, too,
// and their cost can be predicted later.
constexpr double kSecondsToPredict = 4e-4;

std::optional<double> predicted_seconds(const Execution& done) {
  if (done.estimate == nullptr) return std::nullopt;
  if (!done.estimate->is_made() && done.counters.total_seconds < kSecondsToPredict) return std::nullopt;
  return done.estimate->get().seconds();
}

void put_counters(trace::JsonObject& arguments, const Counters& counters) {
  for_each_counter([&](const char* name, auto member) {
    if (const auto value = counters.*member; value != 0) arguments.put(name, value);
  });
}

class ArrayDefinition final : public trace::Definition {
 public:
  ArrayDefinition(const ArrayForm& array, const std::optional<StripeMap>& stripes)
      : Definition("swath_array", array.key()),
        identity_(array.identity()),
        shape_(array.shape()),
        element_bytes_(array.element_bytes()),
        stripes_(stripes) {
    ByteWriter writer;
    array.write(writer);
    form_ = writer.take();
  }

 private:
  void write_arguments(trace::JsonObject& arguments) const override {
    arguments.put("identity", identity_);
    std::string& shape = arguments.begin("shape");
    shape += '[';
    for (size_t d = 0; d < shape_.size(); ++d) shape += (d == 0 ? "" : ",") + std::to_string(shape_[d]);
    shape += ']';
    arguments.put("element_bytes", element_bytes_);
    if (stripes_) {
      arguments.put("stripe_bytes", stripes_->stripe_bytes);
      arguments.put("servers", int64_t{stripes_->servers});
    }
    arguments.put("form", to_base64(form_));
  }

  const std::string identity_;
  const Shape shape_;
  const int64_t element_bytes_;
  const std::optional<StripeMap> stripes_;
  std::vector<std::byte> form_;
};

// The form of an array, in bytes. A program repeats operations on one array, so each thread keeps the last form.
std::shared_ptr<const std::vector<std::byte>> form_of(const ArrayForm& array) {
  thread_local uint64_t key = 0;
  thread_local std::shared_ptr<const std::vector<std::byte>> form;
  if (form == nullptr || key != array.key()) {
    ByteWriter writer;
    array.write(writer);
    form = std::make_shared<const std::vector<std::byte>>(writer.take());
    key = array.key();
  }
  return form;
}

// Where a rank's share of an operation lies in the file. All zero: it has no bytes, or the format's library places
// them.
struct ShareRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t bytes = 0;
};

ShareRange range_of(const Operation& operation, int rank) {
  if (operation.array().layout() == nullptr) return {};
  const Access share = Access::of(*operation.array().layout(), operation.decomposition(), rank);
  if (share.empty()) return {};
  return {share.next_start(0).value_or(0), share.last_end(INT64_MAX).value_or(0), share.bytes()};
}

class OperationDefinition final : public trace::Definition {
 public:
  OperationDefinition(const Operation& operation, int rank, uint64_t key)
      : Definition("swath_operation", key),
        rank_(rank),
        array_(operation.array().key()),
        form_(form_of(operation.array())),
        access_(operation.access_bytes()) {
    const Decomposition& decomposition = operation.decomposition();
    if (!decomposition.is_gathered()) return;
    share_ = decomposition.share_bytes_of(rank);
    words_ = operation.words();
    range_ = range_of(operation, rank);
  }

 private:
  void write_arguments(trace::JsonObject& arguments) const override {
    arguments.put("array", trace::key_text(array_));
    // With boxes or views, decoding needs the bytes of all ranks, so their text and range are stored.
    if (share_.empty()) {
      const Operation operation = Operation::parse_parts(*form_, access_, {});
      write_words_and_range(arguments, operation.words(), range_of(operation, rank_));
    } else {
      write_words_and_range(arguments, words_, range_);
    }
    arguments.put("access", to_base64(access_));
    if (!share_.empty()) arguments.put("share", to_base64(share_));
  }

  static void write_words_and_range(trace::JsonObject& arguments, const std::string& words, const ShareRange& range) {
    arguments.put("words", words);
    if (range.bytes == 0) return;
    arguments.put("begin", range.begin);
    arguments.put("end", range.end);
    arguments.put("bytes", range.bytes);
  }

  const int rank_;
  const uint64_t array_;
  const std::shared_ptr<const std::vector<std::byte>> form_;
  std::string words_;
  ShareRange range_;
  const std::vector<std::byte> access_;
  std::vector<std::byte> share_;
};

class OperationEvent final : public trace::Event {
 public:
  OperationEvent(Direction direction, uint64_t operation, const Comm& comm, double began, const Execution& done,
                 std::string failure)
      : Event(direction == Direction::kRead ? "read" : "write", "swath", began, real_clock().now()),
        operation_(operation),
        rank_(comm.rank()),
        ranks_(comm.size()),
        method_(done.method),
        predicted_seconds_(predicted_seconds(done)),
        counters_(done.counters),
        failure_(std::move(failure)) {}

 private:
  void write_arguments(trace::JsonObject& arguments) const override {
    arguments.put("operation", trace::key_text(operation_));
    arguments.put("rank", int64_t{rank_});
    arguments.put("ranks", int64_t{ranks_});
    if (!failure_.empty()) return arguments.put("error", failure_);
    arguments.put("method", method_);
    if (predicted_seconds_) arguments.put("predicted_seconds", *predicted_seconds_);
    put_counters(arguments, counters_);
  }

  const uint64_t operation_;
  const int rank_;
  const int ranks_;
  const std::string method_;
  const std::optional<double> predicted_seconds_;
  const Counters counters_;
  const std::string failure_;
};

class TransferEvent final : public trace::Event {
 public:
  TransferEvent(Direction direction, std::string path, std::optional<int64_t> offset, double began,
                const Counters& counters)
      : Event(direction == Direction::kRead ? "read" : "write", "swath", began, real_clock().now()),
        path_(std::move(path)),
        offset_(offset),
        counters_(counters) {}

 private:
  void write_arguments(trace::JsonObject& arguments) const override {
    arguments.put("path", path_);
    if (offset_) arguments.put("offset", *offset_);
    put_counters(arguments, counters_);
  }

  const std::string path_;
  const std::optional<int64_t> offset_;
  const Counters counters_;
};

}  // namespace

TracedOperation::TracedOperation(const Operation& operation, const Comm& comm, const std::optional<StripeMap>& stripes)
    : operation_(operation), comm_(comm), stripes_(stripes), began_(real_clock().now()) {}

void TracedOperation::end(const Execution& done) const { add(done, ""); }

void TracedOperation::fail(const std::string& message) const { add({}, message); }

void TracedOperation::add(const Execution& done, std::string failure) const {
  const uint64_t key = key_of(operation_, comm_.rank());
  if (trace::needs_definition(key)) {
    const ArrayForm& array = operation_.array();
    if (trace::needs_definition(array.key())) trace::add(std::make_unique<ArrayDefinition>(array, stripes_));
    trace::add(std::make_unique<OperationDefinition>(operation_, comm_.rank(), key));
  }
  trace::add(std::make_unique<OperationEvent>(operation_.direction(), key, comm_, began_, done, std::move(failure)));
}

TracedTransfer::TracedTransfer(Direction direction, const File& file, std::optional<int64_t> offset)
    : direction_(direction), file_(file), offset_(offset), began_(trace::is_active() ? real_clock().now() : 0) {}

void TracedTransfer::end(const Counters& counters) const {
  if (began_ == 0) return;
  trace::add(std::make_unique<TransferEvent>(direction_, file_.path(), offset_, began_, counters));
}

}  // namespace swath
