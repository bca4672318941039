!> The multi-partition of BT: q x q ranks, each with q cells, one in every slab along each of the three dimensions.
module cells
  implicit none
  private
  public :: make_cells

contains

  !> `first` and `extent` of the cells of a rank, (x, y, z) each, of a cube of n**3 points; points begin with 1.
  !! Cell 0 of rank r is at (r mod q, r div q, 0), the next one is one further in x, one back in y, and one up in z.
  subroutine make_cells(n, q, rank, first, extent)
    integer, intent(in) :: n, q, rank
    integer, allocatable, intent(out) :: first(:, :), extent(:, :)
    integer :: c, d, place(3)
    allocate (first(3, q), extent(3, q))
    do c = 1, q
      place = [modulo(rank + c - 1, q), modulo(rank/q - c + 1, q), c - 1]
      do d = 1, 3
        first(d, c) = part_begin(n, q, place(d)) + 1
        extent(d, c) = part_begin(n, q, place(d) + 1) - part_begin(n, q, place(d))
      end do
    end do
  end subroutine

  !> The begin of part k (from 0) of n points in q parts; the first n mod q parts have one point more.
  pure integer function part_begin(n, q, k)
    integer, intent(in) :: n, q, k
    part_begin = k*(n/q) + min(k, mod(n, q))
  end function
end module
