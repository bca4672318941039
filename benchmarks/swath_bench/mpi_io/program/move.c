// One measurement of an MPI-IO program: opens a file, makes types, sets a view, reads or writes; repeats, and checks.
//
//   mpiexec -n RANKS move PATTERN collective|independent read|write BYTES REPETITIONS FILE FLOOR_FILE ANSWER
//
// FILE and FLOOR_FILE are created, or filled again, before the timing. ANSWER gets a line of JSON for each repetition,
// and one for the job. If data is wrong, the exit status is 1, and standard error has the reason.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "patterns.h"

enum { FILL_ELEMENTS = 1 << 16, STAMP_SHIFT = 40 };

static const int64_t untouched = -1;

typedef struct {
  Job job;
  const Pattern* pattern;
  int collective, writes;
  const char *path, *floor_path;
  int64_t* memory;
  int64_t stamp;  // of the data that is moved
  int64_t floor_share;
} Run;

typedef struct {
  double view_seconds, move_seconds, floor_seconds;
  double processor_seconds;  // of this rank, threads and system calls included
  int64_t view_bytes, peak_bytes;
} Measured;

static int64_t value(int64_t element, int64_t stamp) { return element + (stamp << STAMP_SHIFT); }

static void fail(const char* what) {
  fprintf(stderr, "move: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void must(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "move: %s: %.*s\n", what, length, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void move_plainly(int fd, int writes, void* memory, int64_t bytes, int64_t offset) {
  char* at = memory;
  while (bytes > 0) {
    const ssize_t done = writes ? pwrite(fd, at, (size_t)bytes, offset) : pread(fd, at, (size_t)bytes, offset);
    if (done <= 0) fail("a plain read or write failed");
    at += done;
    offset += done;
    bytes -= done;
  }
}

// ---- data and its check
// -----------------------------------------------------------------------------------

// All elements then carry stamp 0. Requests have 512 KiB: for larger ones Linux keeps larger folios, and small writes
// to these take longer.
static void fill(const char* path, int64_t elements) {
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0) fail("the file cannot be opened");
  int64_t* piece = malloc(FILL_ELEMENTS * sizeof *piece);
  for (int64_t begin = 0; begin < elements; begin += FILL_ELEMENTS) {
    const int64_t count = elements - begin < FILL_ELEMENTS ? elements - begin : FILL_ELEMENTS;
    for (int64_t i = 0; i < count; ++i) piece[i] = value(begin + i, 0);
    move_plainly(fd, 1, piece, count * ELEMENT_BYTES, begin * ELEMENT_BYTES);
  }
  free(piece);
  if (ftruncate(fd, elements * ELEMENT_BYTES) != 0) fail("the file cannot be cut");
  close(fd);
}

static void put_value(void* context, int64_t file_element, int64_t memory_element) {
  const Run* run = context;
  run->memory[memory_element] = value(file_element, run->stamp);
}

static void prepare_memory(Run* run) {
  for (int64_t i = 0; i < run->job.memory_elements; ++i) run->memory[i] = untouched;
  if (run->writes) run->pattern->each(&run->job, put_value, run);
}

typedef struct {
  const Run* run;
  const int64_t* data;
  int64_t wrong, seen;
  int in_memory;
} Checked;

static void check_one(void* context, int64_t file_element, int64_t memory_element) {
  Checked* checked = context;
  const int64_t found = checked->data[checked->in_memory ? memory_element : file_element];
  checked->wrong += found != value(file_element, checked->run->stamp);
  checked->seen++;
}

