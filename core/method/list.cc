#include "method/run.h"
#include "store/structured.h"

namespace swath {

// One structured transfer of all: as few requests as the file's runs and the store allow, and memory as it is.
void run_list(const Job& job) {
  const Request& request = job.plan.request;
  const StructuredTransfer all{.access = job.mine,
                               .addresses = job.memory.addresses,
                               .pieces_max = request.tuning.list_pieces,
                               .bytes_done = &job.progress.bytes_done};
  job.engine.transfer_structured(request.direction, all, job.counters);
  job.counters.buffer_bytes = request.tuning.list_pieces * static_cast<int64_t>(sizeof(Transfer));
}

}  // namespace swath
