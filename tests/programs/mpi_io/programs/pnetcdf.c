/* A variable of doubles, rows * columns, by PnetCDF: written, read back and compared, collectively.

   access=vara: each rank has a block of columns; varn: boxes of one row, dealt to the ranks one by one; iput: as varn, by
   nonblocking calls and wait_all. rows=N, columns=N. */

#include <pnetcdf.h>

#include "phases.h"

static void require_nc(int code, const char* what) {
  if (code == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank_, what, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

typedef struct {
  MPI_Offset begin[2], count[2];
} Box;

static Box box_of(int varn, int k, MPI_Offset rows, MPI_Offset columns) {
  Box row = {{(MPI_Offset)k * ranks_ + rank_, 0}, {1, columns}};
  Box block = {{0, columns / ranks_ * rank_}, {rows, columns / ranks_}};
  return varn ? row : block;
}

static void visit(Box box, MPI_Offset columns, double* values, int check) {
  for (MPI_Offset k = 0; k < box.count[0] * box.count[1]; k++) {
    long long place = (box.begin[0] + k / box.count[1]) * columns + box.begin[1] + k % box.count[1];
    if (check)
      require_value(values[k], place);
    else
      values[k] = value_at(place);
  }
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  const char* access = text_argument(argc, argv, "access", "vara");
  MPI_Offset rows = argument(argc, argv, "rows", 2048), columns = argument(argc, argv, "columns", 2048);
  int varn = strcmp(access, "vara") != 0, nonblocking = strcmp(access, "iput") == 0;
  int boxes = varn ? (int)(rows / ranks_) : 1;
  Box first = box_of(varn, 0, rows, columns);
  MPI_Offset each = first.count[0] * first.count[1];
  double* values = malloc(sizeof(double) * (size_t)(each * boxes));
  MPI_Offset** begins = malloc(sizeof(MPI_Offset*) * (size_t)boxes);
  MPI_Offset** counts = malloc(sizeof(MPI_Offset*) * (size_t)boxes);
  int* requests = malloc(sizeof(int) * (size_t)boxes);
  int* statuses = malloc(sizeof(int) * (size_t)boxes);
  Box* all = malloc(sizeof(Box) * (size_t)boxes);
  for (int k = 0; k < boxes; k++) {
    all[k] = box_of(varn, k, rows, columns);
    begins[k] = all[k].begin, counts[k] = all[k].count;
    visit(all[k], columns, values + each * k, 0);
  }
  int file, dimensions[2], variable;
  require_nc(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
  ncmpi_def_dim(file, "row", rows, &dimensions[0]);
  ncmpi_def_dim(file, "column", columns, &dimensions[1]);
  require_nc(ncmpi_def_var(file, "values", NC_DOUBLE, 2, dimensions, &variable), "def_var");
  require_nc(ncmpi_enddef(file), "enddef");
  for (int reading = 0; reading < 2; reading++) {
    begin_phase();
    if (nonblocking) {
      for (int k = 0; k < boxes; k++)
        require_nc(reading ? ncmpi_iget_vara_double(file, variable, begins[k], counts[k], values + each * k, &requests[k])
                           : ncmpi_iput_vara_double(file, variable, begins[k], counts[k], values + each * k, &requests[k]),
                   "post");
      require_nc(ncmpi_wait_all(file, boxes, requests, statuses), "wait_all");
    } else if (varn) {
      require_nc(reading ? ncmpi_get_varn_double_all(file, variable, boxes, begins, counts, values)
                         : ncmpi_put_varn_double_all(file, variable, boxes, begins, counts, values),
                 "varn");
    } else {
      require_nc(reading ? ncmpi_get_vara_double_all(file, variable, begins[0], counts[0], values)
                         : ncmpi_put_vara_double_all(file, variable, begins[0], counts[0], values),
                 "vara");
    }
    end_phase(reading ? "read" : "write", each * boxes * ranks_ * (long long)sizeof(double));
    if (!reading) memset(values, 0, sizeof(double) * (size_t)(each * boxes));
  }
  for (int k = 0; k < boxes; k++) visit(all[k], columns, values + each * k, 1);
  require_nc(ncmpi_close(file), "close");
  free(values), free(begins), free(counts), free(requests), free(statuses), free(all);
  MPI_Finalize();
  return 0;
}
