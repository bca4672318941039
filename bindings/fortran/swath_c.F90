!> Interfaces of the C functions that the Fortran module calls: swath.h, and descriptors.h in this folder. Programs use
!! the module `swath`.
module swath_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(C) :: c_options
    integer(c_size_t) :: size
    type(c_ptr) :: format, order, engine, method, streams, codecs, chunks, shards, fill, dimensions
    integer(c_int64_t) :: offset
    integer(c_int) :: overwrite, atomic
  end type

  type, bind(C) :: c_rule
    integer(c_int) :: kind
    integer(c_int64_t) :: block
  end type

  !> One row of integers for each box; `values` is null if there are none.
  type, bind(C) :: c_table
    integer(c_int) :: columns, rows
    type(c_ptr) :: values
  end type

  interface
    function c_error_message() bind(C, name="swath_error_message") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    integer(c_int) function c_error_errno() bind(C, name="swath_error_errno")
      import :: c_int
    end function
    function c_version() bind(C, name="swath_version") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    integer(c_size_t) function c_strlen(text) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
    subroutine c_options_init(options, size) bind(C, name="swath_options_init_sized")
      import :: c_options, c_size_t
      type(c_options), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    integer(c_int) function c_fail_as(kind, message) bind(C, name="swath_fail")
      import :: c_char, c_int
      integer(c_int), value :: kind
      character(kind=c_char), intent(in) :: message(*)
    end function

    integer(c_int) function c_file_open(has_comm, comm, path, mode, options, file) &
        bind(C, name="swath_fortran_file_open")
      import :: c_char, c_int, c_options, c_ptr
      integer(c_int), value :: has_comm, comm
      character(kind=c_char), intent(in) :: path(*), mode(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: file
    end function
    integer(c_int) function c_file_create(has_comm, comm, path, options, file) &
        bind(C, name="swath_fortran_file_create")
      import :: c_char, c_int, c_options, c_ptr
      integer(c_int), value :: has_comm, comm
      character(kind=c_char), intent(in) :: path(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: file
    end function
    integer(c_int) function c_open(has_comm, comm, path, variable, mode, options, array) &
        bind(C, name="swath_fortran_open")
      import :: c_char, c_int, c_options, c_ptr
      integer(c_int), value :: has_comm, comm
      character(kind=c_char), intent(in) :: path(*), variable(*), mode(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function c_open_raw(has_comm, comm, path, ndim, shape, dtype, mode, options, array) &
        bind(C, name="swath_fortran_open_raw")
      import :: c_char, c_int, c_int64_t, c_options, c_ptr
      integer(c_int), value :: has_comm, comm, ndim
      character(kind=c_char), intent(in) :: path(*), dtype(*), mode(*)
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function c_create(has_comm, comm, path, variable, ndim, shape, dtype, options, array) &
        bind(C, name="swath_fortran_create")
      import :: c_char, c_int, c_int64_t, c_options, c_ptr
      integer(c_int), value :: has_comm, comm, ndim
      character(kind=c_char), intent(in) :: path(*), variable(*), dtype(*)
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: array
    end function
    type(c_ptr) function c_file_of(array) bind(C, name="swath_file_of")
      import :: c_ptr
      type(c_ptr), value :: array
    end function
    integer(c_int) function c_define(file, variable, ndim, shape, dimensions, dtype, options, array) &
        bind(C, name="swath_define")
      import :: c_char, c_int, c_int64_t, c_options, c_ptr
      type(c_ptr), value :: file, dimensions
      character(kind=c_char), intent(in) :: variable(*), dtype(*)
      integer(c_int), value :: ndim
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function c_variable(file, name, array) bind(C, name="swath_variable")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: array
    end function
    integer(c_int) function c_variable_count(file, count) bind(C, name="swath_variable_count")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: file
      integer(c_int64_t), intent(out) :: count
    end function
    integer(c_int) function c_variable_name(file, number, name) bind(C, name="swath_variable_name")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: file
      integer(c_int64_t), value :: number
      type(c_ptr), intent(out) :: name
    end function
    integer(c_int) function c_inquire(array, ndim, shape, dtype) bind(C, name="swath_inquire")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int), intent(out) :: ndim
      integer(c_int64_t), intent(out) :: shape(*)
      character(kind=c_char), intent(out) :: dtype(*)
    end function
    integer(c_int) function c_explain(array, write, distribution, slices, text) bind(C, name="swath_explain")
      import :: c_int, c_ptr
      type(c_ptr), value :: array, distribution, slices
      integer(c_int), value :: write
      type(c_ptr), intent(out) :: text
    end function
    subroutine c_free(memory) bind(C, name="swath_free")
      import :: c_ptr
      type(c_ptr), value :: memory
    end subroutine
    integer(c_int) function c_file_sync(file) bind(C, name="swath_file_sync")
      import :: c_int, c_ptr
      type(c_ptr), value :: file
    end function
    integer(c_int) function c_file_close(file) bind(C, name="swath_file_close")
      import :: c_int, c_ptr
      type(c_ptr), value :: file
    end function
    integer(c_int) function c_file_discard(file) bind(C, name="swath_file_discard")
      import :: c_int, c_ptr
      type(c_ptr), value :: file
    end function
    integer(c_int) function c_close(array) bind(C, name="swath_close")
      import :: c_int, c_ptr
      type(c_ptr), value :: array
    end function
    integer(c_int) function c_discard(array) bind(C, name="swath_discard")
      import :: c_int, c_ptr
      type(c_ptr), value :: array
    end function
    integer(c_int) function c_set_text(file, holder, name, dtype, count, values) bind(C, name="swath_set_attribute")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: holder(*), name(*), dtype(*), values(*)
      integer(c_int64_t), value :: count
    end function
    integer(c_int) function c_get_attribute(file, holder, name, dtype, count, values) &
        bind(C, name="swath_get_attribute")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: holder(*), name(*)
      character(kind=c_char), intent(out) :: dtype(*)
      integer(c_int64_t), intent(out) :: count
      type(c_ptr), intent(out) :: values
    end function
    integer(c_int) function c_distribution_create(ndim, rules, grid, distribution) &
        bind(C, name="swath_distribution_create")
      import :: c_int, c_ptr, c_rule
      integer(c_int), value :: ndim
      type(c_rule), intent(in) :: rules(*)
      integer(c_int), intent(in) :: grid(*)
      type(c_ptr), intent(out) :: distribution
    end function
    subroutine c_distribution_free(distribution) bind(C, name="swath_distribution_free")
      import :: c_ptr
      type(c_ptr), value :: distribution
    end subroutine
    integer(c_int) function c_local_shape(distribution, ndim, shape, rank, local) bind(C, name="swath_local_shape")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: distribution
      integer(c_int), value :: ndim, rank
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int64_t), intent(out) :: local(*)
    end function

    subroutine c_extents(data, rank, extents) bind(C, name="swath_fortran_extents")
      import :: c_int, c_int64_t
      type(*), dimension(..) :: data
      integer(c_int), intent(out) :: rank
      integer(c_int64_t), intent(out) :: extents(*)
    end subroutine
    integer(c_int) function c_read(array, data, dtype, count, start) bind(C, name="swath_fortran_read")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: array, start
      type(*), dimension(..) :: data
      character(kind=c_char), intent(in) :: dtype(*)
      integer(c_int), value :: count
    end function
    integer(c_int) function c_write(array, data, dtype, count, start) bind(C, name="swath_fortran_write")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: array, start
      type(*), dimension(..) :: data
      character(kind=c_char), intent(in) :: dtype(*)
      integer(c_int), value :: count
    end function
    integer(c_int) function c_append(array, data, dtype, count, start) bind(C, name="swath_fortran_append")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: array, start
      type(*), dimension(..) :: data
      character(kind=c_char), intent(in) :: dtype(*)
      integer(c_int), value :: count
    end function
    integer(c_int) function c_read_boxes(array, data, dtype, start, shape) bind(C, name="swath_fortran_read_boxes")
      import :: c_char, c_int, c_ptr, c_table
      type(c_ptr), value :: array
      type(*), dimension(..) :: data
      character(kind=c_char), intent(in) :: dtype(*)
      type(c_table), value :: start, shape
    end function
    integer(c_int) function c_write_boxes(array, data, dtype, start, shape) bind(C, name="swath_fortran_write_boxes")
      import :: c_char, c_int, c_ptr, c_table
      type(c_ptr), value :: array
      type(*), dimension(..) :: data
      character(kind=c_char), intent(in) :: dtype(*)
      type(c_table), value :: start, shape
    end function
    integer(c_int) function c_read_share(array, data, dtype, whose, count, first, last, step) &
        bind(C, name="swath_fortran_read_share")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: array, whose, first, last, step
      type(*), dimension(..) :: data
      character(kind=c_char), intent(in) :: dtype(*)
      integer(c_int), value :: count
    end function
    integer(c_int) function c_write_share(array, data, dtype, whose, count, first, last, step) &
        bind(C, name="swath_fortran_write_share")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: array, whose, first, last, step
      type(*), dimension(..) :: data
      character(kind=c_char), intent(in) :: dtype(*)
      integer(c_int), value :: count
    end function
    integer(c_int) function c_redistribute(comm, ndim, shape, dtype, from, source, to, target) &
        bind(C, name="swath_fortran_redistribute")
      import :: c_char, c_int, c_int64_t, c_ptr
      integer(c_int), value :: comm, ndim
      integer(c_int64_t), intent(in) :: shape(*)
      character(kind=c_char), intent(in) :: dtype(*)
      type(c_ptr), value :: from, to
      type(*), dimension(..) :: source, target
    end function
    integer(c_int) function c_set_numbers(file, holder, name, dtype, data) bind(C, name="swath_fortran_set_attribute")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: holder(*), name(*), dtype(*)
      type(*), dimension(..) :: data
    end function
    integer(c_int) function c_get_numbers(file, holder, name, dtype, data, count) &
        bind(C, name="swath_fortran_get_attribute")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: holder(*), name(*), dtype(*)
      type(*), dimension(..) :: data
      integer(c_int64_t), intent(out) :: count
    end function
  end interface
end module
