! The test kills this program somewhere in the middle: killed FILE replaces the array "t" of a file, in one call.
program killed
  use swath
  implicit none
  character(1000) :: path
  integer :: i
  call get_command_argument(1, path)
  call swath_write(trim(path), "t", reshape([(100 + i, i=0, 1199)], [600, 2]), chunks=[300, 1], codecs="shuffle,zlib:1", &
                   overwrite=.true.)
end program
