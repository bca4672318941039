! The same as program.c by MPI_Init, through one of Fortran's three interfaces: -DF08, -DF90, or mpif.h.
program files
#if defined(F08)
  use mpi_f08
#elif defined(F90)
  use mpi
#endif
  implicit none
#if !defined(F08) && !defined(F90)
  include 'mpif.h'
#endif
#ifdef F08
  type(MPI_File) :: file
  type(MPI_Status) :: status
#else
  integer :: file
  integer :: status(MPI_STATUS_SIZE)
#endif
  integer :: level, rank, ranks, other(1), mine(1), got, right, all_right, error
  integer(MPI_OFFSET_KIND) :: place
  character(len=1000) :: path
  call get_command_argument(1, path)
  call MPI_Init(error)
  call MPI_Query_thread(level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  place = 0
  call MPI_File_set_view(file, place, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
  place = rank
  mine(1) = rank
  call MPI_File_write_at_all(file, place, mine, 1, MPI_INTEGER, status, error)
  call MPI_File_sync(file, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_File_sync(file, error)
  place = mod(rank + 1, ranks)
  other(1) = -1
  call MPI_File_read_at(file, place, other, 1, MPI_INTEGER, status, error)
  call MPI_Get_count(status, MPI_INTEGER, got, error)
  right = merge(1, 0, got == 1 .and. other(1) == mod(rank + 1, ranks))
  call MPI_File_close(file, error)
  call MPI_Reduce(right, all_right, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a,i0,a,i0,a,i0,a)', 'level ', level, ' of ', MPI_THREAD_MULTIPLE, ', ', all_right, ' right'
  call MPI_Finalize(error)
end program
