! Boxes that are stacked along the last dimension of an array, in memory with a border: written, read, and refused.
program boxes
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use swath
  implicit none
  character(4), parameter :: suffixes(3) = [character(4) :: "npy", "nc4", "zarr"]
  type(swath_file) :: f
  real(real64) :: blocks(0:5, 4, 2), again(6, 4, 2)
  integer :: b, i, stat
  character(200) :: message
  character(:), allocatable :: name, path

  do b = 1, 2
    do i = 0, 5
      blocks(i, :, b) = 1000*(b - 1) + i
    end do
  end do
  do i = 1, size(suffixes)
    name = "v"
    if (suffixes(i) == "npy") name = ""
    path = "boxes." // trim(suffixes(i))
    call f%create_one(path, name, "f8", [5, 6])
    call f%write_boxes(name, blocks(1:4, :, :), start=reshape([1, 1, 2, 5], [2, 2]), shape=reshape([3, 2, 4, 1], [2, 2]))
    call f%write_boxes(name, blocks(1:4, :, :), start=reshape([integer ::], [2, 0]))
    call f%close()
    again = -1
    call f%open(path)
    call f%read_boxes(name, again(2:5, :, :), start=reshape([1_int64, 1_int64, 2_int64, 5_int64], [2, 2]), &
                      shape=reshape([3, 2, 4, 1], [2, 2]))
    if (any(again(2:4, 1:2, 1) /= blocks(1:3, 1:2, 1)) .or. any(again(2:5, 1, 2) /= blocks(1:4, 1, 2))) error stop 1
    if (count(again /= -1) /= 10) error stop "read beside the boxes"
    call f%read_boxes(name, again(2:4, 1:2, 1:1), start=reshape([1, 1], [2, 1]))
    if (any(again(2:4, 1:2, 1) /= blocks(1:3, 1:2, 1))) error stop "without shape"
    call f%close()
  end do

  call f%open("boxes.npy", mode="r+")
  call f%write_boxes("", blocks(1:4, :, :), start=reshape([1, 1], [1, 2]), stat=stat, errmsg=message)
  call tell()
  call f%write_boxes("", blocks(1:4, :, :), start=reshape([1, 1, 1, 1, 1, 1], [2, 3]), stat=stat, errmsg=message)
  call tell()
  call f%write_boxes("", blocks(1:4, :, :), start=reshape([1, 1, 1, 5], [2, 2]), shape=reshape([3, 2, 5, 1], [2, 2]), &
                     stat=stat, errmsg=message)
  call tell()
  call f%write_boxes("", blocks(1:4, :, :), start=reshape([1, 1, 1, 5], [2, 2]), shape=reshape([3, 2], [2, 1]), &
                     stat=stat, errmsg=message)
  call tell()
  call f%write_boxes("", real(blocks(1:4, :, :)), start=reshape([1, 1], [2, 1]), stat=stat, errmsg=message)
  call tell()
  call f%close()

contains

  subroutine tell()
    if (stat /= swath_error_argument) error stop "no error"
    print "(a)", trim(message)
  end subroutine
end program
