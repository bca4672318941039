// Access patterns of programs and libraries with MPI-IO: their datatypes, and, by plain loops, the element in memory
// for each element of the file. All elements have 8 bytes.
#pragma once

#include <mpi.h>
#include <stdint.h>

enum { ELEMENT_BYTES = 8 };

// The access of a rank to a file in one repetition.
typedef struct {
  int rank, ranks;
  int64_t bytes;            // asked for: of the file, or of what is moved of it
  int64_t file_elements;    // of the whole file, as it was before
  int64_t elements;         // that this rank moves
  int64_t memory_elements;  // of its buffer
  int64_t header_elements;  // of the file, before the view
  int64_t calls;            // each moves as many elements
  int64_t memory_step;      // elements of memory from one call to the next
  int64_t offset;           // of the first call, in etypes of the view
  int64_t offset_step;      // from one call to the next
  int64_t sizes[3];         // of the array, where the pattern has one
  int has_view;             // else the calls see bytes
} Job;

typedef struct {
  MPI_Datatype etype, file;  // of the view
  MPI_Datatype memory;       // of the buffer
  int count;                 // of `memory` in one call
} Types;

typedef void (*Visit)(void* context, int64_t file_element, int64_t memory_element);

typedef struct {
  const char* name;
  // Computes the other members of the job from `rank`, `ranks` and `bytes`; no calls if it cannot have so many ranks.
  void (*plan)(Job* job);
  // Makes and commits the datatypes as the program or the library does. Collective.
  void (*make_types)(const Job* job, Types* types);
  // Visits every element that all calls of this rank move, once.
  void (*each)(const Job* job, Visit visit, void* context);
} Pattern;

// Returns null if there is none of that name.
const Pattern* find_pattern(const char* name);
