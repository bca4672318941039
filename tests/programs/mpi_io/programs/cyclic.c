/* A vector of doubles distributed to the ranks one by one, by a view: write, read back, compare.

   elements=N of each rank; collective=0: independent calls. */

#include "phases.h"

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  long long elements = argument(argc, argv, "elements", 4000000);
  int collective = (int)argument(argc, argv, "collective", 1);
  double* values = malloc(sizeof(double) * (size_t)elements);
  for (long long i = 0; i < elements; i++) values[i] = value_at(i * ranks_ + rank_);

  MPI_Datatype dealt;
  MPI_Type_vector((int)elements, 1, ranks_, MPI_DOUBLE, &dealt);
  MPI_Type_commit(&dealt);
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
  begin_phase();
  require(MPI_File_set_view(file, (MPI_Offset)sizeof(double) * rank_, MPI_DOUBLE, dealt, "native", MPI_INFO_NULL), "view");
  end_phase("set_view", 0);

  long long bytes = elements * ranks_ * (long long)sizeof(double);
  begin_phase();
  require((collective ? MPI_File_write_at_all : MPI_File_write_at)(file, 0, values, (int)elements, MPI_DOUBLE, MPI_STATUS_IGNORE),
          "write");
  end_phase("write", bytes);
  memset(values, 0, sizeof(double) * (size_t)elements);
  begin_phase();
  require((collective ? MPI_File_read_at_all : MPI_File_read_at)(file, 0, values, (int)elements, MPI_DOUBLE, MPI_STATUS_IGNORE),
          "read");
  end_phase("read", bytes);
  for (long long i = 0; i < elements; i++) require_value(values[i], i * ranks_ + rank_);
  require(MPI_File_close(&file), "close");
  MPI_Type_free(&dealt);
  free(values);
  MPI_Finalize();
  return 0;
}
