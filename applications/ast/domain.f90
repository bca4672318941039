!> A rectangle of cells with walls: each rank's block of it, and the ghost cells.
module domain
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use hydro, only: conserved, ghost
  implicit none
  private
  public :: block_of_cells, make_block, exchange

  type :: block_of_cells
    type(MPI_Comm) :: comm
    integer :: rank, ranks
    integer :: all(2)     !< cells of the rectangle
    integer :: first(2)   !< of this rank, from 1
    integer :: extent(2)
    integer :: below(2), above(2)  !< neighbours; MPI_PROC_NULL: a wall
  end type

contains

  subroutine make_block(all, b)
    integer, intent(in) :: all(2)
    type(block_of_cells), intent(out) :: b
    integer :: grid(2), place(2), d
    b%all = all
    call MPI_Comm_size(MPI_COMM_WORLD, b%ranks)
    grid = 0
    call MPI_Dims_create(b%ranks, 2, grid)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, grid, [.false., .false.], .false., b%comm)
    call MPI_Comm_rank(b%comm, b%rank)
    call MPI_Cart_coords(b%comm, b%rank, 2, place)
    do d = 1, 2
      b%first(d) = all(d)*place(d)/grid(d) + 1
      b%extent(d) = all(d)*(place(d) + 1)/grid(d) + 1 - b%first(d)
      call MPI_Cart_shift(b%comm, d - 1, 1, b%below(d), b%above(d))
    end do
  end subroutine

  !> Collective. Fills ghost cells along dimension `d` from the neighbours; at a wall, with the mirrored cells.
  subroutine exchange(b, d, u)
    type(block_of_cells), intent(in) :: b
    integer, intent(in) :: d
    real(real64), intent(inout) :: u(conserved, 1 - ghost:b%extent(1) + ghost, 1 - ghost:b%extent(2) + ghost)
    real(real64), allocatable :: given(:, :, :), got(:, :, :)
    integer :: n, across, count, layer
    n = b%extent(d)
    across = b%extent(3 - d)
    allocate (given(conserved, ghost, across), got(conserved, ghost, across))
    count = size(given)
    call take(1)
    call MPI_Sendrecv(given, count, MPI_DOUBLE_PRECISION, b%below(d), 0, got, count, MPI_DOUBLE_PRECISION, b%above(d), 0, &
                      b%comm, MPI_STATUS_IGNORE)
    if (b%above(d) /= MPI_PROC_NULL) call put(n + 1)
    call take(n + 1 - ghost)
    call MPI_Sendrecv(given, count, MPI_DOUBLE_PRECISION, b%above(d), 0, got, count, MPI_DOUBLE_PRECISION, b%below(d), 0, &
                      b%comm, MPI_STATUS_IGNORE)
    if (b%below(d) /= MPI_PROC_NULL) call put(1 - ghost)
    do layer = 1, ghost
      if (b%below(d) == MPI_PROC_NULL) call mirror(layer, 1 - layer)
      if (b%above(d) == MPI_PROC_NULL) call mirror(n + 1 - layer, n + layer)
    end do

  contains

    subroutine take(from)
      integer, intent(in) :: from
      if (d == 1) given = u(:, from:from + ghost - 1, 1:across)
      if (d == 2) given = reshape(u(:, 1:across, from:from + ghost - 1), shape(given), order=[1, 3, 2])
    end subroutine

    subroutine put(to)
      integer, intent(in) :: to
      if (d == 1) u(:, to:to + ghost - 1, 1:across) = got
      if (d == 2) u(:, 1:across, to:to + ghost - 1) = reshape(got, [conserved, across, ghost], order=[1, 3, 2])
    end subroutine

    subroutine mirror(from, to)
      integer, intent(in) :: from, to
      if (d == 1) then
        u(:, to, :) = u(:, from, :)
        u(2, to, :) = -u(2, to, :)
      else
        u(:, :, to) = u(:, :, from)
        u(3, :, to) = -u(3, :, to)
      end if
    end subroutine
  end subroutine
end module
