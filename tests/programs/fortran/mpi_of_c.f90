! The interface to an MPI without Fortran: communicators are integers.
module mpi_of_c
  use, intrinsic :: iso_c_binding
  implicit none
  integer, protected :: MPI_COMM_WORLD = 0
  interface
    integer(c_int) function start_mpi() bind(C)
      import :: c_int
    end function
    integer(c_int) function rank_of_mpi() bind(C)
      import :: c_int
    end function
    integer(c_int) function ranks_of_mpi() bind(C)
      import :: c_int
    end function
    subroutine end_mpi() bind(C)
    end subroutine
  end interface
  private :: start_mpi, rank_of_mpi, ranks_of_mpi, end_mpi
contains
  subroutine MPI_Init()
    MPI_COMM_WORLD = start_mpi()
  end subroutine
  subroutine MPI_Comm_rank(comm, rank)
    integer, intent(in) :: comm
    integer, intent(out) :: rank
    rank = merge(rank_of_mpi(), -1, comm == MPI_COMM_WORLD)
  end subroutine
  subroutine MPI_Comm_size(comm, ranks)
    integer, intent(in) :: comm
    integer, intent(out) :: ranks
    ranks = merge(ranks_of_mpi(), -1, comm == MPI_COMM_WORLD)
  end subroutine
  subroutine MPI_Finalize()
    call end_mpi()
  end subroutine
end module
