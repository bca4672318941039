! One call writes an array, one reads a part of it.
program first
  use swath
  implicit none
  real :: t(4, 3), part(2, 3)
  integer :: i

  t = reshape([(real(i), i = 1, 12)], [4, 3])
  call swath_write("first.nc4", "t", t, codecs="shuffle,zlib", overwrite=.true.)
  call swath_read("first.nc4", "t", part, start=[3, 1])
  print "(6f5.1)", part
end program
