!> AST simulates a gas in a two-dimensional box with walls. It writes checkpoints, and dumps for analysis and pictures.
!!
!!     mpiexec -n 4 ast problem=explosion nx=256 ny=256 dumps=5 variant=optimised file=ast.dat
program ast
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use arguments, only: digits, integer_argument, text_argument
  use domain, only: block_of_cells, exchange, make_block
  use dumps, only: dump_file, fields, variants
  use hydro, only: conserved, conserved_of, density, energy, fastest_wave, ghost, primitive_of, sweep_row
  implicit none
  real(real64), parameter :: courant = 0.4_real64, drift_max = 1e-12_real64
  type(block_of_cells) :: b
  type(dump_file) :: file
  real(real64), allocatable :: u(:, :, :), values(:, :, :), again(:, :, :)
  character(:), allocatable :: problem, variant, path
  integer :: count, dump, steps
  real(real64) :: width, time, end_time, began, total, writing, reading
  real(real64) :: at_start(2), drift(2), seconds(3)

  call MPI_Init()
  problem = text_argument("problem", "explosion")
  variant = text_argument("variant", "optimised")
  path = text_argument("file", "ast.dat")
  count = integer_argument("dumps", 5)
  call make_block([integer_argument("nx", 128), integer_argument("ny", 128)], b)
  if (.not. any(variants == variant)) call refuse("variant=" // variant // "; expected found, optimised or mpi")
  if (.not. any(["explosion", "tube_x   ", "tube_y   "] == problem)) &
    call refuse("problem=" // problem // "; expected explosion, tube_x or tube_y")
  if (any(b%extent < ghost)) call refuse("a rank has fewer than two cells along a dimension; use fewer ranks")
  allocate (u(conserved, 1 - ghost:b%extent(1) + ghost, 1 - ghost:b%extent(2) + ghost))
  allocate (values(b%extent(1), b%extent(2), fields), again(b%extent(1), b%extent(2), fields))

  call start()
  at_start = sums()
  steps = 0
  time = 0
  call MPI_Barrier(b%comm)
  total = MPI_Wtime()
  call run()
  total = MPI_Wtime() - total
  drift = abs(sums() - at_start)/at_start
  if (any(.not. drift <= drift_max)) call refuse("mass or energy is not conserved to 1e-12")
  call read_last()
  seconds = [total, writing, reading]
  call MPI_Allreduce(MPI_IN_PLACE, seconds, 3, MPI_DOUBLE_PRECISION, MPI_MAX, b%comm)
  if (b%rank == 0) call report()
  call MPI_Finalize()

contains

  subroutine refuse(why)
    character(*), intent(in) :: why
    if (b%rank == 0) print "(2a)", "ast: ", why
    call MPI_Barrier(b%comm)
    call MPI_Abort(b%comm, 1)
  end subroutine

  !> Sets the initial state: Sod's shock tube along x or y, of length 1, or its cylindrical form in a square.
  subroutine start()
    real(real64), parameter :: inside(4) = [real(real64) :: 1, 0, 0, 1]
    real(real64), parameter :: outside(4) = [0.125_real64, 0.0_real64, 0.0_real64, 0.1_real64]
    real(real64) :: x, y
    logical :: is_inside
    integer :: i, j
    width = 1/real(merge(b%all(2), b%all(1), problem == "tube_y"), real64)
    end_time = merge(0.1_real64, 0.2_real64, problem == "explosion")
    u = 0
    do j = 1, b%extent(2)
      do i = 1, b%extent(1)
        x = (b%first(1) + i - 1.5_real64)*width
        y = (b%first(2) + j - 1.5_real64)*width
        select case (problem)
        case ("tube_x")
          is_inside = x < 0.5_real64
        case ("tube_y")
          is_inside = y < 0.5_real64
        case default
          is_inside = (x - 0.5_real64)**2 + (y - 0.5_real64)**2 < 0.2_real64**2
        end select
        u(:, i, j) = conserved_of(merge(inside, outside, is_inside))
      end do
    end do
  end subroutine

  !> The mass and energy of all ranks together.
  function sums() result(found)
    real(real64) :: found(2)
    found = [sum(u(density, 1:b%extent(1), 1:b%extent(2))), sum(u(energy, 1:b%extent(1), 1:b%extent(2)))]*width**2
    call MPI_Allreduce(MPI_IN_PLACE, found, 2, MPI_DOUBLE_PRECISION, MPI_SUM, b%comm)
  end function

  subroutine run()
    real(real64) :: until, step
    began = MPI_Wtime()
    call file%open(variant, path, b, count, is_new=.true.)
    writing = MPI_Wtime() - began
    do dump = 0, count - 1
      until = end_time*(dump + 1)/count
      do while (time < until)
        step = courant*width/fastest()
        if (time + step >= until) then
          step = until - time
          time = until
        else
          time = time + step
        end if
        call advance(step)
      end do
      call collect()
      began = MPI_Wtime()
      call file%move(values, dump, write=.true.)
      writing = writing + MPI_Wtime() - began
    end do
    began = MPI_Wtime()
    call file%close()
    writing = writing + MPI_Wtime() - began
  end subroutine

  !> The speed of the fastest wave of all ranks. It does not depend on the number of ranks.
  real(real64) function fastest() result(speed)
    integer :: i, j
    speed = 0
    do j = 1, b%extent(2)
      do i = 1, b%extent(1)
        speed = max(speed, fastest_wave(u(:, i, j), 1), fastest_wave(u(:, i, j), 2))
      end do
    end do
    call MPI_Allreduce(MPI_IN_PLACE, speed, 1, MPI_DOUBLE_PRECISION, MPI_MAX, b%comm)
  end function

  !> Makes a step along x and then along y; every second step has the other order.
  subroutine advance(step)
    real(real64), intent(in) :: step
    integer :: d
    do d = 1, 2
      call sweep(merge(d, 3 - d, mod(steps, 2) == 0), step/width)
    end do
    steps = steps + 1
  end subroutine

  subroutine sweep(d, ratio)
    integer, intent(in) :: d
    real(real64), intent(in) :: ratio
    real(real64), allocatable :: row(:, :)
    integer :: k
    call exchange(b, d, u)
    allocate (row(conserved, 1 - ghost:b%extent(d) + ghost))
    do k = 1, b%extent(3 - d)
      if (d == 1) then
        call sweep_row(b%extent(1), u(:, :, k), ratio)
      else
        row = u([1, 3, 2, 4], k, :)
        call sweep_row(b%extent(2), row, ratio)
        u([1, 3, 2, 4], k, :) = row
      end if
    end do
  end subroutine

  !> The fields of a dump.
  subroutine collect()
    integer :: i, j
    call exchange(b, 1, u)
    call exchange(b, 2, u)
    do j = 1, b%extent(2)
      do i = 1, b%extent(1)
        values(i, j, 1:4) = u(:, i, j)
        values(i, j, 5:8) = primitive_of(u(:, i, j))
        values(i, j, 9) = sqrt((u(1, i + 1, j) - u(1, i - 1, j))**2 + (u(1, i, j + 1) - u(1, i, j - 1))**2)/(2*width)
      end do
    end do
  end subroutine

  !> Checks that the last dump in the file equals the fields, bit by bit.
  subroutine read_last()
    again = -1
    call file%open(variant, path, b, count, is_new=.false.)
    began = MPI_Wtime()
    call file%move(again, count - 1, write=.false.)
    reading = MPI_Wtime() - began
    call file%close()
    if (all(again == values)) return
    print "(a)", "ast: the file has other values than were written"
    call MPI_Abort(b%comm, 1)
  end subroutine

  subroutine report()
    integer(int64) :: bytes
    bytes = product(int(b%all, int64))*fields*8*count
    print "(*(a))", '{"application": "ast", "variant": "', variant, '", "problem": "', problem, '", "ranks": ', &
      digits(int(b%ranks, int64)), ', "steps": ', digits(int(steps, int64)), ', "bytes": ', digits(bytes), &
      ', "total_seconds": ', digits(seconds(1)), ', "io_seconds": ', digits(seconds(2)), ', "read_seconds": ', &
      digits(seconds(3)), ', "mass_drift": ', digits(drift(1)), ', "energy_drift": ', digits(drift(2)), &
      ', "checked": true}'
  end subroutine
end program
