#include "patterns.h"

#include <stdlib.h>
#include <string.h>

static int64_t lowest(int64_t a, int64_t b) { return a < b ? a : b; }

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

static MPI_Datatype copy_of(MPI_Datatype type) {
  MPI_Datatype copy;
  MPI_Type_dup(type, &copy);
  return committed(copy);
}

// Doubles in memory, without gaps.
static void plain_memory(const Job* job, Types* types) {
  types->memory = copy_of(MPI_DOUBLE);
  types->count = (int)(job->elements / job->calls);
}

static void plan_one_call(Job* job, int64_t elements) {
  job->elements = job->memory_elements = elements;
  job->calls = 1;
  job->has_view = 1;
}

// ---- elements of 8 bytes in turn ------------------------------------------------------------------------------------

static void plan_cyclic(Job* job) {
  plan_one_call(job, job->bytes / ELEMENT_BYTES / job->ranks);
  job->file_elements = job->elements * job->ranks;
}

static void make_cyclic(const Job* job, Types* types) {
  MPI_Datatype vector, placed;
  MPI_Type_vector((int)job->elements, 1, job->ranks, MPI_DOUBLE, &vector);
  const int one = 1;
  const MPI_Aint place = (MPI_Aint)job->rank * ELEMENT_BYTES;
  MPI_Type_create_hindexed(1, &one, &place, vector, &placed);
  MPI_Type_free(&vector);
  types->file = committed(placed);
  types->etype = copy_of(MPI_DOUBLE);
  plain_memory(job, types);
}

static void each_cyclic(const Job* job, Visit visit, void* context) {
  for (int64_t i = 0; i < job->elements; ++i) visit(context, i * job->ranks + job->rank, i);
}

// ---- BTIO: cells of five doubles on diagonals of a grid of ranks, ghost cells around them in memory
// ------------------

enum { BT_VARIABLES = 5, BT_GHOSTS = 2 };

static int64_t side_of(const Job* job) {
  int64_t side = 1;
  while ((side + 1) * (side + 1) <= job->ranks) ++side;
  return side;
}

// Part `index` of `parts` of the `points`: the first parts have one more if the division leaves a rest.
static void part_of(int64_t points, int64_t parts, int64_t index, int* low, int* size) {
  const int64_t more = points % parts;
  *size = (int)(points / parts + (index < more));
  *low = (int)(index * (points / parts) + lowest(index, more));
}

// The position of the cell, x first, and its size.
static void bt_cell(const Job* job, int64_t cell, int low[3], int size[3]) {
  const int64_t side = side_of(job);
  const int64_t place[3] = {(job->rank % side + cell) % side, (job->rank / side - cell + side) % side, cell};
  for (int d = 0; d < 3; ++d) part_of(job->sizes[0], side, place[d], &low[d], &size[d]);
}

static int64_t bt_row(const Job* job) {  // of a cell in memory, with its ghosts
  return (job->sizes[0] + side_of(job) - 1) / side_of(job) + 2 * BT_GHOSTS;
}

static void plan_btio(Job* job, int64_t points) {
  for (int d = 0; d < 3; ++d) job->sizes[d] = points;
  const int64_t side = side_of(job);
  if (side * side != job->ranks) return;
  int64_t mine = 0;
  for (int64_t cell = 0; cell < side; ++cell) {
    int low[3], size[3];
    bt_cell(job, cell, low, size);
    mine += (int64_t)size[0] * size[1] * size[2];
  }
  const int64_t dump_elements = points * points * points * BT_VARIABLES;
  job->calls = job->bytes / (dump_elements * ELEMENT_BYTES) > 0 ? job->bytes / (dump_elements * ELEMENT_BYTES) : 1;
  job->elements = mine * BT_VARIABLES * job->calls;
  job->memory_step = side * bt_row(job) * bt_row(job) * bt_row(job) * BT_VARIABLES;
  job->memory_elements = job->memory_step * job->calls;
  job->file_elements = dump_elements * job->calls;
  job->offset_step = mine;  // an etype is a point
  job->has_view = 1;
}

static void plan_btio_s(Job* job) { plan_btio(job, 12); }
static void plan_btio_a(Job* job) { plan_btio(job, 64); }
static void plan_btio_b(Job* job) { plan_btio(job, 102); }

