#include "method/run.h"
#include "plan/steps.h"

namespace swath {

// Batches of bounded size: as few requests as the file's runs allow, and memory as it is.
void run_list(const Job& job) {
  const Request& request = job.plan.request;
  for_each_list_batch(job.mine, job.memory.addresses, request.tuning, [&](std::span<const Transfer> batch) {
    job.engine.transfer(request.direction, batch, job.counters);
    for (const Transfer& piece : batch) job.progress.bytes_done += piece.bytes;
  });
  job.counters.buffer_bytes = request.tuning.list_pieces * static_cast<int64_t>(sizeof(Transfer));
}

}  // namespace swath
