#include "mesh.h"

#define POINTS(m) ((int64_t)(m)->size + 2 * kGuard)

const char* const unknown_names[kUnknowns] = {"dens", "velx", "vely", "velz", "pres", "ener", "temp", "gamc",
                                              "game", "enuc", "gpot", "f__1", "f__2", "f__3", "f__4", "f__5",
                                              "f__6", "f__7", "f__8", "f__9", "f_10", "f_11", "f_12", "f_13"};
const int plotted[kPlotted] = {0, 4, 6, 11};

/* The values are sums of few bits: they are exact in 4 bytes, too. */
double value_at(int unknown, int64_t block, int z, int y, int x) {
  return 1 + unknown + (double)(block % 512) / 512 + (z + 2 * y + 4 * x) / 8192.0;
}

static double* unknown_at(const mesh* m, int64_t block, int z, int y, int x) {
  return m->unknowns + (((block * POINTS(m) + z) * POINTS(m) + y) * POINTS(m) + x) * kUnknowns;
}

static void fill_block(const mesh* m, int64_t block) {
  for (int z = 0; z < m->size; ++z)
    for (int y = 0; y < m->size; ++y)
      for (int x = 0; x < m->size; ++x)
        for (int u = 0; u < kUnknowns; ++u)
          unknown_at(m, block, z + kGuard, y + kGuard, x + kGuard)[u] = value_at(u, m->first + block, z, y, x);
}

/* A tree in which each block has eight children; blocks are numbered along it. */
static void fill_tree(mesh* m, int64_t b) {
  const int64_t block = m->first + b;
  int level = 1;
  for (int64_t parents = block; parents > 0; parents = (parents - 1) / 8) ++level;
  m->levels[b] = level;
  m->types[b] = 8 * block + 1 < m->all ? 2 : 1; /* 1: a leaf */
  for (int i = 0; i < 15; ++i) m->neighbours[b * 15 + i] = (int32_t)(i == 6 ? (block - 1) / 8 : 8 * block + i - 6);
  for (int d = 0; d < 3; ++d) {
    const double width = 1.0 / (1 << (level < 20 ? level : 20)), centre = (double)((block >> d) % 16) / 16;
    m->sizes[b * 3 + d] = width;
    m->centres[b * 3 + d] = centre;
    m->bounds[(b * 3 + d) * 2] = centre - width / 2;
    m->bounds[(b * 3 + d) * 2 + 1] = centre + width / 2;
  }
}

size_t unknown_count(const mesh* m) { return (size_t)(POINTS(m) * POINTS(m) * POINTS(m) * m->count) * kUnknowns; }

mesh make_mesh(int64_t all, int size, int rank, int ranks) {
  mesh m = {.all = all, .first = all * rank / ranks, .size = size};
  m.count = all * (rank + 1) / ranks - m.first;
  const size_t count = (size_t)m.count;
  const size_t numbers = unknown_count(&m);
  m.unknowns = allocated(numbers * sizeof(double));
  for (size_t i = 0; i < numbers; ++i) m.unknowns[i] = -1; /* guard cells stay so */
  m.levels = allocated(count * sizeof(int32_t));
  m.types = allocated(count * sizeof(int32_t));
  m.neighbours = allocated(count * 15 * sizeof(int32_t));
  m.centres = allocated(count * 3 * sizeof(double));
  m.sizes = allocated(count * 3 * sizeof(double));
  m.bounds = allocated(count * 6 * sizeof(double));
  for (int64_t b = 0; b < m.count; ++b) {
    fill_block(&m, b);
    fill_tree(&m, b);
  }
  return m;
}

void free_mesh(mesh* m) {
  free(m->unknowns);
  free(m->levels);
  free(m->types);
  free(m->neighbours);
  free(m->centres);
  free(m->sizes);
  free(m->bounds);
}