static void make_btio(const Job* job, Types* types) {
  const int side = (int)side_of(job);
  const int row = (int)bt_row(job);
  const int points = (int)job->sizes[0];
  MPI_Datatype point;
  MPI_Type_contiguous(BT_VARIABLES, MPI_DOUBLE, &point);
  MPI_Datatype* in_file = malloc(2 * (size_t)side * sizeof *in_file);
  MPI_Datatype* in_memory = in_file + side;
  int* ones = malloc((size_t)side * sizeof *ones);
  MPI_Aint* file_places = calloc(2 * (size_t)side, sizeof *file_places);
  MPI_Aint* memory_places = file_places + side;
  for (int cell = 0; cell < side; ++cell) {
    int low[3], size[3];
    bt_cell(job, cell, low, size);
    const int all[3] = {points, points, points}, rows[3] = {row, row, row};
    const int ghosts[3] = {BT_GHOSTS, BT_GHOSTS, BT_GHOSTS};
    MPI_Type_create_subarray(3, all, size, low, MPI_ORDER_FORTRAN, point, &in_file[cell]);
    MPI_Type_create_subarray(3, rows, size, ghosts, MPI_ORDER_FORTRAN, point, &in_memory[cell]);
    ones[cell] = 1;
    memory_places[cell] = (MPI_Aint)cell * row * row * row * BT_VARIABLES * ELEMENT_BYTES;
  }
  MPI_Type_create_struct(side, ones, file_places, in_file, &types->file);
  MPI_Type_create_struct(side, ones, memory_places, in_memory, &types->memory);
  MPI_Type_commit(&types->file);
  MPI_Type_commit(&types->memory);
  types->etype = committed(point);
  types->count = 1;
  for (int cell = 0; cell < 2 * side; ++cell) MPI_Type_free(&in_file[cell]);
  free(in_file);
  free(ones);
  free(file_places);
}

static void each_btio(const Job* job, Visit visit, void* context) {
  const int64_t points = job->sizes[0], row = bt_row(job), side = side_of(job);
  for (int64_t call = 0; call < job->calls; ++call) {
    for (int64_t cell = 0; cell < side; ++cell) {
      int low[3], size[3];
      bt_cell(job, cell, low, size);
      for (int64_t z = 0; z < size[2]; ++z) {
        for (int64_t y = 0; y < size[1]; ++y) {
          for (int64_t x = 0; x < size[0] * BT_VARIABLES; ++x) {
            const int64_t line = ((call * points + z + low[2]) * points + y + low[1]) * points + low[0];
            const int64_t own = ((cell * row + z + BT_GHOSTS) * row + y + BT_GHOSTS) * row + BT_GHOSTS;
            visit(context, line * BT_VARIABLES + x, call * job->memory_step + own * BT_VARIABLES + x);
          }
        }
      }
    }
  }
}

// ---- PnetCDF: a box of a variable (vara), and many small ones (varn)
// -------------------------------------------------

enum { PNETCDF_HEADER_ELEMENTS = 64 };

// A cube, or nearly one; the ranks form a grid over its last two dimensions.
static void plan_cube(Job* job) {
  int64_t side = 16;
  while (8 * side * side * side * ELEMENT_BYTES <= job->bytes) side *= 2;
  job->sizes[1] = job->sizes[2] = side;
  job->sizes[0] = job->bytes / ELEMENT_BYTES / (side * side);
  if (job->sizes[0] < 1) job->sizes[0] = 1;
  job->file_elements = job->sizes[0] * side * side;
}

static void vara_box(const Job* job, int start[3], int count[3]) {
  const int columns = job->ranks % 2 == 0 ? 2 : 1;
  start[0] = 0;
  count[0] = (int)job->sizes[0];
  part_of(job->sizes[1], job->ranks / columns, job->rank / columns, &start[1], &count[1]);
  part_of(job->sizes[2], columns, job->rank % columns, &start[2], &count[2]);
}

static void plan_vara(Job* job) {
  plan_cube(job);
  int start[3], count[3];
  vara_box(job, start, count);
  plan_one_call(job, (int64_t)count[0] * count[1] * count[2]);
  job->header_elements = PNETCDF_HEADER_ELEMENTS;
  job->file_elements += PNETCDF_HEADER_ELEMENTS;
}

static void bytes_of_memory(const Job* job, Types* types) {
  types->etype = copy_of(MPI_BYTE);
  types->memory = copy_of(MPI_BYTE);
  types->count = (int)(job->elements * ELEMENT_BYTES);
}

