#include "calibrate/codecs.h"

#include <ctime>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/stopwatch.h"

namespace swath {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename Work>
double seconds_of(const Work& work) {
  const double begin = processor_seconds();
  work();
  return processor_seconds() - begin;
}

}  // namespace

CodingTimes time_coding(const CodecChain& codecs, std::span<const std::byte> elements, int64_t chunk_bytes,
                        double seconds_max) {
  const auto bytes = std::ssize(elements);
  if (chunk_bytes < 1 || bytes < chunk_bytes) {
    fail_argument("time_coding: chunks of " + std::to_string(chunk_bytes) + " bytes: expected 1 to " +
                  std::to_string(bytes) + ", the bytes that are given");
  }
  const auto size = static_cast<size_t>(chunk_bytes);
  const auto decoded = std::make_unique<std::byte[]>(size);
  CodecWorkspace workspace;
  const auto encode = [&](int64_t offset) {
    return codecs.encode(elements.subspan(static_cast<size_t>(offset), size), workspace);
  };
  // The first use of a library allocates its contexts, which later chunks find.
  const auto first = encode(0);
  std::vector<std::byte> stored(first.begin(), first.end());
  codecs.decode(stored, {decoded.get(), size}, 0, workspace);

  CodingTimes found;
  const Stopwatch watch;
  for (int64_t offset = 0; offset + chunk_bytes <= bytes; offset += chunk_bytes) {
    if (offset > 0 && watch.seconds() > seconds_max) break;
    std::span<const std::byte> made;
    const double encoding = seconds_of([&] { made = encode(offset); });
    stored.assign(made.begin(), made.end());  // decoding needs the workspace that `made` lies in
    const double decoding = seconds_of([&] { codecs.decode(stored, {decoded.get(), size}, 0, workspace); });
    found.encode.push_back(encoding / static_cast<double>(chunk_bytes));
    found.decode.push_back(decoding / static_cast<double>(chunk_bytes));
    found.decoded_bytes += chunk_bytes;
    found.stored_bytes += std::ssize(stored);
  }
  return found;
}

}  // namespace swath
