// Ranks make a raw file together, read it as CYCLIC shares and as boxes, print a plan, and hear of one rank's error.
//   raw_array FILE                           three simulated ranks
//   mpiexec -n 3 raw_array_mpi FILE          the ranks of MPI
#include <swath/swath.h>

#include <cstdio>
#include <vector>

#include "example_ranks.h"

using namespace swath;

void work(const std::shared_ptr<Comm>& comm, const std::string& path) {
  const int rank = comm->rank();
  const int ranks = comm->size();
  const Shape shape{1000, 300};
  const auto array =
      create_raw(comm, {.array = {.path = path, .shape = shape, .element_bytes = sizeof(double)}, .overwrite = true});

  // Rows are dealt out in turn: CYCLIC(1) of the first dimension.
  const Distribution rows({{DimensionRule::Kind::kCyclic, 1}, {DimensionRule::Kind::kWhole, 0}}, {ranks, 1});
  const auto cyclic = Decomposition::distributed(rows, select_all(shape), ranks);
  std::vector<double> mine(static_cast<size_t>(element_count(rows.local_shape(shape, rank))), rank);
  array->execute({array->form(), {Direction::kWrite, cyclic}},
                 packed_memory(cyclic, rank, sizeof(double), mine.data()));

  // Each rank knows its own boxes only.
  const int64_t begin = int64_t{10} * rank;
  const auto boxes = Decomposition::own_boxes({{{begin, 0}, {begin + 10, 300}}}, rank, ranks, shape);
  std::vector<double> box(3000);
  const Operation read(array->form(), {Direction::kRead, boxes});
  const Execution done = array->execute(read, packed_memory(boxes, rank, sizeof(double), box.data()));
  for (size_t i = 0; i < box.size(); ++i) {
    if (box[i] != static_cast<double>((begin + static_cast<int64_t>(i) / 300) % ranks)) fail_argument("wrong data");
  }
  if (rank == 0) std::printf("%s\n", explain(*done.plan, path).c_str());

  try {  // one rank asks for another thing: every rank is told so
    const Method method = rank == 0 ? Method::kList : Method::kDirect;
    array->execute({array->form(), {Direction::kRead, boxes, method}}, packed_memory(boxes, rank, 8, box.data()));
  } catch (const Error& error) {
    if (rank == ranks - 1) std::printf("rank %d: %s\n", rank, error.what());
  }
  array->close();  // the file gets its name
}

int main(int arguments, char** argument) { return example::run(arguments, argument, work); }