static void make_vara(const Job* job, Types* types) {
  int start[3], count[3], sizes[3];
  vara_box(job, start, count);
  for (int d = 0; d < 3; ++d) sizes[d] = (int)job->sizes[d];
  MPI_Type_create_subarray(3, sizes, count, start, MPI_ORDER_C, MPI_DOUBLE, &types->file);
  MPI_Type_commit(&types->file);
  bytes_of_memory(job, types);
}

static void each_vara(const Job* job, Visit visit, void* context) {
  int start[3], count[3];
  vara_box(job, start, count);
  int64_t next = 0;
  for (int64_t z = 0; z < count[0]; ++z) {
    for (int64_t y = 0; y < count[1]; ++y) {
      const int64_t line = ((z + start[0]) * job->sizes[1] + y + start[1]) * job->sizes[2] + start[2];
      for (int64_t x = 0; x < count[2]; ++x) visit(context, job->header_elements + line + x, next++);
    }
  }
}

// Pieces of 1 to 16 random elements, dealt to the ranks in turn. So ranks have different numbers of bytes.
typedef void (*Piece)(void* context, int64_t first, int length);

static void each_piece(const Job* job, Piece piece, void* context) {
  uint64_t state = 1;
  const int64_t end = job->bytes / ELEMENT_BYTES;
  int64_t number = 0;
  for (int64_t first = 0; first < end; ++number) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int length = (int)lowest(1 + (int64_t)(state >> 60), end - first);
    if (number % job->ranks == job->rank) piece(context, first, length);
    first += length;
  }
}

typedef struct {
  int64_t pieces, elements;
  int* bytes;
  MPI_Aint* places;
} Pieces;

static void count_piece(void* context, int64_t first, int length) {
  Pieces* counted = context;
  (void)first;
  counted->pieces++;
  counted->elements += length;
}

static void list_piece(void* context, int64_t first, int length) {
  Pieces* listed = context;
  listed->bytes[listed->pieces] = length * ELEMENT_BYTES;
  listed->places[listed->pieces++] = (MPI_Aint)first * ELEMENT_BYTES;
}

static void plan_varn(Job* job) {
  Pieces counted = {0};
  each_piece(job, count_piece, &counted);
  plan_one_call(job, counted.elements);
  job->header_elements = PNETCDF_HEADER_ELEMENTS;
  job->file_elements = job->bytes / ELEMENT_BYTES + PNETCDF_HEADER_ELEMENTS;
}

static void make_varn(const Job* job, Types* types) {
  Pieces listed = {0};
  each_piece(job, count_piece, &listed);
  listed.bytes = malloc((size_t)listed.pieces * sizeof *listed.bytes);
  listed.places = malloc((size_t)listed.pieces * sizeof *listed.places);
  listed.pieces = 0;
  each_piece(job, list_piece, &listed);
  MPI_Type_create_hindexed((int)listed.pieces, listed.bytes, listed.places, MPI_BYTE, &types->file);
  MPI_Type_commit(&types->file);
  free(listed.bytes);
  free(listed.places);
  bytes_of_memory(job, types);
}

typedef struct {
  const Job* job;
  Visit visit;
  void* context;
  int64_t next;
} Visiting;

static void visit_piece(void* context, int64_t first, int length) {
  Visiting* visiting = context;
  for (int i = 0; i < length; ++i) {
    visiting->visit(visiting->context, visiting->job->header_elements + first + i, visiting->next++);
  }
}

static void each_varn(const Job* job, Visit visit, void* context) {
  Visiting visiting = {job, visit, context, 0};
  each_piece(job, visit_piece, &visiting);
}

// ---- HDF5: hyperslabs: a vector type for each dimension, at its start, with the extent of the dimension
// -------------------

typedef struct {
  int start, stride, count, block;
} Hyperslab;

static MPI_Datatype hyperslab_type(int dimensions, const int64_t* sizes, const Hyperslab* slabs) {
  MPI_Datatype type;
  MPI_Aint extent = ELEMENT_BYTES;
  MPI_Type_contiguous(ELEMENT_BYTES, MPI_BYTE, &type);
  for (int d = dimensions - 1; d >= 0; --d) {
    MPI_Datatype vector, placed, resized;
    const int one = 1;
    const MPI_Aint place = slabs[d].start * extent;
    MPI_Type_vector(slabs[d].count, slabs[d].block, slabs[d].stride, type, &vector);
    MPI_Type_create_hindexed(1, &one, &place, vector, &placed);
    extent *= sizes[d];
    MPI_Type_create_resized(placed, 0, extent, &resized);
    MPI_Type_free(&type);
    MPI_Type_free(&vector);
    MPI_Type_free(&placed);
    type = resized;
  }
  return committed(type);
}

