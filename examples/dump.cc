// A simulation dumps its state: each rank has a block of rows of two fields, and appends it, record by record.
//   dump FILE [STEPS]                        this process alone
//   mpiexec -n 4 dump_mpi FILE [STEPS]       the ranks of MPI
// The suffix says the format: .nc3 (netCDF classic), or .nc4, .h5 or .zarr, whose chunks are compressed.
#include <string>
#include <swath/swath.hpp>
#include <vector>

#include "example_ranks.h"

using namespace swath;
using formats::Attributes;
using formats::NewArray;

constexpr int64_t kRows = 45;
constexpr int64_t kColumns = 90;

// A field of the simulation along time, y and x.
NewArray field(const std::string& name, const std::string& units, bool compresses) {
  NewArray array{.shape = {0, kRows, kColumns}, .type = formats::type_of<float>()};
  array.variable = name;
  array.dimensions = {{"time", "y", "x"}};
  array.attributes = {{"units", units}};
  array.unlimited = {true, false, false};
  if (compresses) {
    array.chunks = Shape{1, kRows, kColumns};
    array.codecs = {{.kind = CodecKind::kShuffle, .element_bytes = sizeof(float)},
                    {.kind = CodecKind::kZlib, .level = 4}};
  }
  return array;
}

NewArray coordinate(const std::string& name, const std::string& units, int64_t length) {
  NewArray array{.shape = {length}, .type = formats::type_of<double>()};
  array.variable = name;
  array.dimensions = {{name}};
  array.attributes = {{"units", units}};
  array.unlimited = {length == 0};
  return array;
}

// What this rank computes: its rows of a field at one step.
std::vector<float> computed(const Distribution& rows, int rank, int64_t step, float scale) {
  const std::vector<IndexSet> mine = rows.local_sets({kRows, kColumns}, rank);
  std::vector<float> values;
  for (int64_t row = 0; row < mine[0].count(); ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      values.push_back(scale * static_cast<float>(step * 10000 + mine[0].at(row) * 100 + column));
    }
  }
  return values;
}

void work(const std::shared_ptr<Comm>& comm, const std::vector<std::string>& arguments) {
  const std::string& path = arguments[0];
  const int64_t steps = arguments.size() > 1 ? std::stoll(arguments[1]) : 3;
  const bool compresses = !path.ends_with(".nc3");
  const Distribution rows = example::blocks(2, comm->size());
  const Distribution one_value({}, {});  // rank 0 has it

  const Attributes title{{"title", "a simulation"}, {"Conventions", "CF-1.11"}};
  const auto file = create_file(comm, path, {.attributes = title, .overwrite = true});
  const auto y = file->add(coordinate("y", "m", kRows));
  const auto time = file->add(coordinate("time", "s", 0));
  const auto temperature = file->add(field("temperature", "K", compresses));
  const auto pressure = file->add(field("pressure", "Pa", compresses));

  const Distribution places = example::blocks(1, comm->size());
  std::vector<double> mine;
  const std::vector<IndexSet> own = places.local_sets({kRows}, comm->rank());
  for (int64_t i = 0; i < own[0].count(); ++i) mine.push_back(1000.0 * static_cast<double>(own[0].at(i)));
  y->write(Decomposition::distributed(places, select_all({kRows}), comm->size()), mine);

  file->sync();  // from here on the file has its name, and whole records
  for (int64_t step = 0; step < steps; ++step) {
    const std::vector<double> now(comm->rank() == 0 ? 1 : 0, 0.5 * static_cast<double>(step));
    time->append(one_value, now);
    temperature->append(rows, computed(rows, comm->rank(), step, 1));
    pressure->append(rows, computed(rows, comm->rank(), step, 0.5F));
  }
  file->close();
}

int main(int count, char** arguments) { return example::run(count, arguments, "FILE [STEPS]", work); }
