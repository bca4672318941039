! A simulation's dump and restart: every rank has a block of rows with a halo around it; all ranks write into one
! compressed netCDF-4 file, a record a time step, and read the last one back.
program dump
  use mpi_f08
  use swath
  implicit none
  integer, parameter :: nx = 40, ny = 30, steps = 3
  type(swath_file) :: file
  integer :: rank, ranks, first, last, step
  real :: t(0:nx + 1, 0:ny + 1)
  real, allocatable :: again(:, :)
  real(kind(1d0)) :: dt

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  first = rank*ny/ranks + 1
  last = (rank + 1)*ny/ranks

  call file%create("run.nc4", MPI_COMM_WORLD, overwrite=.true.)
  call file%define("t", "f4", [nx, ny, swath_unlimited], dims=["x   ", "y   ", "time"], codecs="shuffle,zlib")
  call file%define("mask", "i4", [nx, ny], dims=["x", "y"])
  call file%set_attribute("t", "units", "K")
  call file%set_attribute("", "dt", 0.5d0)
  call file%write("mask", spread([(step, step=1, nx)], 2, last - first + 1), start=[1, first])
  do step = 1, steps
    t = 100*step + rank
    call file%append("t", t(1:nx, 1:last - first + 1), start=[1, first])  ! without the halo: no copy is made
  end do
  call file%close()

  allocate (again(nx, first:last))
  call file%open("run.nc4", MPI_COMM_WORLD)
  call file%read("t", again, start=[1, first, steps])
  call file%get_attribute("", "dt", dt)
  call file%close()
  if (any(again /= 100*steps + rank) .or. dt /= 0.5d0) error stop "the file has other values"
  if (rank == 0) print "(a,i0,a,i0,a)", "wrote and read ", steps, " records by ", ranks, " ranks"
  call MPI_Finalize()
end program