// Every row of a plane belongs to one rank, which takes every second pair of elements.
static void hyperslabs_of(const Job* job, Hyperslab slabs[3]) {
  slabs[0] = (Hyperslab){0, 1, (int)job->sizes[0], 1};
  slabs[1] = (Hyperslab){job->rank, job->ranks, (int)((job->sizes[1] - job->rank + job->ranks - 1) / job->ranks), 1};
  slabs[2] = (Hyperslab){0, 4, (int)(job->sizes[2] / 4), 2};
}

static void plan_hyperslab(Job* job) {
  plan_cube(job);
  Hyperslab slabs[3];
  hyperslabs_of(job, slabs);
  plan_one_call(job, (int64_t)slabs[0].count * slabs[1].count * slabs[2].count * 2);
}

static void make_hyperslab(const Job* job, Types* types) {
  Hyperslab slabs[3];
  hyperslabs_of(job, slabs);
  types->file = hyperslab_type(3, job->sizes, slabs);
  bytes_of_memory(job, types);
}

static void each_hyperslab(const Job* job, Visit visit, void* context) {
  int64_t next = 0;
  for (int64_t z = 0; z < job->sizes[0]; ++z) {
    for (int64_t y = job->rank; y < job->sizes[1]; y += job->ranks) {
      for (int64_t x = 0; x < job->sizes[2]; ++x) {
        if (x % 4 < 2) visit(context, (z * job->sizes[1] + y) * job->sizes[2] + x, next++);
      }
    }
  }
}

// One of 32 columns of a table. All ranks move it together, each some rows.
enum { COLUMNS = 32, COLUMN = 5 };

static void plan_column(Job* job) {
  job->sizes[0] = job->bytes / ELEMENT_BYTES / COLUMNS / job->ranks * job->ranks;
  job->sizes[1] = COLUMNS;
  job->file_elements = job->sizes[0] * COLUMNS;
  plan_one_call(job, job->sizes[0] / job->ranks);
}

static void make_column(const Job* job, Types* types) {
  const int rows = (int)job->elements;
  const Hyperslab slabs[2] = {{job->rank * rows, 1, rows, 1}, {COLUMN, 1, 1, 1}};
  types->file = hyperslab_type(2, job->sizes, slabs);
  bytes_of_memory(job, types);
}

static void each_column(const Job* job, Visit visit, void* context) {
  for (int64_t i = 0; i < job->elements; ++i) {
    visit(context, (job->rank * job->elements + i) * COLUMNS + COLUMN, i);
  }
}

// ---- a buffer with gaps, for one run of the file
// ---------------------------------------------------------------------

static void plan_gaps(Job* job) {
  job->elements = job->bytes / ELEMENT_BYTES / job->ranks;
  job->memory_elements = 2 * job->elements;
  job->file_elements = job->elements * job->ranks;
  job->calls = 1;
  job->offset = job->rank * job->elements * ELEMENT_BYTES;
}

static void make_gaps(const Job* job, Types* types) {
  types->etype = types->file = MPI_DATATYPE_NULL;
  MPI_Type_vector((int)job->elements, 1, 2, MPI_DOUBLE, &types->memory);
  MPI_Type_commit(&types->memory);
  types->count = 1;
}

static void each_gaps(const Job* job, Visit visit, void* context) {
  for (int64_t i = 0; i < job->elements; ++i) visit(context, job->rank * job->elements + i, 2 * i);
}

// ---- IOR: transfers of one size; a rank's transfers are contiguous (segments), or ranks take turns
// ---------------------

enum { TRANSFER = 1 << 20, STRIDED = 1 << 16, IN_VIEW = 1 << 14, SMALL = 1 << 12, SMALL_CALLS = 2000 };

// `step`: the distance in the file between two transfers of this rank, in transfers.
static void plan_transfers(Job* job, int64_t transfer_bytes, int64_t transfers, int64_t first, int64_t step) {
  job->calls = transfers;
  job->elements = job->memory_elements = transfers * transfer_bytes / ELEMENT_BYTES;
  job->memory_step = transfer_bytes / ELEMENT_BYTES;
  job->offset = first * transfer_bytes;
  job->offset_step = step * transfer_bytes;
  job->file_elements = job->elements * job->ranks;
}

