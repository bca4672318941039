! Reads the files of the programs of all formats by netCDF-Fortran: by_netcdf FILE...
program by_netcdf
  use netcdf
  implicit none
  integer, parameter :: nx = 7, ny = 11, records = 3
  character(1000) :: path
  character(40) :: text
  double precision :: a(nx, ny)
  integer :: b(nx, ny), bounds(2), i, x, y, file, id
  real :: r(nx, records)

  do i = 1, command_argument_count()
    call get_command_argument(i, path)
    call must(nf90_open(trim(path), nf90_nowrite, file))
    text = ""
    call must(nf90_get_att(file, nf90_global, "title", text))
    if (text /= "everything") error stop "title"
    call must(nf90_inq_varid(file, "a", id))
    call must(nf90_get_var(file, id, a))
    if (any(abs(a - reshape([((100*y + x, x=0, nx - 1), y=0, ny - 1)], [nx, ny])) > 0)) error stop "a"
    call must(nf90_inq_varid(file, "b", id))
    call must(nf90_get_var(file, id, b))
    if (any(b /= -nint(a))) error stop "b"
    call must(nf90_get_att(file, id, "valid_range", bounds))
    if (any(bounds /= [-9999, 0])) error stop "valid_range"
    call must(nf90_inq_varid(file, "r", id))
    call must(nf90_get_var(file, id, r))
    if (any(abs(r - reshape([((y + x/8.0, x=0, nx - 1), y=0, records - 1)], [nx, records])) > 0)) error stop "r"
    call must(nf90_close(file))
  end do
  print "(a)", "right"
contains
  subroutine must(status)
    integer, intent(in) :: status
    if (status == nf90_noerr) return
    print "(a)", trim(path) // ": " // trim(nf90_strerror(status))
    error stop 1
  end subroutine
end program
