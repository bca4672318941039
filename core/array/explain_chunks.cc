#include <utility>

#include "array/array.h"
#include "chunks/look.h"

namespace swath {
namespace {

constexpr int64_t kUnitsLookedAt = 1000;

}  // namespace

std::shared_ptr<const ChunkPlan> Array::explain_chunks(const Operation& operation, std::optional<double> cached,
                                                       std::optional<CodecCost> coding) {
  const auto now = stored();
  const CodedArray& chunks = *now->chunks;
  ChunkRequest request;
  request.direction = operation.direction();
  request.decomposition = operation.decomposition();
  request.profile = learning_->profile();
  request.cached = cached;
  request.coding = coding;
  request.grid = chunks.grid();
  if (operation.decomposition().ranks() == comm_->size()) {
    for (int rank = 0; rank < comm_->size(); ++rank) request.node_of_rank.push_back(comm_->node_of(rank));
    request.sharing_refusal = comm_->shared_refusal();
  }
  if (const GateScope inside(gate_, Gate::Use::kConcurrent); inside) {
    const ChunkOptions options = chunk_options(operation);
    request.buffer_bytes_max = options.buffer_bytes_max;
    request.thread_buffer_bytes = buffer_bytes_of_thread(chunks, operation.direction());
    const std::vector<Part> together = operation.decomposition().together(chunks.element_bytes);
    if (chunks_held(request.grid, together) <= kChunksCountedMax) {
      ChunkLook look = look_at_chunks(chunks, together, options, kUnitsLookedAt);
      request.grid = std::move(look.grid);
      if (!cached) request.cached = look.cached;
    }
  }
  return std::make_shared<const ChunkPlan>(make_chunk_plan(std::move(request)));
}

}  // namespace swath
