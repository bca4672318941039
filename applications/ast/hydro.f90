!> Euler's equations of an ideal gas in two dimensions by the MUSCL-Hancock scheme with HLLC's fluxes, one dimension
!! at a time.
!!
!! Source: Toro, *Riemann Solvers and Numerical Methods for Fluid Dynamics* (3rd edition, 2009), sections 10.4 (HLLC),
!! 10.5 (wave speeds by pressure), 14.4 (MUSCL-Hancock) and 16.2 (dimensional splitting).
module hydro
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: gamma, ghost, density, momentum_x, momentum_y, energy, conserved, sweep_row, primitive_of, conserved_of, &
            fastest_wave

  real(real64), parameter :: gamma = 1.4_real64
  integer, parameter :: ghost = 2  !< cells beside a row that a sweep needs
  integer, parameter :: density = 1, momentum_x = 2, momentum_y = 3, energy = 4  !< of a cell
  integer, parameter :: conserved = 4

contains

  !> Density, the two velocities, and pressure.
  pure function primitive_of(u) result(w)
    real(real64), intent(in) :: u(conserved)
    real(real64) :: w(conserved)
    w(1) = u(1)
    w(2:3) = u(2:3)/u(1)
    w(4) = (gamma - 1)*(u(4) - 0.5_real64*(u(2)*w(2) + u(3)*w(3)))
  end function

  pure function conserved_of(w) result(u)
    real(real64), intent(in) :: w(conserved)
    real(real64) :: u(conserved)
    u(1) = w(1)
    u(2:3) = w(1)*w(2:3)
    u(4) = w(4)/(gamma - 1) + 0.5_real64*w(1)*(w(2)*w(2) + w(3)*w(3))
  end function

  !> The speed of the fastest wave along dimension 1 or 2.
  pure real(real64) function fastest_wave(u, dimension) result(speed)
    real(real64), intent(in) :: u(conserved)
    integer, intent(in) :: dimension
    real(real64) :: w(conserved)
    w = primitive_of(u)
    speed = abs(w(1 + dimension)) + sqrt(gamma*w(4)/w(1))
  end function

  !> Makes a step of the cells 1 to n of a row. Components 2 and 3 are the momentum along the row and across it.
  !! `ratio`: the time step divided by the width of a cell.
  subroutine sweep_row(n, u, ratio)
    integer, intent(in) :: n
    real(real64), intent(inout) :: u(conserved, 1 - ghost:n + ghost)
    real(real64), intent(in) :: ratio
    real(real64) :: low(conserved, 0:n + 1), high(conserved, 0:n + 1), flux(conserved, 0:n)
    integer :: i
    do i = 0, n + 1
      call evolve_faces(u(:, i - 1:i + 1), ratio, low(:, i), high(:, i))
    end do
    do i = 0, n
      flux(:, i) = hllc(high(:, i), low(:, i + 1))
    end do
    do i = 1, n
      u(:, i) = u(:, i) - ratio*(flux(:, i) - flux(:, i - 1))
    end do
  end subroutine

  !> The values at the lower and upper face of the middle cell, half a step later.
  pure subroutine evolve_faces(u, ratio, low, high)
    real(real64), intent(in) :: u(conserved, 3), ratio
    real(real64), intent(out) :: low(conserved), high(conserved)
    real(real64) :: w(conserved, 3), slope(conserved), change(conserved)
    integer :: i
    do i = 1, 3
      w(:, i) = primitive_of(u(:, i))
    end do
    slope = 0.5_real64*limited(w(:, 2) - w(:, 1), w(:, 3) - w(:, 2))
    low = conserved_of(w(:, 2) - slope)
    high = conserved_of(w(:, 2) + slope)
    change = 0.5_real64*ratio*(flux_of(low) - flux_of(high))
    low = low + change
    high = high + change
  end subroutine

  !> Van Leer's slope: the harmonic mean, 0 at an extremum.
  elemental real(real64) function limited(a, b)
    real(real64), intent(in) :: a, b
    limited = 0
    if (a*b > 0) limited = 2*(a*b)/(a + b)
  end function

  pure function flux_of(u) result(flux)
    real(real64), intent(in) :: u(conserved)
    real(real64) :: flux(conserved), w(conserved)
    w = primitive_of(u)
    flux = [u(2), u(2)*w(2) + w(4), u(3)*w(2), (u(4) + w(4))*w(2)]
  end function

  pure function hllc(left, right) result(flux)
    real(real64), intent(in) :: left(conserved), right(conserved)
    real(real64) :: flux(conserved), l(conserved), r(conserved), slowest, fastest, contact, of_l, of_r
    l = primitive_of(left)
    r = primitive_of(right)
    call wave_speeds(l, r, slowest, fastest)
    of_l = l(1)*(slowest - l(2))
    of_r = r(1)*(fastest - r(2))
    contact = (r(4) - l(4) + of_l*l(2) - of_r*r(2))/(of_l - of_r)
    if (slowest >= 0) then
      flux = flux_of(left)
    else if (contact >= 0) then
      flux = flux_of(left) + slowest*(beside_contact(left, l, slowest, contact) - left)
    else if (fastest >= 0) then
      flux = flux_of(right) + fastest*(beside_contact(right, r, fastest, contact) - right)
    else
      flux = flux_of(right)
    end if
  end function

  !> Estimates the wave speeds by the pressure between the waves, from linear theory.
  pure subroutine wave_speeds(l, r, slowest, fastest)
    real(real64), intent(in) :: l(conserved), r(conserved)
    real(real64), intent(out) :: slowest, fastest
    real(real64) :: sound_l, sound_r, between
    sound_l = sqrt(gamma*l(4)/l(1))
    sound_r = sqrt(gamma*r(4)/r(1))
    between = 0.5_real64*(l(4) + r(4)) - 0.125_real64*(r(2) - l(2))*(l(1) + r(1))*(sound_l + sound_r)
    slowest = l(2) - sound_l*steepening(between, l(4))
    fastest = r(2) + sound_r*steepening(between, r(4))
  end subroutine

  !> The factor of a wave speed: 1 for a rarefaction, more for a shock.
  pure real(real64) function steepening(between, outside)
    real(real64), intent(in) :: between, outside
    steepening = 1
    if (between > outside) steepening = sqrt(1 + (gamma + 1)/(2*gamma)*(between/outside - 1))
  end function

  pure function beside_contact(u, w, speed, contact) result(state)
    real(real64), intent(in) :: u(conserved), w(conserved), speed, contact
    real(real64) :: state(conserved), dense
    dense = w(1)*(speed - w(2))/(speed - contact)
    state = dense*[1.0_real64, contact, w(3), u(4)/w(1) + (contact - w(2))*(contact + w(4)/(w(1)*(speed - w(2))))]
  end function
end module
