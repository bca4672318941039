!> Files that several ranks write: what all programs in Fortran need beside their own reads and writes.
module shared_files
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi_f08
  implicit none
  private
  public :: make_empty, open_by_mpi, close_by_mpi, close_flushed

  interface
    integer(c_int) function fsync(descriptor) bind(C)
      import :: c_int
      integer(c_int), value :: descriptor
    end function
  end interface

contains

  !> Collective. Creates an empty file, and replaces an existing one.
  subroutine make_empty(path, comm)
    character(*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    integer :: rank, unit
    call MPI_Comm_rank(comm, rank)
    if (rank == 0) then
      open (newunit=unit, file=path, status="replace")
      close (unit)
    end if
    call MPI_Barrier(comm)
  end subroutine

  !> Collective. Opens an existing file. Errors of it end the program: by default they are only returned.
  subroutine open_by_mpi(path, comm, file)
    character(*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    type(MPI_File), intent(out) :: file
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL)
    call MPI_File_open(comm, path, MPI_MODE_RDWR, MPI_INFO_NULL, file)
  end subroutine

  !> Collective. Closes the file; its data are on the medium afterwards.
  subroutine close_by_mpi(file)
    type(MPI_File), intent(inout) :: file
    call MPI_File_sync(file)
    call MPI_File_close(file)
  end subroutine

  !> Closes a file of one rank; its data are on the medium afterwards. `fnum` is an extension of gfortran.
  subroutine close_flushed(unit)
    integer, intent(in) :: unit
    flush (unit)
    if (fsync(int(fnum(unit), c_int)) /= 0) error stop "a file cannot be flushed to the medium (fsync)"
    close (unit)
  end subroutine
end module
