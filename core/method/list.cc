#include "method/run.h"
#include "store/structured.h"

namespace swath {

namespace {

// One structured transfer of all elements, directly to or from memory.
void run_structured(const Job& job, bool as_described) {
  const Request& request = job.plan.request;
  const StructuredTransfer all{.access = job.mine,
                               .addresses = job.memory.addresses,
                               .pieces_max = request.tuning.list_pieces,
                               .bytes_done = &job.progress.bytes_done,
                               .as_described = as_described};
  job.engine.transfer_structured(request.direction, all, job.counters);
}

}  // namespace

// As few requests as the file's runs and the store allow.
void run_list(const Job& job) {
  run_structured(job, false);
  job.counters.buffer_bytes = job.plan.request.tuning.list_pieces * static_cast<int64_t>(sizeof(Transfer));
}

// One request for each object of a store that takes descriptions (ncio-2006, section 2.4: datatype I/O).
void run_datatype(const Job& job) { run_structured(job, true); }

}  // namespace swath
