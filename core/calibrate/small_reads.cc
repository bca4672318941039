#include "calibrate/small_reads.h"

#include <unistd.h>

#include <cstddef>
#include <memory>

#include "array/array.h"
#include "base/error.h"
#include "base/stopwatch.h"
#include "comm/comm.h"
#include "files/one_array_file.h"
#include "store/fault/fault.h"  // of which an OpenFile has none here
#include "store/open_file.h"

namespace swath {
namespace {

template <typename Read>
double seconds_of_one(int calls, const Read& read) {
  const Stopwatch watch;
  for (int call = 0; call < calls; ++call) read(call);
  return watch.seconds() / calls;
}

}  // namespace

SmallReads time_small_reads(const std::string& path, int64_t bytes, int calls, int repetitions) {
  const OpenFile file(path, OpenMode::kRead, nullptr);
  if (bytes < 1 || bytes > file.size()) {
    fail_argument("time_small_reads of " + std::to_string(bytes) + " bytes: expected 1 to " +
                  std::to_string(file.size()) + ", the size of " + path);
  }
  const int64_t places = file.size() / bytes;
  const formats::RawElements all_bytes{.shape = {file.size()}, .type = formats::ElementType::parse("|u1")};
  const OneArrayFile opened = open(make_solo_comm(), path, std::nullopt, OpenMode::kRead, {.raw = all_bytes});
  Array& array = opened->array();
  const auto memory = std::make_unique<std::byte[]>(static_cast<size_t>(bytes));
  const auto offset_of = [&](int call) { return call * int64_t{37} % places * bytes; };

  const auto by_pread = [&](int call) {
    const ssize_t got = ::pread(file.descriptor(), memory.get(), static_cast<size_t>(bytes), offset_of(call));
    if (got != bytes) throw Error(ErrorKind::kStore, "read " + path + ": got " + std::to_string(got) + " bytes");
  };
  const auto by_core = [&](int call) {
    const Operation read(array.form(), {Direction::kRead, Decomposition::alone({{offset_of(call), 1, bytes, false}})});
    array.execute(read, packed_memory(read.decomposition(), 0, 1, memory.get()));
  };

  SmallReads seconds;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    seconds.pread.push_back(seconds_of_one(calls, by_pread));
    seconds.core.push_back(seconds_of_one(calls, by_core));
  }
  return seconds;
}

}  // namespace swath