static int64_t transfers_of(const Job* job, int64_t transfer_bytes) {
  const int64_t transfers = job->bytes / job->ranks / transfer_bytes;
  return transfers > 0 ? transfers : 1;
}

static void plan_segments(Job* job) {
  const int64_t transfers = transfers_of(job, TRANSFER);
  plan_transfers(job, TRANSFER, transfers, job->rank * transfers, 1);
}

static void plan_small(Job* job) { plan_transfers(job, SMALL, SMALL_CALLS, job->rank * SMALL_CALLS, 1); }

static void plan_strided(Job* job) { plan_transfers(job, STRIDED, transfers_of(job, STRIDED), job->rank, job->ranks); }

// Calls of one size; ranks take turns in the file.
static void plan_calls(Job* job, int64_t bytes) {
  plan_transfers(job, bytes, transfers_of(job, bytes), job->rank, job->ranks);
}
static void plan_64(Job* job) { plan_calls(job, 64); }
static void plan_1k(Job* job) { plan_calls(job, 1 << 10); }
static void plan_16k(Job* job) { plan_calls(job, 1 << 14); }
static void plan_256k(Job* job) { plan_calls(job, 1 << 18); }
static void plan_1m(Job* job) { plan_calls(job, 1 << 20); }
static void plan_16m(Job* job) { plan_calls(job, 1 << 24); }

static void make_plain(const Job* job, Types* types) {
  types->etype = types->file = MPI_DATATYPE_NULL;
  plain_memory(job, types);
}

static void each_transfer(const Job* job, Visit visit, void* context) {
  const int64_t length = job->elements / job->calls;
  for (int64_t call = 0; call < job->calls; ++call) {
    const int64_t first = (job->offset + call * job->offset_step) / ELEMENT_BYTES;
    for (int64_t i = 0; i < length; ++i) visit(context, first + i, call * job->memory_step + i);
  }
}

// The same by one call, with a view of blocks of 16 KiB.
static void plan_blocks(Job* job) {
  const int64_t block = IN_VIEW / ELEMENT_BYTES;
  plan_one_call(job, transfers_of(job, IN_VIEW) * block);
  job->file_elements = job->elements * job->ranks;
}

static void make_blocks(const Job* job, Types* types) {
  const int block = IN_VIEW / ELEMENT_BYTES;
  const int one = 1;
  const MPI_Aint place = (MPI_Aint)job->rank * IN_VIEW;
  MPI_Datatype vector;
  MPI_Type_vector((int)(job->elements / block), block, block * job->ranks, MPI_DOUBLE, &vector);
  MPI_Type_create_hindexed(1, &one, &place, vector, &types->file);
  MPI_Type_commit(&types->file);
  MPI_Type_free(&vector);
  types->etype = copy_of(MPI_DOUBLE);
  plain_memory(job, types);
}

static void each_block(const Job* job, Visit visit, void* context) {
  const int64_t block = IN_VIEW / ELEMENT_BYTES;
  for (int64_t i = 0; i < job->elements; ++i) {
    visit(context, (i / block * job->ranks + job->rank) * block + i % block, i);
  }
}

static const Pattern patterns[] = {
    {"cyclic", plan_cyclic, make_cyclic, each_cyclic},
    {"btio-S", plan_btio_s, make_btio, each_btio},
    {"btio-A", plan_btio_a, make_btio, each_btio},
    {"btio-B", plan_btio_b, make_btio, each_btio},
    {"vara", plan_vara, make_vara, each_vara},
    {"varn", plan_varn, make_varn, each_varn},
    {"hyperslab", plan_hyperslab, make_hyperslab, each_hyperslab},
    {"column", plan_column, make_column, each_column},
    {"gaps", plan_gaps, make_gaps, each_gaps},
    {"segments", plan_segments, make_plain, each_transfer},
    {"strided", plan_strided, make_plain, each_transfer},
    {"blocks", plan_blocks, make_blocks, each_block},
    {"small", plan_small, make_plain, each_transfer},
    {"calls-64", plan_64, make_plain, each_transfer},
    {"calls-1k", plan_1k, make_plain, each_transfer},
    {"calls-16k", plan_16k, make_plain, each_transfer},
    {"calls-256k", plan_256k, make_plain, each_transfer},
    {"calls-1m", plan_1m, make_plain, each_transfer},
    {"calls-16m", plan_16m, make_plain, each_transfer},
};

const Pattern* find_pattern(const char* name) {
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; ++i) {
    if (strcmp(patterns[i].name, name) == 0) return &patterns[i];
  }
  return NULL;
}
