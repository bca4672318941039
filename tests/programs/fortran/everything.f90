! Files of all formats by the ranks of MPI: shares, sections, records, attributes, boxes, redistribution, explain.
program everything
  use mpi_f08
  use swath
  use, intrinsic :: iso_fortran_env, only: int16, int64, real64
  implicit none
  integer, parameter :: nx = 7, ny = 11, records = 3
  character(*), parameter :: suffixes(6) = ["raw ", "npy ", "nc3 ", "nc4 ", "h5  ", "zarr"]
  type(swath_distribution) :: cyclic, blocks
  type(swath_file) :: file
  real(real64), allocatable :: dealt(:, :), again(:, :), expected(:, :)
  integer :: rank, ranks, f

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call cyclic%create([swath_whole, swath_cyclic], [1, ranks], [0, 2])
  call blocks%create([swath_whole, swath_block], [1, ranks])
  dealt = share(cyclic, .true.)
  expected = share(blocks, .false.)
  allocate (again, mold=expected)
  call swath_redistribute(dealt, cyclic, again, blocks, [nx, ny], MPI_COMM_WORLD)
  if (any(abs(again - expected) > 0)) error stop "redistributed: other values"

  do f = 1, size(suffixes)
    if (f <= 2) then
      call file%create_one("fortran." // trim(suffixes(f)), "", "f8", [nx, ny], MPI_COMM_WORLD)
      call file%write_share("", dealt, cyclic)
      call file%close()
    else
      call dump("fortran." // trim(suffixes(f)))
    end if
    call look("fortran." // trim(suffixes(f)))
  end do
  deallocate (dealt, again, expected)
  if (rank == 0) print "(a)", "right"
  call MPI_Finalize()
contains
  ! This rank's share; element (x, y), from 0, is 100 y + x.
  function share(whose, is_cyclic) result(values)
    type(swath_distribution), intent(in) :: whose
    logical, intent(in) :: is_cyclic
    real(real64), allocatable :: values(:, :)
    integer(int64), allocatable :: extents(:)
    integer :: x, y, count
    extents = whose%local_shape([nx, ny], rank)
    allocate (values(extents(1), extents(2)))
    count = 0
    do y = 0, ny - 1
      if (merge(mod(y/2, ranks), y/((ny + ranks - 1)/ranks), is_cyclic) /= rank) cycle
      count = count + 1
      values(:, count) = [(100*y + x, x=0, nx - 1)]
    end do
    if (count /= extents(2)) error stop "share: another number of rows"
  end function

  subroutine dump(path)
    character(*), intent(in) :: path
    integer :: first, last, record, x, y
    integer(int16) :: halo(0:nx + 1, 0:ny + 1)
    real :: line(2*nx)
    call file%create(path, MPI_COMM_WORLD)
    call file%set_attribute("", "title", "everything")
    if (index(path, ".nc3") > 0) then
      call file%define("a", "f8", [nx, ny], dims=["x", "y"])
    else if (index(path, ".zarr") > 0) then
      call file%define("a", "f8", [nx, ny], dims=["x", "y"], chunks=[2, 3], shards=[4, 6], codecs="shuffle,zlib:4")
    else
      call file%define("a", "f8", [nx, ny], dims=["x", "y"], chunks=[2, 3], codecs="shuffle,zlib:4")
    end if
    call file%define("b", "i2", [nx, ny], dims=["x", "y"])
    call file%define("r", "f4", [nx, swath_unlimited], dims=["x", "t"])
    call file%set_attribute("b", "valid_range", [-9999, 0])
    call file%set_attribute("b", "units", "K")
    call file%write_share("a", dealt, cyclic)
    first = rank*ny/ranks + 1
    last = (rank + 1)*ny/ranks
    halo = 0
    do y = first, last
      halo(1:nx, y) = [(-int(100*(y - 1) + x, int16), x=0, nx - 1)]
    end do
    call file%write("b", halo(1:nx, first:last), start=[1, first])
    first = rank*nx/ranks + 1
    last = (rank + 1)*nx/ranks
    do record = 0, records - 1
      line = [(record + x/16.0, x=0, 2*nx - 1)]
      call file%append("r", line(2*first - 1:2*last - 1:2), start=[first])  ! every second
    end do
    call file%close()
  end subroutine

  subroutine look(path)
    character(*), intent(in) :: path
    real(real64), allocatable :: part(:, :)
    real(real64) :: section(3, ny)
    character(:), allocatable :: name, text
    character(400) :: message
    integer(int64), allocatable :: extents(:)
    integer :: x, stat
    name = "a"
    if (index(path, ".raw") + index(path, ".npy") > 0) name = ""
    if (index(path, ".raw") > 0) then
      call file%open_raw(path, [nx, ny], "f8", MPI_COMM_WORLD)
    else
      call file%open(path, MPI_COMM_WORLD)
    end if
    again = -1
    call file%read_share(name, again, blocks)
    if (any(abs(again - expected) > 0)) error stop "read: other values"
    extents = blocks%local_shape([3, 4], rank)
    allocate (part(extents(1), extents(2)))
    call file%read_share(name, part, blocks, first=[7, 11], last=[1, 1], step=[-3, -3])
    do x = 1, int(extents(2))
      if (any(abs(part(:, x) - (100*(10 - 3*(((4 + ranks - 1)/ranks)*rank + x - 1)) + [6, 3, 0])) > 0)) then
        error stop "steps: other values"
      end if
    end do
    section = -1
    call file%read(name, section(3:1:-2, ny:1:-1), start=[1, 1])
    if (any(section(2, :) > -1) .or. abs(section(1, 1) - (100*(ny - 1) + 1)) > 0) error stop "section: other values"
    text = file%explain(name, blocks)
    if (index(text, "read") == 0) error stop "explain"
    message = ""
    call file%read(name, section(:1, :1), start=[merge(50, 1, rank == ranks - 1), 1], stat=stat, errmsg=message)
    if (stat /= swath_error_argument .or. index(message, "50") == 0) error stop "no error"
    call file%close()
  end subroutine
end program