// Checks that moved elements are right and all others unchanged: each rank in its memory, rank 0 in the file.
// Collective.
static void check(const Run* run) {
  Checked checked = {run, run->memory, 0, 0, 1};
  int64_t changed = 0, moved = 0;
  if (run->writes) {
    const int fd = open(run->path, O_RDONLY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) fail("the file cannot be looked at");
    if (status.st_size != run->job.file_elements * ELEMENT_BYTES) fail("the file has another size");
    const int64_t* data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) fail("the file cannot be mapped");
    checked.data = data;
    checked.in_memory = 0;
    run->pattern->each(&run->job, check_one, &checked);
    for (int64_t i = 0; run->job.rank == 0 && i < run->job.file_elements; ++i) changed += data[i] != value(i, 0);
    munmap((void*)data, (size_t)status.st_size);
    close(fd);
    MPI_Reduce(&checked.seen, &moved, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  } else {
    run->pattern->each(&run->job, check_one, &checked);
    moved = checked.seen;
    for (int64_t i = 0; i < run->job.memory_elements; ++i) changed += run->memory[i] != untouched;
  }
  if (checked.wrong > 0 || ((run->job.rank == 0 || !run->writes) && changed != moved)) {
    fprintf(stderr,
            "move: wrong data: rank %d: %s, %s: %lld elements are wrong, and %lld changed where %lld were moved\n",
            run->job.rank, run->pattern->name, run->writes ? "write" : "read", (long long)checked.wrong,
            (long long)changed, (long long)moved);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// ---- transfers
// ---------------------------------------------------------------------------------------------------------

static void move_once(const Run* run, MPI_File file, const Types* types, int64_t call) {
  const MPI_Offset offset = run->job.offset + call * run->job.offset_step;
  int64_t* memory = run->memory + call * run->job.memory_step;
  MPI_Status status;
  int code;
  if (run->writes) {
    code = run->collective ? MPI_File_write_at_all(file, offset, memory, types->count, types->memory, &status)
                           : MPI_File_write_at(file, offset, memory, types->count, types->memory, &status);
  } else {
    code = run->collective ? MPI_File_read_at_all(file, offset, memory, types->count, types->memory, &status)
                           : MPI_File_read_at(file, offset, memory, types->count, types->memory, &status);
  }
  must(code, run->writes ? "write" : "read");
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  if (bytes != run->job.elements / run->job.calls * ELEMENT_BYTES) fail("the status tells another number of bytes");
}

// The seconds from the first rank's start to the last rank's end. Collective.
static double span(double start, double end) {
  double first, last;
  MPI_Allreduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return last - first;
}

// One contiguous transfer of as many bytes by each rank, with a system call.
static double measure_floor(const Run* run) {
  const int fd = open(run->floor_path, O_RDWR);
  if (fd < 0) fail("the file for the floor cannot be opened");
  int64_t begin = 0;
  const int64_t bytes = run->job.elements * ELEMENT_BYTES;
  MPI_Exscan(&bytes, &begin, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (run->job.rank == 0) begin = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  move_plainly(fd, run->writes, run->memory, bytes, begin);
  const double seconds = span(start, MPI_Wtime());
  close(fd);
  return seconds;
}

static double processor_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static Measured measure(Run* run, MPI_File file, int64_t baseline) {
  Measured measured = {0};
  Types types;
  prepare_memory(run);
  begin_peak();  // what checking took does not count
  MPI_Barrier(MPI_COMM_WORLD);
  const double used = processor_seconds();
  const double start = MPI_Wtime();
  run->pattern->make_types(&run->job, &types);
  if (run->job.has_view) {
    const MPI_Offset displacement = run->job.header_elements * ELEMENT_BYTES;
    must(MPI_File_set_view(file, displacement, types.etype, types.file, "native", MPI_INFO_NULL), "set_view");
  }
  const double seen = MPI_Wtime();
  measured.view_seconds = span(start, seen);
  measured.view_bytes = peak_bytes() - baseline;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int64_t call = 0; call < run->job.calls; ++call) move_once(run, file, &types, call);
  const double ended = MPI_Wtime();
  measured.processor_seconds = processor_seconds() - used;
  measured.move_seconds = span(begun, ended);
  measured.peak_bytes = peak_bytes() - baseline;
  if (types.file != MPI_DATATYPE_NULL) MPI_Type_free(&types.file);
  if (types.etype != MPI_DATATYPE_NULL) MPI_Type_free(&types.etype);
  MPI_Type_free(&types.memory);
  check(run);
  return measured;
}

// The sum over all ranks. Collective.
static int64_t sum_of(int64_t mine) {
  int64_t all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static void tell(FILE* answer, const Run* run, const Measured* measured, int repetition) {
  const int64_t view = sum_of(measured->view_bytes), peak = sum_of(measured->peak_bytes);
  const int64_t bytes = sum_of(run->job.elements) * ELEMENT_BYTES;
  double processor = 0;
  MPI_Reduce(&measured->processor_seconds, &processor, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (run->job.rank != 0) return;
  fprintf(answer,
          "{\"repetition\": %d, \"view_seconds\": %.9f, \"move_seconds\": %.9f, \"floor_seconds\": %.9f, "
          "\"view_memory_bytes\": %lld, \"memory_bytes\": %lld, \"calls\": %lld, \"bytes\": %lld, "
          "\"processor_seconds\": %.6f}\n",
          repetition, measured->view_seconds, measured->move_seconds, measured->floor_seconds, (long long)view,
          (long long)peak, (long long)run->job.calls, (long long)bytes, processor);
  fflush(answer);
}

static void make_files(const Run* run) {
  const int64_t elements = sum_of(run->job.elements);
  if (run->job.rank == 0) {
    fill(run->path, run->job.file_elements);
    fill(run->floor_path, elements);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 9) fail("expected PATTERN collective|independent read|write BYTES REPETITIONS FILE FLOOR_FILE ANSWER");
  Run run = {0};
  run.pattern = find_pattern(argv[1]);
  if (run.pattern == NULL) fail("there is no such pattern");
  run.collective = strcmp(argv[2], "collective") == 0;
  run.writes = strcmp(argv[3], "write") == 0;
  run.job.bytes = atoll(argv[4]);
  const int repetitions = atoi(argv[5]);
  run.path = argv[6];
  run.floor_path = argv[7];
  MPI_Comm_rank(MPI_COMM_WORLD, &run.job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &run.job.ranks);
  run.pattern->plan(&run.job);
  if (run.job.calls == 0) fail("the pattern is not for so many ranks");
  run.memory = malloc((size_t)run.job.memory_elements * ELEMENT_BYTES);
  if (run.memory == NULL) fail("no memory");
  prepare_memory(&run);  // touched
  make_files(&run);
  FILE* answer = run.job.rank == 0 ? fopen(argv[8], "w") : NULL;
  if (run.job.rank == 0 && answer == NULL) fail("the answer cannot be written");

  MPI_File file;
  const int mode = run.writes ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
  const int64_t baseline = begin_peak();  // what opening takes counts
  must(MPI_File_open(MPI_COMM_WORLD, run.path, mode, MPI_INFO_NULL, &file), "open");
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    run.stamp = run.writes ? repetition + 1 : 0;
    Measured measured = measure(&run, file, baseline);
    measured.floor_seconds = measure_floor(&run);
    tell(answer, &run, &measured, repetition);
  }
  must(MPI_File_close(&file), "close");
  if (answer != NULL) {
    fclose(answer);
  }
  free(run.memory);
  MPI_Finalize();
  return 0;
}
