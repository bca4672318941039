/* The test kills this program somewhere in the middle:
 *   killed begin FILE     makes a file of two records
 *   killed replace FILE   makes another in its place, of values that are 100 greater
 *   killed append FILE    adds a record to a variable
 *   killed describe FILE  adds an attribute
 *   killed define FILE    adds a variable */
#include <stdio.h>
#include <string.h>
#include <swath/swath.h>

enum { kLength = 600 };

static int must(int kind) {
  if (kind != 0) fprintf(stderr, "killed: %s\n", swath_error_message());
  return kind;
}

static int append(swath_array* t, swath_array* u, int record, int base) {
  int32_t values[kLength];
  for (int i = 0; i < kLength; ++i) values[i] = base + kLength * record + i;
  return must(swath_append(t, NULL, values, NULL)) || must(swath_append(u, NULL, values, NULL));
}

static int make(const char* path, int base) {
  swath_file* file;
  swath_array *t, *u;
  const int64_t shape[] = {SWATH_UNLIMITED, kLength}, chunks[] = {1, kLength / 2};
  const char* const names[] = {"time", "x"};
  swath_options options, of_chunks;
  swath_options_init(&options);
  swath_options_init(&of_chunks);
  options.overwrite = 1;
  if (strstr(path, ".nc3") == NULL) of_chunks.chunks = chunks, of_chunks.codecs = "shuffle,zlib:1";
  if (must(swath_file_create(path, &options, &file)) ||
      must(swath_define(file, "t", 2, shape, names, "i4", &of_chunks, &t)) ||
      must(swath_define(file, "u", 2, shape, names, "i4", &of_chunks, &u)) || append(t, u, 0, base) ||
      append(t, u, 1, base)) {
    return 1;
  }
  return must(swath_file_close(file));
}

static int change(const char* path, const char* what) {
  swath_file* file;
  swath_array *t, *more;
  const int64_t shape[] = {3};
  int32_t values[kLength];
  int kind = must(swath_file_open(path, "r+", NULL, &file)) || must(swath_variable(file, "t", &t));
  if (kind != 0) return kind;
  for (int i = 0; i < kLength; ++i) values[i] = 2 * kLength + i;
  if (strcmp(what, "append") == 0) kind = must(swath_append(t, NULL, values, NULL));
  if (strcmp(what, "describe") == 0) kind = must(swath_set_attribute(file, "t", "units", "text", -1, "K"));
  if (strcmp(what, "define") == 0) kind = must(swath_define(file, "more", 1, shape, NULL, "i4", NULL, &more));
  return must(swath_file_close(file)) || kind;
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  if (strcmp(arguments[1], "begin") == 0) return make(arguments[2], 0);
  if (strcmp(arguments[1], "replace") == 0) return make(arguments[2], 100);
  return change(arguments[2], arguments[1]);
}
