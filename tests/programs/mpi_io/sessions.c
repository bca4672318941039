/* Writes and reads a view with holes after MPI was started by a session only, without MPI_Init; rank 0 prints "right".

     sessions FILE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 1000 };

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm world;
  int rank = 0, ranks = 1, wrong = argc != 2;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "swath", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world);
  MPI_Group_free(&group);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  MPI_File file;
  MPI_Datatype vector;
  wrong += MPI_File_open(world, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS;
  MPI_Type_vector(kCount, 1, ranks, MPI_INT, &vector);
  MPI_Type_commit(&vector);
  wrong += MPI_File_set_view(file, 4 * rank, MPI_INT, vector, "native", MPI_INFO_NULL) != MPI_SUCCESS;
  int written[kCount], seen[kCount];
  for (int i = 0; i < kCount; ++i) written[i] = 7 * i + rank;
  wrong += MPI_File_write_all(file, written, kCount, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  wrong += MPI_File_read_at_all(file, 0, seen, kCount, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  for (int i = 0; i < kCount; ++i) wrong += written[i] != seen[i];
  MPI_Type_free(&vector);
  wrong += MPI_File_close(&file) != MPI_SUCCESS;
  int all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, world);
  if (rank == 0) printf(all_wrong == 0 ? "right\n" : "wrong\n");
  MPI_Comm_free(&world);
  MPI_Session_finalize(&session);
  return 0;
}
