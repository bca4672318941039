/* A variable of doubles with an unlimited dimension, by parallel netCDF-4: written record by record, read back, compared.

   records=N; columns=N: each rank has a block of them. */

#include <netcdf.h>
#include <netcdf_par.h>

#include "phases.h"

static void require_nc(int code, const char* what) {
  if (code == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank_, what, nc_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  size_t records = (size_t)argument(argc, argv, "records", 64), columns = (size_t)argument(argc, argv, "columns", 65536);
  size_t mine = columns / (size_t)ranks_, first = mine * (size_t)rank_, chunks[2] = {1, mine};
  double* values = malloc(sizeof(double) * mine);
  int file, dimensions[2], variable;
  require_nc(nc_create_par(argv[1], NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "create");
  require_nc(nc_def_dim(file, "record", NC_UNLIMITED, &dimensions[0]), "def_dim");
  require_nc(nc_def_dim(file, "column", columns, &dimensions[1]), "def_dim");
  require_nc(nc_def_var(file, "values", NC_DOUBLE, 2, dimensions, &variable), "def_var");
  require_nc(nc_def_var_chunking(file, variable, NC_CHUNKED, chunks), "def_var_chunking");
  require_nc(nc_enddef(file), "enddef");
  require_nc(nc_var_par_access(file, variable, NC_COLLECTIVE), "var_par_access");
  for (int reading = 0; reading < 2; reading++) {
    begin_phase();
    for (size_t record = 0; record < records; record++) {
      size_t begin[2] = {record, first}, count[2] = {1, mine};
      for (size_t i = 0; i < mine && !reading; i++) values[i] = value_at((long long)(record * columns + first + i));
      require_nc(reading ? nc_get_vara_double(file, variable, begin, count, values)
                         : nc_put_vara_double(file, variable, begin, count, values),
                 reading ? "get" : "put");
      for (size_t i = 0; i < mine && reading; i++) require_value(values[i], (long long)(record * columns + first + i));
    }
    end_phase(reading ? "read" : "write", (long long)(records * mine * (size_t)ranks_ * sizeof(double)));
  }
  require_nc(nc_close(file), "close");
  free(values);
  MPI_Finalize();
  return 0;
}
