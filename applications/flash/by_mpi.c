/* By MPI-IO: variables follow each other without a header. Either there is one collective call for each variable, with
 * a memory type that leaves the guard cells out; or, as in original programs, one call for each block, with a packed
 * copy. */
#include "ways.h"

static void must(int kind) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (kind == MPI_SUCCESS) return;
  MPI_Error_string(kind, text, &length);
  fail(text, "flash");
}

static void* opened(const char* path, int mode) {
  MPI_File* file = allocated(sizeof *file);
  must(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, file));
  return file;
}

static void* create(const char* path, const variables* contents, const char* codecs) {
  (void)contents, (void)codecs;
  MPI_File* file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  must(MPI_File_set_size(*file, 0));
  return file;
}

static void* open_file(const char* path, const variables* contents) {
  (void)contents;
  return opened(path, MPI_MODE_RDONLY);
}

static int64_t bytes_of_block(const variable* v) {
  int64_t bytes = bytes_of_element(v);
  for (int d = 1; d < v->ndim; ++d) bytes *= v->shape[d];
  return bytes;
}

static MPI_Offset place_of(const variables* contents, int number, int64_t block) {
  MPI_Offset place = 0;
  for (int i = 0; i < number; ++i) place += bytes_of_block(&contents->of[i]) * contents->of[i].shape[0];
  return place + block * bytes_of_block(&contents->of[number]);
}

/* The memory type of `count` blocks. */
static MPI_Datatype type_of(const variable* v, int64_t count, const int64_t* strides) {
  MPI_Datatype type, inner;
  MPI_Type_contiguous((int)bytes_of_element(v), MPI_BYTE, &type);
  for (int d = v->ndim - 1; d >= 0; --d) {
    inner = type;
    MPI_Type_create_hvector((int)(d == 0 ? count : v->shape[d]), 1, strides[d], inner, &type);
    MPI_Type_free(&inner);
  }
  MPI_Type_commit(&type);
  return type;
}

static void write_all(void* file, const variables* contents, int number, const blocks* mine) {
  const variable* v = &contents->of[number];
  MPI_Datatype type = type_of(v, mine->count, mine->strides);
  must(MPI_File_write_at_all(*(MPI_File*)file, place_of(contents, number, mine->first), mine->data, 1, type,
                             MPI_STATUS_IGNORE));
  MPI_Type_free(&type);
}

static void read_all(void* file, const variables* contents, int number, const blocks* mine) {
  const variable* v = &contents->of[number];
  MPI_Datatype type = type_of(v, mine->count, mine->strides);
  must(MPI_File_read_at_all(*(MPI_File*)file, place_of(contents, number, mine->first), mine->data, 1, type,
                            MPI_STATUS_IGNORE));
  MPI_Type_free(&type);
}

static void write_each(void* file, const variables* contents, int number, const blocks* mine) {
  const variable* v = &contents->of[number];
  const int bytes = (int)bytes_of_block(v);
  MPI_Datatype type = type_of(v, 1, mine->strides);
  char* packed = allocated((size_t)bytes);
  for (int64_t b = 0; b < mine->count; ++b) {
    int end = 0;
    MPI_Pack((char*)mine->data + b * mine->strides[0], 1, type, packed, bytes, &end, MPI_COMM_WORLD);
    must(MPI_File_write_at(*(MPI_File*)file, place_of(contents, number, mine->first + b), packed, bytes, MPI_BYTE,
                           MPI_STATUS_IGNORE));
  }
  free(packed);
  MPI_Type_free(&type);
}

static void close_file(void* file) {
  int amode;
  MPI_File_get_amode(*(MPI_File*)file, &amode);
  if ((amode & MPI_MODE_RDWR) != 0) must(MPI_File_sync(*(MPI_File*)file));
  must(MPI_File_close(file));
  free(file);
}

const way by_mpi = {"mpi", "bin", create, open_file, write_all, read_all, close_file};
const way by_mpi_each_block = {"found", "bin", create, open_file, write_each, read_all, close_file};
