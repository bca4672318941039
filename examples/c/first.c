#include <stdio.h>
#include <swath/swath.h>

int main(void) {
  double t[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}, column[3];
  swath_array* array;
  if (swath_create("first.nc", "t", 2, (int64_t[]){3, 4}, "f8", NULL, &array) != 0) return puts(swath_error_message());
  if (swath_write(array, NULL, NULL, t, NULL) || swath_close(array)) return puts(swath_error_message());
  if (swath_open("first.nc", "t", "r", NULL, &array)) return puts(swath_error_message());
  swath_read(array, NULL, (swath_slice[]){{0, SWATH_END, 1}, {2, 3, 1}}, column, NULL);
  printf("column 2: %g %g %g\n", column[0], column[1], column[2]);
  return swath_close(array);
}
