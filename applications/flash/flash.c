/* FLASH-IO writes a checkpoint and two plot files of an adaptive mesh, and reads the checkpoint. See README.md.
 *
 *   mpiexec -n 4 flash way=swath blocks=320 file=flash suffix=nc4 codecs=shuffle,zlib:1
 */
#include "mesh.h"

static const way* const kWays[] = {
    &by_swath,
    &by_mpi,
    &by_mpi_each_block,
#ifdef FLASH_HDF5
    &by_hdf5,
#endif
};

typedef struct {
  const way* by;
  const char *file, *suffix, *codecs;
  int rank, ranks;
  int64_t bytes;
  double writing, reading, total;
} program;

static const way* way_of(const char* name) {
  for (size_t i = 0; i < sizeof kWays / sizeof kWays[0]; ++i) {
    if (strcmp(kWays[i]->name, name) == 0) return kWays[i];
  }
  fail("unknown; expected swath, mpi, found, or hdf5 where it was built with HDF5", name);
}

static void path_of(const program* p, const char* kind, char* path, size_t room) {
  snprintf(path, room, "%s_%s.%s", p->file, kind, p->suffix);
}

static int64_t bytes_of(const variable* v) {
  int64_t bytes = bytes_of_element(v);
  for (int d = 0; d < v->ndim; ++d) bytes *= v->shape[d];
  return bytes;
}

static void write_variable(program* p, void* file, const variables* contents, int number, const blocks* mine) {
  const double began = MPI_Wtime();
  p->by->write(file, contents, number, mine);
  p->writing += MPI_Wtime() - began;
  p->bytes += bytes_of(&contents->of[number]);
}

static void* created(program* p, const char* kind, const variables* contents) {
  char path[4096];
  path_of(p, kind, path, sizeof path);
  const double began = MPI_Wtime();
  void* file = p->by->create(path, contents, p->codecs);
  p->writing += MPI_Wtime() - began;
  return file;
}

static void closed(program* p, void* file) {
  const double began = MPI_Wtime();
  p->by->close(file);
  p->writing += MPI_Wtime() - began;
}

static void write_checkpoint(program* p, const mesh* m) {
  const variables contents = checkpoint_contents(m);
  void* file = created(p, "checkpoint", &contents);
  for (int i = 0; i < contents.count; ++i) {
    const blocks mine = blocks_of(m, i);
    write_variable(p, file, &contents, i, &mine);
  }
  closed(p, file);
}

static void write_plot(program* p, const mesh* m, int corners) {
  const variables contents = plot_contents(m, corners);
  const int64_t n = m->size + corners;
  float* memory = allocated((size_t)(m->count * n * n * n) * sizeof(float));
  void* file = created(p, corners ? "corners" : "centres", &contents);
  for (int i = 0; i < contents.count; ++i) {
    const blocks mine = i < kTree ? blocks_of(m, i) : plotted_blocks(m, plotted[i - kTree], corners, memory);
    write_variable(p, file, &contents, i, &mine);
  }
  closed(p, file);
  free(memory);
}

/* Reads into other memory, and compares all of it: the guard cells between the points must not have changed. */
static void read_checkpoint(program* p, const mesh* m) {
  mesh again = make_mesh(m->all, m->size, p->rank, p->ranks);
  const variables contents = checkpoint_contents(m);
  const size_t count = unknown_count(m);
  for (size_t i = 0; i < count; ++i) again.unknowns[i] = -1; /* as the guard cells are */
  char path[4096];
  path_of(p, "checkpoint", path, sizeof path);
  const double began = MPI_Wtime();
  void* file = p->by->open(path, &contents);
  for (int i = 0; i < contents.count; ++i) {
    const blocks to = blocks_of(&again, i);
    p->by->read(file, &contents, i, &to);
  }
  p->by->close(file);
  p->reading = MPI_Wtime() - began;
  if (memcmp(m->unknowns, again.unknowns, count * sizeof(double)) != 0)
    fail("the checkpoint has other values than were written", path);
  if (memcmp(m->bounds, again.bounds, (size_t)m->count * 6 * sizeof(double)) != 0) fail("another tree", path);
  free_mesh(&again);
}

static void report(program* p, const mesh* m) {
  double seconds[] = {p->total, p->writing, p->reading};
  MPI_Allreduce(MPI_IN_PLACE, seconds, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (p->rank != 0) return;
  printf(
      "{\"application\": \"flash\", \"variant\": \"%s\", \"blocks\": %lld, \"ranks\": %d, \"bytes\": %lld, "
      "\"total_seconds\": %.9g, \"io_seconds\": %.9g, \"read_seconds\": %.9g, \"checked\": true}\n",
      p->by->name, (long long)m->all, p->ranks, (long long)p->bytes, seconds[0], seconds[1], seconds[2]);
}

int main(int count, char** arguments) {
  program p = {.bytes = 0};
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
  p.by = way_of(text_argument(count, arguments, "way", "swath"));
  p.file = text_argument(count, arguments, "file", "flash");
  p.suffix = p.by->suffix != NULL ? p.by->suffix : text_argument(count, arguments, "suffix", "h5");
  p.codecs = text_argument(count, arguments, "codecs", "");
  mesh m = make_mesh(integer_argument(count, arguments, "blocks", 80 * p.ranks),
                     (int)integer_argument(count, arguments, "size", 8), p.rank, p.ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  write_checkpoint(&p, &m);
  write_plot(&p, &m, 0);
  write_plot(&p, &m, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  p.total = MPI_Wtime() - began;
  read_checkpoint(&p, &m);
  report(&p, &m);
  free_mesh(&m);
  MPI_Finalize();
  return 0;
}
