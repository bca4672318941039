/* A C99 program that uses the headers, compiled with all warnings. The test is that it compiles. */
#include <swath/swath.h>

const char* swath_c99_first_column(swath_array* array, double* column);

const char* swath_c99_first_column(swath_array* array, double* column) {
  const swath_slice slices[] = {{0, SWATH_END, 1}, {0, 1, 1}};
  swath_options options;
  swath_options_init(&options);
  options.codecs = "shuffle,zlib:4";
  return swath_read(array, NULL, slices, column, NULL) == SWATH_OK ? "" : swath_error_message();
}
