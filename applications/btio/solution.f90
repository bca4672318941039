!> Five components at every point, and their time steps: each component relaxes to a polynomial of the coordinates.
!! It replaces BT's solver: its result and its costs do not depend on the number of ranks.
module solution
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: components, ghost, start_cell, step_cell

  integer, parameter :: components = 5
  integer, parameter :: ghost = 2  !< layers around a cell in memory, which are not written
  !> The polynomial of a component: constant, x, y, z, x*x, y*y, z*z, x*y*z.
  real(real64), parameter :: coefficients(8, components) = reshape([real(real64) :: &
      2.0, 0.5, 0.25, 1.0, -0.5, 0.75, 0.125, 0.5, &
      1.0, -0.25, 1.5, 0.5, 0.25, -0.75, 1.0, 0.25, &
      1.5, 0.75, -0.5, 0.25, 1.0, 0.5, -0.25, 0.75, &
      0.5, 1.0, 0.75, -0.25, 0.5, 0.25, 1.5, -0.5, &
      5.0, 0.25, 0.5, 0.75, 1.5, -0.25, 0.5, 1.0], [8, components])
  real(real64), parameter :: rate = 1/64.0_real64  !< a power of 2: its product has no rounding error

contains

  !> Sets a cell, the points first(1:3) to first + extent - 1 of n**3, to its state before the first step.
  subroutine start_cell(u, extent)
    real(real64), intent(inout) :: u(:, 1 - ghost:, 1 - ghost:, 1 - ghost:)
    integer, intent(in) :: extent(3)
    integer :: m
    do m = 1, components
      u(m, 1:extent(1), 1:extent(2), 1:extent(3)) = real(m, real64)
    end do
  end subroutine

  subroutine step_cell(u, n, first, extent)
    real(real64), intent(inout) :: u(:, 1 - ghost:, 1 - ghost:, 1 - ghost:)
    integer, intent(in) :: n, first(3), extent(3)
    real(real64) :: x, y, z
    integer :: i, j, k, m
    do k = 1, extent(3)
      z = coordinate(first(3) + k - 1, n)
      do j = 1, extent(2)
        y = coordinate(first(2) + j - 1, n)
        do i = 1, extent(1)
          x = coordinate(first(1) + i - 1, n)
          do m = 1, components
            u(m, i, j, k) = u(m, i, j, k) + rate*(aim(coefficients(:, m), x, y, z) - u(m, i, j, k))
          end do
        end do
      end do
    end do
  end subroutine

  pure real(real64) function coordinate(i, n)
    integer, intent(in) :: i, n
    coordinate = real(i - 1, real64)/real(n - 1, real64)
  end function

  pure real(real64) function aim(c, x, y, z)
    real(real64), intent(in) :: c(8), x, y, z
    aim = c(1) + x*(c(2) + x*c(5)) + y*(c(3) + y*c(6)) + z*(c(4) + z*c(7)) + c(8)*(x*(y*z))
  end function
end module
