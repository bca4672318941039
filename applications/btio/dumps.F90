!> The modes of BTIO. Every dump is the array (5, n, n, n) of Fortran; dumps follow each other.
!! All ranks share one file; only with "epio" each rank has its own file, with its cells one after the other.
module dumps
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use shared_files, only: close_by_mpi, close_flushed, make_empty, open_by_mpi
  use solution, only: components, ghost
  use swath, only: swath_file
  implicit none
  private
  public :: dump_file, modes

  character(*), parameter :: modes(5) = [character(7) :: "swath", "full", "simple", "fortran", "epio"]
  integer, parameter :: element_bytes = storage_size(0.0_real64)/8

  type :: dump_file
    private
    character(:), allocatable :: mode
    integer :: n = 0, unit = 0
    integer, allocatable :: first(:, :), extent(:, :)
    integer(int64) :: own_elements = 0  !< of this rank in a dump
    type(swath_file) :: by_swath
    type(MPI_File) :: by_mpi
    type(MPI_Datatype) :: in_file, in_memory
  contains
    procedure :: open => dump_open
    procedure :: move => dump_move
    procedure :: close => dump_close
    procedure, private :: make_types, move_boxes, move_collectively, move_rows, move_row, own_name
  end type

contains

  !> Collective. Opens a new file of `count` dumps of n**3 points; without `is_new`, the existing file.
  subroutine dump_open(self, mode, path, n, count, first, extent, is_new)
    class(dump_file), intent(inout) :: self
    character(*), intent(in) :: mode, path
    integer, intent(in) :: n, count, first(:, :), extent(:, :)
    logical, intent(in) :: is_new
    integer, parameter :: record = components*element_bytes
    self%mode = mode
    self%n = n
    self%first = first
    self%extent = extent
    self%own_elements = components*sum(int(product(extent, 1), int64))
    if (is_new .and. any(mode == ["full   ", "simple ", "fortran"])) call make_empty(path, MPI_COMM_WORLD)
    select case (mode)
    case ("swath")
      if (is_new) then
        call self%by_swath%create_one(path, "", "f8", [components, n, n, n, count], MPI_COMM_WORLD, format="raw", &
                                      overwrite=.true.)
      else
        call self%by_swath%open_raw(path, [components, n, n, n, count], "f8", MPI_COMM_WORLD)
      end if
    case ("full", "simple")
      call open_by_mpi(path, MPI_COMM_WORLD, self%by_mpi)
      if (mode == "full") call self%make_types()
    case ("fortran")
      open (newunit=self%unit, file=path, access="direct", form="unformatted", recl=record, status="old")
    case ("epio")
      open (newunit=self%unit, file=self%own_name(path), access="stream", form="unformatted", &
            status=trim(merge("replace", "old    ", is_new)))
    end select
  end subroutine

  function own_name(self, path) result(name)
    class(dump_file), intent(in) :: self
    character(*), intent(in) :: path
    character(:), allocatable :: name
    character(5) :: digits
    integer :: rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    write (digits, "(a, i4.4)") ".", rank
    name = path // digits
    if (self%mode /= "epio") name = path
  end function

  !> Makes the types of a dump's cells in the file, and in memory without ghost layers: a subarray for each cell.
  subroutine make_types(self)
    class(dump_file), intent(inout) :: self
    type(MPI_Datatype) :: file_parts(size(self%first, 2)), memory_parts(size(self%first, 2))
    integer(MPI_ADDRESS_KIND) :: places(size(self%first, 2))
    integer :: c, q, ones(size(self%first, 2)), widest(3)
    integer(MPI_OFFSET_KIND) :: begin
    q = size(self%first, 2)
    widest = maxval(self%extent, 2)
    do c = 1, q
      call MPI_Type_create_subarray(4, [components, self%n, self%n, self%n], [components, self%extent(:, c)], &
                                    [0, self%first(:, c) - 1], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, file_parts(c))
      call MPI_Type_create_subarray(5, [components, widest + 2*ghost, q], [components, self%extent(:, c), 1], &
                                    [0, ghost, ghost, ghost, c - 1], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, &
                                    memory_parts(c))
    end do
    ones = 1
    places = 0
    call MPI_Type_create_struct(q, ones, places, file_parts, self%in_file)
    call MPI_Type_create_struct(q, ones, places, memory_parts, self%in_memory)
    call MPI_Type_commit(self%in_file)
    call MPI_Type_commit(self%in_memory)
    do c = 1, q
      call MPI_Type_free(file_parts(c))
      call MPI_Type_free(memory_parts(c))
    end do
    begin = 0
    call MPI_File_set_view(self%by_mpi, begin, MPI_DOUBLE_PRECISION, self%in_file, "native", MPI_INFO_NULL)
  end subroutine

  !> Collective. Writes (`write`) or reads this rank's cells of a dump; dumps are numbered from 0.
  subroutine dump_move(self, u, dump, write)
    class(dump_file), intent(inout) :: self
    real(real64), intent(inout), contiguous :: u(:, :, :, :, :)
    integer, intent(in) :: dump
    logical, intent(in) :: write
    select case (self%mode)
    case ("swath")
      call self%move_boxes(u, dump, write)
    case ("full")
      call self%move_collectively(u, dump, write)
    case default
      call self%move_rows(u, dump, write)
    end select
  end subroutine

  !> Makes one call; each cell is a box without its ghost layers.
  subroutine move_boxes(self, u, dump, write)
    class(dump_file), intent(inout) :: self
    real(real64), intent(inout) :: u(:, 1 - ghost:, 1 - ghost:, 1 - ghost:, :)
    integer, intent(in) :: dump
    logical, intent(in) :: write
    integer :: start(5, size(u, 5)), shape(4, size(u, 5)), widest(3)
    widest = maxval(self%extent, 2)
    start(1, :) = 1
    start(2:4, :) = self%first
    start(5, :) = dump + 1
    shape(1, :) = components
    shape(2:4, :) = self%extent
    associate (inner => u(:, 1:widest(1), 1:widest(2), 1:widest(3), :))
      if (write) then
        call self%by_swath%write_boxes("", inner, start, shape)
      else
        call self%by_swath%read_boxes("", inner, start, shape)
      end if
    end associate
  end subroutine

  subroutine move_collectively(self, u, dump, write)
    class(dump_file), intent(inout) :: self
    real(real64), intent(inout), contiguous :: u(:, :, :, :, :)
    integer, intent(in) :: dump
    logical, intent(in) :: write
    integer(MPI_OFFSET_KIND) :: place
    place = dump*self%own_elements
    if (write) then
      call MPI_File_write_at_all(self%by_mpi, place, u, 1, self%in_memory, MPI_STATUS_IGNORE)
    else
      call MPI_File_read_at_all(self%by_mpi, place, u, 1, self%in_memory, MPI_STATUS_IGNORE)
    end if
  end subroutine

  !> This rank alone moves each cell, row by row.
  subroutine move_rows(self, u, dump, write)
    class(dump_file), intent(inout) :: self
    real(real64), intent(inout) :: u(:, 1 - ghost:, 1 - ghost:, 1 - ghost:, :)
    integer, intent(in) :: dump
    logical, intent(in) :: write
    integer(int64) :: point, own
    integer :: c, j, k, x
    own = dump*self%own_elements/components
    do c = 1, size(u, 5)
      x = self%extent(1, c)
      do k = 1, self%extent(3, c)
        do j = 1, self%extent(2, c)
          point = ((int(dump, int64)*self%n + self%first(3, c) + k - 2)*self%n + self%first(2, c) + j - 2)*self%n &
                  + self%first(1, c) - 1
          if (self%mode == "epio") point = own
          call self%move_row(u(:, 1:x, j, k, c), point, write)
          own = own + x
        end do
      end do
    end do
  end subroutine

  !> Moves the points of a row, which begins `point` points after the begin of the file.
  subroutine move_row(self, row, point, write)
    class(dump_file), intent(inout) :: self
    real(real64), intent(inout), contiguous :: row(:, :)
    integer(int64), intent(in) :: point
    logical, intent(in) :: write
    integer(MPI_OFFSET_KIND) :: place
    integer :: i
    place = point*components*element_bytes
    select case (self%mode)
    case ("simple")
      if (write) then
        call MPI_File_write_at(self%by_mpi, place, row, size(row), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
      else
        call MPI_File_read_at(self%by_mpi, place, row, size(row), MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
      end if
    case ("fortran")
      do i = 1, size(row, 2)
        if (write) then
          write (self%unit, rec=point + i) row(:, i)
        else
          read (self%unit, rec=point + i) row(:, i)
        end if
      end do
    case ("epio")
      if (write) then
        write (self%unit, pos=place + 1) row
      else
        read (self%unit, pos=place + 1) row
      end if
    end select
  end subroutine

  !> Collective. Closes the file; its data are on the medium afterwards.
  subroutine dump_close(self)
    class(dump_file), intent(inout) :: self
    select case (self%mode)
    case ("swath")
      call self%by_swath%close()
    case ("full", "simple")
      call close_by_mpi(self%by_mpi)
      if (self%mode == "full") then
        call MPI_Type_free(self%in_file)
        call MPI_Type_free(self%in_memory)
      end if
    case default
      call close_flushed(self%unit)
    end select
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine
end module
