!> Converts texts, errors and optional arguments of the Fortran module to C. Programs use the module `swath`.
module swath_support
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64
  use swath_c
  implicit none
  public

  integer, parameter :: swath_error_argument = 1, swath_error_store = 2, swath_error_format = 3, &
                        swath_error_disagreement = 4, swath_error_unsupported = 5, swath_error_internal = 6, &
                        swath_error_interrupted = 7
  integer, parameter :: dimensions_max = 32, dtype_max = 128

  !> Optional integers of any kind, converted for C; without a value, the address is null.
  type :: integers
    integer(c_int64_t), allocatable :: values(:)
  contains
    procedure :: address => integers_address
    procedure :: count => integers_count
  end type

  !> The same with two dimensions: a column in Fortran, which is one box, becomes a row in C.
  type :: table
    integer(c_int) :: columns = 0, rows = 0
    type(integers) :: numbers
  contains
    procedure :: of_c => table_of_c
  end type

  !> The options of a new file or array. It keeps them alive while C uses them.
  type :: creation
    type(c_options) :: options
    character(kind=c_char, len=:), allocatable :: format, codecs, engine, method, streams
    integer(c_int64_t), allocatable :: chunks(:), shards(:)
    character(kind=c_char), allocatable :: names(:, :)
    type(c_ptr), allocatable :: name_addresses(:)
  end type

contains

  pure function c_text(text) result(terminated)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: terminated
    terminated = trim(text) // c_null_char
  end function

  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    if (.not. c_associated(address)) then
      text = ""
      return
    end if
    call c_f_pointer(address, characters, [c_strlen(address)])
    allocate (character(size(characters)) :: text)
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function

  !> The version of the library: "0.1.0".
  function swath_version() result(version)
    character(:), allocatable :: version
    version = text_at(c_version())
  end function

  integer(c_int) function fail(message)
    character(*), intent(in) :: message
    fail = c_fail_as(int(swath_error_argument, c_int), c_text(message))
  end function

  !> Called at the end of every procedure: sets `stat` and `errmsg`, or stops the program.
  subroutine finish(status, stat, errmsg)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (present(stat)) stat = status
    if (status == 0) return
    if (present(errmsg)) errmsg = text_at(c_error_message())
    if (present(stat)) return
    write (error_unit, "(a)") "swath: " // text_at(c_error_message())
    flush (error_unit)
    error stop 1
  end subroutine

  subroutine take(values, converted)
    class(*), intent(in), optional :: values(:)
    type(integers), intent(out) :: converted
    integer :: n
    if (.not. present(values)) return
    n = size(values)
    select type (values)
    type is (integer(int32))
      allocate (converted%values(n))
      converted%values(:) = values
    type is (integer(int64))
      allocate (converted%values(n))
      converted%values(:) = values
    class default
      allocate (converted%values(0))  ! refused later: an index is missing for every dimension
    end select
  end subroutine

  subroutine take_table(values, converted)
    class(*), intent(in), optional :: values(:, :)
    type(table), intent(out) :: converted
    if (.not. present(values)) return
    converted%columns = size(values, 1)
    converted%rows = size(values, 2)
    select type (values)
    type is (integer(int32))
      converted%numbers%values = reshape(int(values, c_int64_t), [size(values)])
    type is (integer(int64))
      converted%numbers%values = reshape(values, [size(values)])
    class default
      converted%columns = -1  ! refused later
    end select
  end subroutine

  type(c_table) function table_of_c(self)
    class(table), intent(in), target :: self
    table_of_c = c_table(self%columns, self%rows, self%numbers%address())
  end function

  type(c_ptr) function integers_address(self)
    class(integers), intent(in), target :: self
    integers_address = c_null_ptr
    if (.not. allocated(self%values)) return
    if (size(self%values) > 0) integers_address = c_loc(self%values)
  end function

  integer(c_int) function integers_count(self)
    class(integers), intent(in) :: self
    integers_count = 0
    if (allocated(self%values)) integers_count = size(self%values)
  end function

  !> The values in C order, the slowest dimension first.
  pure function reversed(values)
    integer(c_int64_t), intent(in) :: values(:)
    integer(c_int64_t) :: reversed(size(values))
    reversed = values(size(values):1:-1)
  end function

  subroutine prepare(new, dims, codecs, chunks, format, overwrite, engine, method, streams, shards)
    type(creation), intent(out), target :: new
    character(*), intent(in), optional :: dims(:), codecs, format, engine, method, streams
    class(*), intent(in), optional :: chunks(:), shards(:)
    logical, intent(in), optional :: overwrite
    type(integers) :: found
    integer :: i, j
    call c_options_init(new%options, c_sizeof(new%options))
    if (present(format)) call keep(format, new%format, new%options%format)
    if (present(codecs)) call keep(codecs, new%codecs, new%options%codecs)
    if (present(engine)) call keep(engine, new%engine, new%options%engine)
    if (present(method)) call keep(method, new%method, new%options%method)
    if (present(streams)) call keep(streams, new%streams, new%options%streams)
    if (present(overwrite)) new%options%overwrite = merge(1, 0, overwrite)
    if (present(chunks)) then
      call take(chunks, found)
      new%chunks = reversed(found%values)
      if (size(new%chunks) > 0) new%options%chunks = c_loc(new%chunks)
    end if
    if (present(shards)) then
      call take(shards, found)
      new%shards = reversed(found%values)
      if (size(new%shards) > 0) new%options%shards = c_loc(new%shards)
    end if
    if (present(dims)) then
      allocate (new%names(len(dims) + 1, size(dims)), new%name_addresses(size(dims)))
      do i = 1, size(dims)
        new%names(:, i) = c_null_char
        do j = 1, len_trim(dims(i))
          new%names(j, i) = dims(i)(j:j)
        end do
        new%name_addresses(size(dims) + 1 - i) = c_loc(new%names(1, i))
      end do
      if (size(dims) > 0) new%options%dimensions = c_loc(new%name_addresses)
    end if
  contains
    subroutine keep(text, kept, address)
      character(*), intent(in) :: text
      character(kind=c_char, len=:), allocatable, intent(inout), target :: kept
      type(c_ptr), intent(out) :: address
      kept = c_text(text)
      address = c_loc(kept)
    end subroutine
  end subroutine
end module
