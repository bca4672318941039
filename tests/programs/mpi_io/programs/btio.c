/* The dumps of NAS BT-IO in its full mode: the cells of a rank are a struct of subarrays, in memory with two ghost layers.

   n=64 (class A) or 102 (B); dumps=N, appended to each other. Ranks must be a square q * q: rank r's first cell is at
   (r mod q, r div q, 0), the next one further in x, one back in y, one up in z. */

#include <math.h>

#include "phases.h"

enum { COMPONENTS = 5, GHOST = 2 };

/* The beginning of part k of q of n points: the first n mod q parts have one more. */
static int part_begin(int n, int q, int k) { return k * (n / q) + (k < n % q ? k : n % q); }

typedef struct {
  int begin[3], size[3]; /* z, y, x */
} Cell;

static Cell cell_of(int n, int q, int c) {
  int at[3] = {c, ((rank_ / q - c) % q + q) % q, (rank_ % q + c) % q};
  Cell cell;
  for (int d = 0; d < 3; d++) {
    cell.begin[d] = part_begin(n, q, at[d]);
    cell.size[d] = part_begin(n, q, at[d] + 1) - cell.begin[d];
  }
  return cell;
}

static MPI_Datatype joined(int q, const MPI_Aint* displacements, MPI_Datatype* parts) {
  int* ones = calloc((size_t)q, sizeof(int));
  for (int c = 0; c < q; c++) ones[c] = 1;
  MPI_Datatype whole;
  MPI_Type_create_struct(q, ones, displacements, parts, &whole);
  MPI_Type_commit(&whole);
  for (int c = 0; c < q; c++) MPI_Type_free(&parts[c]);
  free(ones);
  return whole;
}

/* The elements of a cell's points in memory; `check` compares them with the file's values, otherwise they are set. */
static void visit(const Cell* cell, int n, int widest, long long dump, double* memory, int check) {
  long long across = widest + 2 * GHOST;
  for (int z = 0; z < cell->size[0]; z++)
    for (int y = 0; y < cell->size[1]; y++)
      for (int x = 0; x < cell->size[2] * COMPONENTS; x++) {
        long long place = (((dump * n + cell->begin[0] + z) * n + cell->begin[1] + y) * n + cell->begin[2]) * COMPONENTS + x;
        double* element = memory + (((z + GHOST) * across + y + GHOST) * across + GHOST) * COMPONENTS + x;
        if (check)
          require_value(*element, place);
        else
          *element = value_at(place);
      }
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  int n = (int)argument(argc, argv, "n", 64), dumps = (int)argument(argc, argv, "dumps", 5);
  int q = (int)lround(sqrt((double)ranks_));
  if (q * q != ranks_) refuse("btio: the number of ranks must be a square");
  int widest = part_begin(n, q, 1);
  int across = widest + 2 * GHOST;
  long long cell_elements = (long long)across * across * across * COMPONENTS;
  double* memory = calloc((size_t)(cell_elements * q), sizeof(double));
  Cell* cells = malloc(sizeof(Cell) * (size_t)q);
  MPI_Datatype* in_file = malloc(sizeof(MPI_Datatype) * (size_t)q);
  MPI_Datatype* in_memory = malloc(sizeof(MPI_Datatype) * (size_t)q);
  MPI_Aint* zeros = calloc((size_t)q, sizeof(MPI_Aint));
  MPI_Aint* places = malloc(sizeof(MPI_Aint) * (size_t)q);
  for (int c = 0; c < q; c++) {
    cells[c] = cell_of(n, q, c);
    int file_sizes[4] = {n, n, n, COMPONENTS}, memory_sizes[4] = {across, across, across, COMPONENTS};
    int sizes[4] = {cells[c].size[0], cells[c].size[1], cells[c].size[2], COMPONENTS};
    int begins[4] = {cells[c].begin[0], cells[c].begin[1], cells[c].begin[2], 0}, ghosts[4] = {GHOST, GHOST, GHOST, 0};
    MPI_Type_create_subarray(4, file_sizes, sizes, begins, MPI_ORDER_C, MPI_DOUBLE, &in_file[c]);
    MPI_Type_create_subarray(4, memory_sizes, sizes, ghosts, MPI_ORDER_C, MPI_DOUBLE, &in_memory[c]);
    places[c] = (MPI_Aint)(cell_elements * c * (long long)sizeof(double));
  }
  MPI_Datatype file_type = joined(q, zeros, in_file), memory_type = joined(q, places, in_memory);
  int mine = 0;
  MPI_Type_size(file_type, &mine);
  long long dump_bytes = (long long)n * n * n * COMPONENTS * (long long)sizeof(double);
  MPI_Offset dump_etypes = mine / (MPI_Offset)sizeof(double);

  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
  begin_phase();
  require(MPI_File_set_view(file, 0, MPI_DOUBLE, file_type, "native", MPI_INFO_NULL), "view");
  end_phase("set_view", 0);
  for (int check = 0; check < 2; check++) {
    begin_phase();
    for (int dump = 0; dump < dumps; dump++) {
      MPI_Offset at = dump_etypes * dump;
      if (check) memset(memory, 0, sizeof(double) * (size_t)(cell_elements * q));
      for (int c = 0; c < q && !check; c++) visit(&cells[c], n, widest, dump, memory + cell_elements * c, 0);
      require(check ? MPI_File_read_at_all(file, at, memory, 1, memory_type, MPI_STATUS_IGNORE)
                    : MPI_File_write_at_all(file, at, memory, 1, memory_type, MPI_STATUS_IGNORE),
              check ? "read" : "write");
      for (int c = 0; c < q && check; c++) visit(&cells[c], n, widest, dump, memory + cell_elements * c, 1);
    }
    end_phase(check ? "read" : "write", dump_bytes * dumps);
  }
  require(MPI_File_close(&file), "close");
  MPI_Type_free(&file_type);
  MPI_Type_free(&memory_type);
  free(memory), free(cells), free(in_file), free(in_memory), free(zeros), free(places);
  MPI_Finalize();
  return 0;
}
