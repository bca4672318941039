/* Contiguous transfers by explicit offsets, as IOR makes them: write, read back, compare.

   transfer=BYTES of one call; transfers=N of each rank; strided=1: transfers of the ranks take turns in the file, else
   each rank has a part of its own; collective=0: independent calls. */

#include "phases.h"

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  long long transfer = argument(argc, argv, "transfer", 1 << 20), transfers = argument(argc, argv, "transfers", 64);
  int strided = (int)argument(argc, argv, "strided", 0), collective = (int)argument(argc, argv, "collective", 0);
  int count = (int)(transfer / (long long)sizeof(double));
  double* values = malloc((size_t)transfer);
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");

  for (int reading = 0; reading < 2; reading++) {
    begin_phase();
    for (long long k = 0; k < transfers; k++) {
      long long turn = strided ? k * ranks_ + rank_ : rank_ * transfers + k;
      long long first = turn * count;
      MPI_Offset offset = (MPI_Offset)(turn * transfer);
      if (!reading) {
        for (int i = 0; i < count; i++) values[i] = value_at(first + i);
        require((collective ? MPI_File_write_at_all : MPI_File_write_at)(file, offset, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE),
                "write");
      } else {
        require((collective ? MPI_File_read_at_all : MPI_File_read_at)(file, offset, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE),
                "read");
        require_value(values[0], first);
        require_value(values[count - 1], first + count - 1);
      }
    }
    end_phase(reading ? "read" : "write", transfer * transfers * ranks_);
  }
  require(MPI_File_close(&file), "close");
  free(values);
  MPI_Finalize();
  return 0;
}
