!> The variants of AST's output. All ranks share one file: (x, y, field, dump) in the order of Fortran.
module dumps
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use domain, only: block_of_cells
  use shared_files, only: close_by_mpi, close_flushed, make_empty, open_by_mpi
  use swath, only: swath_file
  implicit none
  private
  public :: dump_file, fields, variants

  !> Checkpoint: conserved quantities (4); analysis: density, velocities, pressure (4); visualisation: gradient's size.
  integer, parameter :: fields = 9
  character(*), parameter :: variants(3) = [character(9) :: "found", "optimised", "mpi"]
  integer, parameter :: element_bytes = storage_size(0.0_real64)/8

  type :: dump_file
    private
    character(:), allocatable :: variant
    type(block_of_cells) :: b
    integer, allocatable :: blocks(:, :)  !< of "found": first and extent of each rank's cells
    integer :: unit = 0
    type(swath_file) :: by_swath
    type(MPI_File) :: by_mpi
  contains
    procedure :: open => dump_open
    procedure :: move => dump_move
    procedure :: close => dump_close
    procedure, private :: move_by_one, move_rows, move_collectively
  end type

contains

  !> Collective. Opens a new file of `count` dumps; without `is_new`, the existing file.
  subroutine dump_open(self, variant, path, b, count, is_new)
    class(dump_file), intent(inout) :: self
    character(*), intent(in) :: variant, path
    type(block_of_cells), intent(in) :: b
    integer, intent(in) :: count
    logical, intent(in) :: is_new
    self%variant = variant
    self%b = b
    if (variant /= "optimised" .and. is_new) call make_empty(path, b%comm)
    select case (variant)
    case ("optimised")
      if (is_new) then
        call self%by_swath%create_one(path, "", "f8", [b%all, fields, count], b%comm, format="raw", overwrite=.true.)
      else
        call self%by_swath%open_raw(path, [b%all, fields, count], "f8", b%comm)
      end if
    case ("mpi")
      call open_by_mpi(path, b%comm, self%by_mpi)
    case ("found")
      allocate (self%blocks(4, 0:b%ranks - 1))
      call MPI_Allgather([b%first, b%extent], 4, MPI_INTEGER, self%blocks, 4, MPI_INTEGER, b%comm)
      if (b%rank == 0) open (newunit=self%unit, file=path, access="stream", form="unformatted", status="old")
    end select
  end subroutine

  !> Collective. Writes (`write`) or reads this rank's part of a dump; dumps are numbered from 0.
  subroutine dump_move(self, values, dump, write)
    class(dump_file), intent(inout) :: self
    real(real64), intent(inout), contiguous :: values(:, :, :)
    integer, intent(in) :: dump
    logical, intent(in) :: write
    select case (self%variant)
    case ("optimised")
      if (write) then
        call self%by_swath%write("", values, start=[self%b%first, 1, dump + 1])
      else
        call self%by_swath%read("", values, start=[self%b%first, 1, dump + 1])
      end if
    case ("mpi")
      call self%move_collectively(values, dump, write)
    case ("found")
      call self%move_by_one(values, dump, write)
    end select
  end subroutine

  !> Collective MPI-IO: a dump of all fields is one subarray of this rank.
  subroutine move_collectively(self, values, dump, write)
    class(dump_file), intent(inout) :: self
    real(real64), intent(inout), contiguous :: values(:, :, :)
    integer, intent(in) :: dump
    logical, intent(in) :: write
    type(MPI_Datatype) :: in_file
    integer(MPI_OFFSET_KIND) :: begin, zero
    call MPI_Type_create_subarray(3, [self%b%all, fields], [self%b%extent, fields], [self%b%first - 1, 0], &
                                  MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, in_file)
    call MPI_Type_commit(in_file)
    begin = product(int(self%b%all, MPI_OFFSET_KIND))*fields*element_bytes*dump
    zero = 0
    call MPI_File_set_view(self%by_mpi, begin, MPI_DOUBLE_PRECISION, in_file, "native", MPI_INFO_NULL)
    if (write) then
      call MPI_File_write_at_all(self%by_mpi, zero, values, size(values), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
    else
      call MPI_File_read_at_all(self%by_mpi, zero, values, size(values), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
    end if
    call MPI_Type_free(in_file)
  end subroutine

  !> As the library Chameleon works: rank 0 gathers the blocks of all ranks, and makes all transfers, row by row.
  subroutine move_by_one(self, values, dump, write)
    class(dump_file), intent(inout) :: self
    real(real64), intent(inout), contiguous :: values(:, :, :)
    integer, intent(in) :: dump
    logical, intent(in) :: write
    real(real64), allocatable :: theirs(:, :, :)
    integer :: rank
    if (self%b%rank > 0) then
      if (write) call MPI_Send(values, size(values), MPI_DOUBLE_PRECISION, 0, 0, self%b%comm)
      if (.not. write) call MPI_Recv(values, size(values), MPI_DOUBLE_PRECISION, 0, 0, self%b%comm, MPI_STATUS_IGNORE)
      return
    end if
    call self%move_rows(values, 0, dump, write)
    do rank = 1, self%b%ranks - 1
      allocate (theirs(self%blocks(3, rank), self%blocks(4, rank), fields))
      if (write) call MPI_Recv(theirs, size(theirs), MPI_DOUBLE_PRECISION, rank, 0, self%b%comm, MPI_STATUS_IGNORE)
      call self%move_rows(theirs, rank, dump, write)
      if (.not. write) call MPI_Send(theirs, size(theirs), MPI_DOUBLE_PRECISION, rank, 0, self%b%comm)
      deallocate (theirs)
    end do
  end subroutine

  subroutine move_rows(self, values, rank, dump, write)
    class(dump_file), intent(inout) :: self
    real(real64), intent(inout) :: values(:, :, :)
    integer, intent(in) :: rank, dump
    logical, intent(in) :: write
    integer(int64) :: place
    integer :: j, field
    do field = 1, fields
      do j = 1, size(values, 2)
        place = (int(dump, int64)*fields + field - 1)*self%b%all(2) + self%blocks(2, rank) + j - 2
        place = (place*self%b%all(1) + self%blocks(1, rank) - 1)*element_bytes + 1
        if (write) then
          write (self%unit, pos=place) values(:, j, field)
          flush (self%unit)  ! a request of its own, as a library without a buffer makes it
        else
          read (self%unit, pos=place) values(:, j, field)
        end if
      end do
    end do
  end subroutine

  !> Collective. Closes the file; its data are on the medium afterwards.
  subroutine dump_close(self)
    class(dump_file), intent(inout) :: self
    select case (self%variant)
    case ("optimised")
      call self%by_swath%close()
    case ("mpi")
      call close_by_mpi(self%by_mpi)
    case ("found")
      if (self%b%rank == 0) call close_flushed(self%unit)
      deallocate (self%blocks)
    end select
    call MPI_Barrier(self%b%comm)
  end subroutine
end module
