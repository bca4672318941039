// Ranks make a raw file together, read it as CYCLIC shares and as boxes, print a plan, and hear of one rank's error.
//   raw_array FILE                           this process alone
//   mpiexec -n 3 raw_array_mpi FILE          the ranks of MPI
#include <cstdio>
#include <swath/swath.hpp>
#include <vector>

#include "example_ranks.h"

using namespace swath;

void work(const std::shared_ptr<Comm>& comm, const std::vector<std::string>& arguments) {
  const std::string& path = arguments.front();
  const int rank = comm->rank();
  const int ranks = comm->size();
  const Shape shape{1000, 300};
  const formats::ElementType number = formats::type_of<double>();
  OneArrayFile made = create(comm, path, {.shape = shape, .type = number}, {.format = "raw", .overwrite = true});

  // Rows are dealt out in turn: CYCLIC(1) of the first dimension.
  const Distribution rows({{DimensionRule::Kind::kCyclic, 1}, {DimensionRule::Kind::kWhole, 0}}, {ranks, 1});
  const std::vector<double> mine(static_cast<size_t>(element_count(rows.local_shape(shape, rank))), rank);
  made->write(Decomposition::distributed(rows, select_all(shape), ranks), mine);
  made.close();  // the file gets its name

  // A raw file does not say what it holds.
  OneArrayFile file = open(comm, path, {}, OpenMode::kRead, {.raw = formats::RawElements{shape, number, {}, 0}});
  // Each rank knows its own boxes only.
  const int64_t begin = int64_t{10} * rank;
  const auto boxes = Decomposition::own_boxes({{{begin, 0}, {begin + 10, 300}}}, rank, ranks, shape);
  std::vector<double> box(3000);
  file->read(boxes, box);
  for (size_t i = 0; i < box.size(); ++i) {
    if (box[i] != static_cast<double>((begin + static_cast<int64_t>(i) / 300) % ranks)) fail_argument("wrong data");
  }
  if (rank == 0) std::printf("%s\n", file->explain(Direction::kRead, boxes).c_str());

  if (ranks > 1) {
    try {  // one rank asks for another thing: every rank is told so
      const Selection half{{0, 1, 500, false}, {0, 1, 300, false}};
      const Selection asked = rank == 0 ? half : select_all(shape);
      std::vector<double> share(static_cast<size_t>(element_count(rows.local_shape(selected_shape(asked), rank))));
      file->read(Decomposition::distributed(rows, asked, ranks), share);
    } catch (const Error& error) {
      if (rank == ranks - 1) std::printf("rank %d: %s\n", rank, error.what());
    }
  }
  file.close();
}

int main(int count, char** arguments) { return example::run(count, arguments, "FILE", work); }