static void add(variables* contents, const char* name, const char* dtype, int ndim, const int64_t* shape) {
  variable* v = &contents->of[contents->count++];
  snprintf(v->name, sizeof v->name, "%s", name);
  snprintf(v->dtype, sizeof v->dtype, "%s", dtype);
  v->ndim = ndim;
  for (int d = 0; d < ndim; ++d) v->shape[d] = shape[d];
}

static variables tree_contents(const mesh* m) {
  variables contents = {.count = 0};
  add(&contents, "lrefine", "i4", 1, (int64_t[]){m->all});
  add(&contents, "nodetype", "i4", 1, (int64_t[]){m->all});
  add(&contents, "gid", "i4", 2, (int64_t[]){m->all, 15});
  add(&contents, "coordinates", "f8", 2, (int64_t[]){m->all, 3});
  add(&contents, "blocksize", "f8", 2, (int64_t[]){m->all, 3});
  add(&contents, "bndbox", "f8", 3, (int64_t[]){m->all, 3, 2});
  return contents;
}

variables checkpoint_contents(const mesh* m) {
  variables contents = tree_contents(m);
  const int64_t shape[] = {m->all, m->size, m->size, m->size};
  for (int u = 0; u < kUnknowns; ++u) add(&contents, unknown_names[u], "f8", 4, shape);
  return contents;
}

variables plot_contents(const mesh* m, int corners) {
  variables contents = tree_contents(m);
  const int64_t n = m->size + corners, shape[] = {m->all, n, n, n};
  for (int p = 0; p < kPlotted; ++p) add(&contents, unknown_names[plotted[p]], "f4", 4, shape);
  return contents;
}

blocks blocks_of(const mesh* m, int number) {
  const int64_t i4 = sizeof(int32_t), f8 = sizeof(double), point = kUnknowns * f8, row = POINTS(m) * point;
  switch (number) {
    case 0:
      return (blocks){m->first, m->count, m->levels, {i4}};
    case 1:
      return (blocks){m->first, m->count, m->types, {i4}};
    case 2:
      return (blocks){m->first, m->count, m->neighbours, {15 * i4, i4}};
    case 3:
      return (blocks){m->first, m->count, m->centres, {3 * f8, f8}};
    case 4:
      return (blocks){m->first, m->count, m->sizes, {3 * f8, f8}};
    case 5:
      return (blocks){m->first, m->count, m->bounds, {6 * f8, 2 * f8, f8}};
    default:
      break;
  }
  double* first = unknown_at(m, 0, kGuard, kGuard, kGuard) + number - kTree;
  return (blocks){m->first, m->count, first, {POINTS(m) * POINTS(m) * row, POINTS(m) * row, row, point}};
}

/* The mean of the eight cells around a corner. At the border some of them are guard cells, which are copies here. */
static float at_corner(const mesh* m, int unknown, int64_t block, const int* corner) {
  double sum = 0;
  for (int i = 0; i < 8; ++i) {
    int at[3];
    for (int d = 0; d < 3; ++d) {
      at[d] = corner[d] - 1 + ((i >> d) & 1);
      if (at[d] < 0) at[d] = 0;
      if (at[d] >= m->size) at[d] = m->size - 1;
      at[d] += kGuard;
    }
    sum += unknown_at(m, block, at[0], at[1], at[2])[unknown];
  }
  return (float)(sum / 8);
}

blocks plotted_blocks(const mesh* m, int unknown, int corners, float* memory) {
  const int n = m->size + corners;
  float* value = memory;
  for (int64_t b = 0; b < m->count; ++b)
    for (int z = 0; z < n; ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x)
          *value++ = corners ? at_corner(m, unknown, b, (int[]){z, y, x})
                             : (float)unknown_at(m, b, z + kGuard, y + kGuard, x + kGuard)[unknown];
  const int64_t f4 = sizeof(float), row = n * f4;
  return (blocks){m->first, m->count, memory, {n * n * row, n * row, row, f4}};
}
