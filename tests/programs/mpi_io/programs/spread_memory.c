/* A contiguous part of the file for each rank, from spread memory: every other group of elements, as in mpich#6985.

   elements=N of each rank; group=K of them beside each other, then as many that are left out; collective=0: independent. */

#include "phases.h"

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  long long elements = argument(argc, argv, "elements", 4000000), group = argument(argc, argv, "group", 1);
  int collective = (int)argument(argc, argv, "collective", 1);
  long long groups = elements / group, first = groups * group * rank_;
  double* values = calloc((size_t)(groups * group * 2), sizeof(double));
  for (long long g = 0; g < groups; g++)
    for (long long i = 0; i < group; i++) values[2 * g * group + i] = value_at(first + g * group + i);
  MPI_Datatype spread;
  MPI_Type_vector((int)groups, (int)group, (int)(2 * group), MPI_DOUBLE, &spread);
  MPI_Type_commit(&spread);
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
  MPI_Offset offset = (MPI_Offset)(first * (long long)sizeof(double));
  long long bytes = groups * group * ranks_ * (long long)sizeof(double);
  begin_phase();
  require((collective ? MPI_File_write_at_all : MPI_File_write_at)(file, offset, values, 1, spread, MPI_STATUS_IGNORE), "write");
  end_phase("write", bytes);
  memset(values, 0, sizeof(double) * (size_t)(groups * group * 2));
  begin_phase();
  require((collective ? MPI_File_read_at_all : MPI_File_read_at)(file, offset, values, 1, spread, MPI_STATUS_IGNORE), "read");
  end_phase("read", bytes);
  for (long long g = 0; g < groups; g++)
    for (long long i = 0; i < group; i++) {
      require_value(values[2 * g * group + i], first + g * group + i);
      if (values[(2 * g + 1) * group + i] != 0) refuse("an element that was left out of the datatype was written to");
    }
  require(MPI_File_close(&file), "close");
  MPI_Type_free(&spread);
  free(values);
  MPI_Finalize();
  return 0;
}
