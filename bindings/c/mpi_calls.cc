// The opening functions for the ranks of MPI.
#include <utility>

#include "array/collectively.h"
#include "comm/mpi_ranks.h"
#include "errors.h"
#include "handles.h"
#include "method/run.h"
#include "opening.h"
#include "plan/tuning.h"
#include "swath/swath_mpi.h"

namespace swath::c_interface {
namespace {

struct Redistribution {
  Shape shape;
  formats::ElementType type;
  std::optional<Decomposition> from, to;
  LocalMemory source, target;

  std::string words() const {
    return "redistribute\nshape=" + to_string(shape) + "\ndtype=" + type.to_string() + "\nfrom=" + from->to_string() +
           "\nto=" + to->to_string();
  }
};

LocalMemory share_of(const Decomposition& whose, const Comm& comm, int64_t element_bytes, void* data,
                     const char* name) {
  LocalMemory memory = packed_memory(whose, comm.rank(), element_bytes, data);
  if (!memory.parts.empty() && memory.parts.front().count() > 0) given(data, name);
  return memory;
}

}  // namespace
}  // namespace swath::c_interface

using namespace swath;
using namespace swath::c_interface;

int swath_file_open_mpi(MPI_Comm comm, const char* path, const char* mode, const swath_options* options,
                        swath_file** file) {
  return guarded([&] { c_interface::open_file(make_mpi_comm(comm), path, mode, options, file); });
}

int swath_file_create_mpi(MPI_Comm comm, const char* path, const swath_options* options, swath_file** file) {
  return guarded([&] { c_interface::create_file(make_mpi_comm(comm), path, options, file); });
}

int swath_open_mpi(MPI_Comm comm, const char* path, const char* variable, const char* mode,
                   const swath_options* options, swath_array** array) {
  return guarded([&] {
    c_interface::open_array(make_mpi_comm(comm), {.path = path, .variable = variable, .mode = mode, .options = options},
                            array);
  });
}

// NOLINTNEXTLINE(readability-function-size)
int swath_open_raw_mpi(MPI_Comm comm, const char* path, int ndim, const int64_t* shape, const char* dtype,
                       const char* mode, const swath_options* options, swath_array** array) {
  return guarded([&] {
    c_interface::open_array(make_mpi_comm(comm),
                            {.path = path,
                             .mode = mode,
                             .options = options,
                             .is_raw = true,
                             .raw = {.ndim = ndim, .shape = shape, .dtype = dtype}},
                            array);
  });
}

// NOLINTNEXTLINE(readability-function-size)
int swath_create_mpi(MPI_Comm comm, const char* path, const char* variable, int ndim, const int64_t* shape,
                     const char* dtype, const swath_options* options, swath_array** array) {
  return guarded([&] {
    c_interface::create_array(make_mpi_comm(comm), path,
                              {.variable = variable, .ndim = ndim, .shape = shape, .dtype = dtype}, options, array);
  });
}

// NOLINTNEXTLINE(readability-function-size)
int swath_redistribute_mpi(MPI_Comm comm, int ndim, const int64_t* shape, const char* dtype,
                           const swath_distribution* from, const void* source, const swath_distribution* to,
                           void* target) {
  return guarded([&] {
    const std::shared_ptr<Comm> ranks = make_mpi_comm(comm);
    const Redistribution asked = parsed(*ranks, [&] {
      Redistribution found;
      found.shape = shape_of(ndim, shape);
      found.type = type_of_text(dtype);
      const auto decomposed = [&](const swath_distribution* whose, const char* name) {
        return Decomposition::distributed(given(whose, name)->distribution, select_all(found.shape), ranks->size());
      };
      found.from = decomposed(from, "from");
      found.to = decomposed(to, "to");
      found.source = share_of(*found.from, *ranks, found.type.bytes, const_cast<void*>(source), "source");
      found.target = share_of(*found.to, *ranks, found.type.bytes, target, "target");
      return found;
    });
    agree_same(*ranks, asked.words());
    Progress unwatched;
    redistribute(asked.type.bytes, {*asked.from, asked.source}, {*asked.to, asked.target}, *ranks, {}, unwatched);
  });
}
