!> BTIO writes and reads the dumps of NAS BT by q x q ranks with q cells each. README.md describes the modes.
!!
!!     mpiexec -n 4 btio mode=swath class=A file=btio.dat
program btio
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use arguments, only: digits, integer_argument, text_argument
  use cells, only: make_cells
  use dumps, only: dump_file, modes
  use solution, only: components, ghost, start_cell, step_cell
  implicit none
  integer, parameter :: steps_a_dump = 5
  integer, allocatable :: first(:, :), extent(:, :)
  real(real64), allocatable :: u(:, :, :, :, :), again(:, :, :, :, :)
  type(dump_file) :: file
  character(:), allocatable :: mode, class, path
  integer :: rank, ranks, q, n, steps, dump, widest(3)
  real(real64) :: began, total, writing, reading, all_seconds(3)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  mode = text_argument("mode", "swath")
  class = text_argument("class", "S")
  path = text_argument("file", "btio.dat")
  call choose_sizes()
  q = nint(sqrt(real(ranks)))
  if (q*q /= ranks) call refuse("the number of ranks must be a square")
  if (q > n) call refuse("there are more cells than points along a dimension; use fewer ranks")
  if (.not. any(modes == mode)) call refuse("mode=" // mode // "; expected swath, full, simple, fortran or epio")
  call make_cells(n, q, rank, first, extent)
  widest = maxval(extent, 2)
  allocate (u(components, 1 - ghost:widest(1) + ghost, 1 - ghost:widest(2) + ghost, 1 - ghost:widest(3) + ghost, q))
  allocate (again, mold=u)
  u = 0
  again = 0

  call MPI_Barrier(MPI_COMM_WORLD)
  total = MPI_Wtime()
  call write_all()
  total = MPI_Wtime() - total
  call read_all()
  all_seconds = [total, writing, reading]
  call MPI_Allreduce(MPI_IN_PLACE, all_seconds, 3, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  if (rank == 0) call report()
  call MPI_Finalize()

contains

  subroutine choose_sizes()
    steps = 200
    select case (class)
    case ("S")
      n = 12
      steps = 60
    case ("W")
      n = 24
    case ("A")
      n = 64
    case ("B")
      n = 102
    case default
      call refuse("class=" // class // "; expected S, W, A or B")
    end select
    steps = integer_argument("steps", steps)
  end subroutine

  subroutine refuse(why)
    character(*), intent(in) :: why
    if (rank == 0) print "(2a)", "btio: ", why
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine steps_to_next_dump()
    integer :: c, step
    do step = 1, steps_a_dump
      do c = 1, q
        call step_cell(u(:, :, :, :, c), n, first(:, c), extent(:, c))
      end do
    end do
  end subroutine

  subroutine start()
    integer :: c
    do c = 1, q
      call start_cell(u(:, :, :, :, c), extent(:, c))
    end do
  end subroutine

  subroutine write_all()
    call start()
    began = MPI_Wtime()
    call file%open(mode, path, n, steps/steps_a_dump, first, extent, is_new=.true.)
    writing = MPI_Wtime() - began
    do dump = 0, steps/steps_a_dump - 1
      call steps_to_next_dump()
      began = MPI_Wtime()
      call file%move(u, dump, write=.true.)
      writing = writing + MPI_Wtime() - began
    end do
    began = MPI_Wtime()
    call file%close()
    writing = writing + MPI_Wtime() - began
  end subroutine

  !> Repeats the run; its dumps must equal those in the file, bit by bit.
  subroutine read_all()
    integer :: c
    call start()
    call file%open(mode, path, n, steps/steps_a_dump, first, extent, is_new=.false.)
    reading = 0
    do dump = 0, steps/steps_a_dump - 1
      call steps_to_next_dump()
      began = MPI_Wtime()
      call file%move(again, dump, write=.false.)
      reading = reading + MPI_Wtime() - began
      do c = 1, q
        associate (x => extent(1, c), y => extent(2, c), z => extent(3, c))
          if (any(again(:, 1:x, 1:y, 1:z, c) /= u(:, 1:x, 1:y, 1:z, c))) then
            print "(a, i0, a, i0)", "btio: the file has other values than were written in dump ", dump + 1, ", cell ", c
            call MPI_Abort(MPI_COMM_WORLD, 1)
          end if
        end associate
      end do
    end do
    call file%close()
  end subroutine

  subroutine report()
    integer(int64) :: bytes
    bytes = int(n, int64)**3*components*8*(steps/steps_a_dump)
    print "(*(a))", '{"application": "btio", "variant": "', mode, '", "class": "', class, '", "ranks": ', &
      digits(int(ranks, int64)), ', "dumps": ', digits(int(steps/steps_a_dump, int64)), ', "bytes": ', digits(bytes), &
      ', "total_seconds": ', digits(all_seconds(1)), ', "io_seconds": ', digits(all_seconds(2)), &
      ', "read_seconds": ', digits(all_seconds(3)), ', "checked": true}'
  end subroutine
end program
