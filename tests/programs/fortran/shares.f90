! Shares of CYCLIC distributions, selections with negative steps, and an error of one rank, which all ranks get.
program shares
  use mpi_f08
  use swath
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  character(*), parameter :: suffixes(4) = ["nc3 ", "nc4 ", "h5  ", "zarr"]
  integer, parameter :: n(3) = [7, 5, 6]
  type(swath_distribution) :: whose
  type(swath_file) :: file
  integer :: rank, ranks, f, stat
  integer, allocatable :: mine(:, :, :), part(:, :, :)
  integer(int64), allocatable :: extents(:), shape(:)
  character(:), allocatable :: dtype, text
  character(400) :: message

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call whose%create([swath_cyclic, swath_block, swath_whole], [ranks, 1, 1])
  do f = 1, size(suffixes)
    call file%create("shares." // trim(suffixes(f)), MPI_COMM_WORLD)
    if (f == 1) then
      call file%define("v", "i4", n, dims=["x", "y", "z"])
    else
      call file%define("v", "i4", n, dims=["x", "y", "z"], chunks=[3, 2, 4], codecs="zlib")
    end if
    extents = whose%local_shape(n, rank)
    allocate (mine(extents(1), extents(2), extents(3)))
    call number(mine, 1, 1)
    call file%write_share("v", mine, whose)
    call file%set_attribute("v", "valid_range", [0, 999])
    call file%close()

    call file%open("shares." // trim(suffixes(f)), MPI_COMM_WORLD)
    call file%inquire("v", shape, dtype)
    if (any(shape /= n) .or. dtype /= "i4" .or. file%variable_name(file%variable_count()) == "") error stop "inquire"
    extents = whose%local_shape([4, 5, 6], rank)
    allocate (part(extents(1), extents(2), extents(3)))
    call file%read_share("v", part, whose, first=[7, 5, 6], last=[1, 1, 1], step=[-2, -1, -1])
    deallocate (mine)
    allocate (mine, mold=part)
    call number(mine, 7, -2)
    if (any(part /= mine(:, 5:1:-1, 6:1:-1))) error stop "other values"
    text = file%explain("v", whose)
    if (len(text) == 0) error stop "explain"

    stat = 0
    message = ""
    call file%read("v", mine(:1, :1, :1), start=[merge(100, 1, rank == ranks - 1), 1, 1], stat=stat, errmsg=message)
    if (stat /= swath_error_argument) error stop "no error"
    print "(i0,1x,a)", rank, trim(message)
    call file%close()
    deallocate (mine, part)
  end do
  call MPI_Finalize()
contains
  ! Element (x, y, z) is 100 x + 10 y + z; the first index of this rank's share goes from `first` by `step`.
  subroutine number(values, first, step)
    integer, intent(out) :: values(:, :, :)
    integer, intent(in) :: first, step
    integer :: i, j, k
    do i = 1, size(values, 1)
      do j = 1, size(values, 2)
        do k = 1, size(values, 3)
          values(i, j, k) = 100*(first + step*((i - 1)*ranks + rank)) + 10*j + k
        end do
      end do
    end do
  end subroutine
end program
