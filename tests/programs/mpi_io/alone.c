/* Collective calls on contiguous views: some in which ranks do not wait for each other, some in which they meet.

     alone WHAT FILE [KEY=VALUE…]     with these hints; rank 0 prints "right", or what each rank was told */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 1000, kRounds = 50, kRanksMost = 8 };

static int rank = 0;
static int ranks = 1;
static char buffer[kBytes];
static MPI_File file;

static int class_of(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

static void require(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int write_at_all(int place) {
  return MPI_File_write_at_all(file, (MPI_Offset)kBytes * place, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int read_at_all(int place) {
  return MPI_File_read_at_all(file, (MPI_Offset)kBytes * place, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int set_view(void) { return MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL); }

/* The last rank calls when rank 0 reports that its own call is done: never, if rank 0 waits for the last rank. */
static void come_behind(void (*call)(int), int argument) {
  char word = 0;
  if (ranks == 1) return;
  if (rank == ranks - 1) MPI_Recv(&word, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  call(argument);
  if (rank == 0) MPI_Send(&word, 1, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD);
}

static void must_write(int place) { require(write_at_all(place) == MPI_SUCCESS, "write_at_all"); }
static void must_read(int place) { require(read_at_all(place) == MPI_SUCCESS, "read_at_all"); }
static void must_set_view(int unused) {
  (void)unused;
  require(set_view() == MPI_SUCCESS, "set_view");
}

static void waits(void) {
  must_write(rank);
  come_behind(must_write, rank);
  must_read(rank);
  come_behind(must_read, rank);
  must_set_view(0);
  come_behind(must_read, rank);  /* still the same direction */
}

static void begins_beside(int place) {
  MPI_Request request;
  require(MPI_File_iwrite_at_all(file, (MPI_Offset)kBytes * place, buffer, kBytes, MPI_BYTE, &request) == MPI_SUCCESS,
          "iwrite_at_all");
  require(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");
}

static void waits_beside(void) {
  must_write(rank);
  come_behind(begins_beside, rank);
}

static void waits_in_set_view(void) { come_behind(must_set_view, 0); }

/* A collective read finds the data of a collective write, even if one rank is very late. */
static void order(void) {
  for (int round = 1; round <= kRounds; ++round) {
    memset(buffer, round, kBytes);
    if (rank == round % ranks) usleep(1000);
    must_write(rank);
    must_read((rank + 1) % ranks);
    for (int i = 0; i < kBytes; ++i) require(buffer[i] == (char)round, "it read what was there before");
  }
}

/* The data that one rank has written are in the file when all ranks have set a view. */
static void barrier(void) {
  for (int round = 1; round <= kRounds; ++round) {
    memset(buffer, round, kBytes);
    if (rank == round % ranks) usleep(1000);
    require(MPI_File_write_at(file, (MPI_Offset)kBytes * rank, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) == 0,
            "write_at");
    must_set_view(0);
    require(MPI_File_read_at(file, (MPI_Offset)kBytes * ((rank + 1) % ranks), buffer, kBytes, MPI_BYTE,
                             MPI_STATUS_IGNORE) == 0,
            "read_at");
    for (int i = 0; i < kBytes; ++i) require(buffer[i] == (char)round, "it read what was there before");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* One rank has a view of every other block, the others have views of all bytes: then all ranks work together. */
static void holes(void) {
  MPI_Datatype blocks, spread;
  MPI_Type_contiguous(10, MPI_BYTE, &blocks);
  MPI_Type_create_resized(blocks, 0, 20, &spread);
  MPI_Type_commit(&spread);
  const MPI_Offset begin = (MPI_Offset)2 * kBytes * rank;
  for (int round = 1; round <= 5; ++round) {
    MPI_Datatype type = rank == round % ranks ? spread : MPI_BYTE;
    require(MPI_File_set_view(file, begin, MPI_BYTE, type, "native", MPI_INFO_NULL) == 0, "set_view");
    memset(buffer, round, kBytes);
    require(MPI_File_write_all(file, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "write_all");
    require(MPI_File_seek(file, 0, MPI_SEEK_SET) == 0, "seek");
    memset(buffer, 0, kBytes);
    require(MPI_File_read_all(file, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "read_all");
    for (int i = 0; i < kBytes; ++i) require(buffer[i] == (char)round, "other bytes");
  }
  MPI_Type_free(&spread);
  MPI_Type_free(&blocks);
}

/* Rank 0 requests an invalid view: no rank's view changes. */
static void wrong_view(void) {
  require(MPI_File_set_view(file, 100, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == 0, "set_view");
  const int code = MPI_File_set_view(file, rank == 0 ? -5 : 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  require(class_of(code) == MPI_ERR_ARG, "another error");
  MPI_Offset byte = 0;
  require(MPI_File_get_byte_offset(file, 0, &byte) == 0 && byte == 100, "the view changed");
}

/* Each rank has every N-th byte, and writes it independently again and again. Meanwhile rank 0 begins to write its own
   bytes through a view, which fills in the bytes between: no rank may lose a byte. */
static void sieve(const char* path) {
  enum { kPlaces = 30, kWrites = 120 };
  MPI_Datatype one;
  MPI_File strided = MPI_FILE_NULL;
  MPI_Type_create_resized(MPI_BYTE, 0, ranks, &one);
  MPI_Type_commit(&one);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_write", "enable");
  char mine[kPlaces], seen[kPlaces * kRanksMost];
  for (int round = 1; round <= kWrites; ++round) {
    memset(mine, round, kPlaces);
    if (rank == 0 && round == kWrites / 3) {
      require(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, info, &strided) == 0, "open");
      require(MPI_File_set_view(strided, 0, MPI_BYTE, one, "native", MPI_INFO_NULL) == 0, "set_view");
    }
    if (strided != MPI_FILE_NULL) {
      require(MPI_File_write_at(strided, 0, mine, kPlaces, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "write_at of a view");
    } else {
      for (int i = 0; i < kPlaces; ++i) {
        require(MPI_File_write_at(file, (MPI_Offset)i * ranks + rank, mine, 1, MPI_BYTE, MPI_STATUS_IGNORE) == 0,
                "write_at");
      }
    }
    MPI_Status status;
    int count = 0;
    require(MPI_File_read_at(file, 0, seen, kPlaces * ranks, MPI_BYTE, &status) == 0, "read_at");
    MPI_Get_count(&status, MPI_BYTE, &count);
    for (int i = 0; i < kPlaces; ++i) {
      require(i * ranks + rank < count && seen[i * ranks + rank] == (char)round, "a byte was lost");
    }
  }
  if (strided != MPI_FILE_NULL) require(MPI_File_close(&strided) == 0, "close");
  MPI_Info_free(&info);
  MPI_Type_free(&one);
}

static int meet(const char* call) {
  if (strcmp(call, "sync") == 0) return MPI_File_sync(file);
  if (strcmp(call, "set_view") == 0) return set_view();
  if (strcmp(call, "set_size") == 0) return MPI_File_set_size(file, (MPI_Offset)kBytes * ranks);
  if (strcmp(call, "set_atomicity") == 0) return MPI_File_set_atomicity(file, 0);
  if (strcmp(call, "preallocate") == 0) return MPI_File_preallocate(file, kBytes);
  if (strcmp(call, "seek_shared") == 0) return MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  if (strcmp(call, "write_ordered") == 0) {
    return MPI_File_write_ordered(file, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  if (strcmp(call, "close") == 0) return MPI_File_close(&file);
  return read_at_all(rank);
}

/* A write of rank 0 fails, by a rule in SWATH_MPI_IO_ENGINE: the error classes of this call, of one more, of the call
   in which the ranks meet, and of that call once more. */
static void errors(const char* call) {
  int classes[4] = {0}, all[4 * kRanksMost];
  classes[0] = class_of(write_at_all(rank));
  classes[1] = class_of(write_at_all(rank));
  classes[2] = class_of(meet(call));
  if (strcmp(call, "close") != 0) classes[3] = class_of(meet(call));
  MPI_Gather(classes, 4, MPI_INT, all, 4, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i) {
    printf("%d: %d %d %d %d\n", i, all[4 * i], all[4 * i + 1], all[4 * i + 2], all[4 * i + 3]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 3; i < argc; ++i) {
    char* value = strchr(argv[i], '=');
    *value = 0;
    MPI_Info_set(info, argv[i], value + 1);
  }
  require(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == 0, "open");
  MPI_Info_free(&info);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  const char* what = argv[1];
  if (strcmp(what, "waits") == 0) waits();
  if (strcmp(what, "waits_beside") == 0) waits_beside();
  if (strcmp(what, "waits_in_set_view") == 0) waits_in_set_view();
  if (strcmp(what, "order") == 0) order();
  if (strcmp(what, "barrier") == 0) barrier();
  if (strcmp(what, "sieve") == 0) sieve(argv[2]);
  if (strcmp(what, "holes") == 0) holes();
  if (strcmp(what, "wrong_view") == 0) wrong_view();
  if (strncmp(what, "errors_", 7) == 0) errors(what + 7);
  if (file != MPI_FILE_NULL) require(MPI_File_close(&file) == 0, "close");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && strncmp(what, "errors_", 7) != 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
