/* Shared by the applications in C: arguments of the form name=value, and the end of all ranks if one fails. */
#ifndef SWATH_APPLICATIONS_PROGRAM_H
#define SWATH_APPLICATIONS_PROGRAM_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const char* text_argument(int count, char** arguments, const char* name, const char* value) {
  const size_t length = strlen(name);
  for (int i = 1; i < count; ++i) {
    if (strncmp(arguments[i], name, length) == 0 && arguments[i][length] == '=') value = arguments[i] + length + 1;
  }
  return value;
}

/* Prints the error and its subject, and ends all ranks. */
static inline _Noreturn void fail(const char* what, const char* thing) {
  fprintf(stderr, "%s: %s\n", thing, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

static inline int64_t integer_argument(int count, char** arguments, const char* name, int64_t value) {
  const char* text = text_argument(count, arguments, name, NULL);
  if (text == NULL) return value;
  char* end = NULL;
  value = strtoll(text, &end, 10);
  if (end == text || *end != '\0') fail("expected a whole number", name);
  return value;
}

static inline void* allocated(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) fail("no memory", "malloc");
  return memory;
}

#endif
