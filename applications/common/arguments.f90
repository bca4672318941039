!> Arguments of the form name=value, and numbers for the line that a program prints.
module arguments
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: text_argument, integer_argument, digits

  interface digits
    procedure :: digits_integer, digits_real
  end interface

contains

  function text_argument(name, default) result(value)
    character(*), intent(in) :: name, default
    character(:), allocatable :: value
    character(4096) :: given
    integer :: i
    value = default
    do i = 1, command_argument_count()
      call get_command_argument(i, given)
      if (index(given, name // "=") == 1) value = trim(given(len(name) + 2:))
    end do
  end function

  integer function integer_argument(name, default) result(value)
    character(*), intent(in) :: name
    integer, intent(in) :: default
    character(:), allocatable :: text
    integer :: status
    text = text_argument(name, "")
    value = default
    if (text == "") return
    read (text, *, iostat=status) value
    if (status /= 0) error stop "an argument is not a whole number; expected name=number"
  end function

  function digits_integer(number) result(text)
    integer(int64), intent(in) :: number
    character(:), allocatable :: text
    character(24) :: buffer
    write (buffer, "(i0)") number
    text = trim(buffer)
  end function

  function digits_real(number) result(text)
    real(real64), intent(in) :: number
    character(:), allocatable :: text
    character(32) :: buffer
    write (buffer, "(es23.15e3)") number
    text = trim(adjustl(buffer))
  end function
end module
