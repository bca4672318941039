!> Swath from Fortran: arrays in files of many formats, read and written by all ranks together.
!!
!!     use swath
!!     call swath_write("ocean.nc", "t", t, global=[nx, ny, nz], start=[is, js, 1], comm=comm, codecs="shuffle,zlib")
!!
!! Indices begin at 1. Dimensions are in Fortran order, the fastest first. A file lists them in reverse, the slowest
!! first, as with netCDF-Fortran and HDF5's Fortran interface: the order of elements in memory does not change.
!!
!! Every procedure has the arguments `stat`, 0 or the kind of the error, and `errmsg`, the message. Without `stat`, an
!! error stops the program with the message. Collective procedures return the same error on all ranks. docs/fortran.md
!! has whole programs.
module swath
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use swath_c
  use swath_support
#ifdef SWATH_FORTRAN_MPI_F08
  use mpi_f08, only: MPI_Comm
#endif
  implicit none
  private

  public :: swath_write, swath_read, swath_redistribute, swath_file, swath_distribution, swath_version
  public :: swath_unlimited, swath_whole, swath_block, swath_cyclic
  public :: swath_error_argument, swath_error_store, swath_error_format, swath_error_disagreement, &
            swath_error_unsupported, swath_error_internal, swath_error_interrupted

  integer, parameter :: swath_unlimited = -1  !< the extent of a dimension that grows: the last one
  integer, parameter :: swath_whole = 0, swath_block = 1, swath_cyclic = 2  !< how a dimension is dealt out

  !> Which rank has which elements. Ranks are numbered from 0, along the first dimension fastest.
  type :: swath_distribution
    private
    type(c_ptr) :: handle = c_null_ptr
    integer :: dimensions = 0
  contains
    procedure :: create => distribution_create
    procedure :: local_shape => distribution_local_shape
    procedure :: destroy => distribution_destroy
  end type

  !> An open file, with all its arrays. Its procedures are collective: all ranks call them, in the same order.
  type :: swath_file
    private
    type(c_ptr) :: handle = c_null_ptr
    type(c_ptr) :: own_array = c_null_ptr  ! for a file that holds one array only
  contains
    procedure, private :: file_open, file_create, file_open_raw, file_create_one
    generic :: open => file_open
    generic :: create => file_create
    generic :: open_raw => file_open_raw
    generic :: create_one => file_create_one
#ifdef SWATH_FORTRAN_MPI_F08
    procedure, private :: file_open_f08, file_create_f08, file_open_raw_f08, file_create_one_f08
    generic :: open => file_open_f08
    generic :: create => file_create_f08
    generic :: open_raw => file_open_raw_f08
    generic :: create_one => file_create_one_f08
#endif
    procedure :: define => file_define
    procedure :: inquire => file_inquire
    procedure :: variable_count => file_variable_count
    procedure :: variable_name => file_variable_name
    procedure :: explain => file_explain
    procedure :: sync => file_sync
    procedure :: close => file_close
    procedure :: discard => file_discard
    procedure, private :: set_text
    procedure, private :: get_text
    generic :: set_attribute => set_text
    generic :: get_attribute => get_text
    procedure, private :: write_i1, write_i2, write_i4, write_i8, write_f4, write_f8, write_c8, write_c16
    procedure, private :: read_i1, read_i2, read_i4, read_i8, read_f4, read_f8, read_c8, read_c16
    procedure, private :: append_i1, append_i2, append_i4, append_i8, append_f4, append_f8, append_c8, append_c16
    procedure, private :: write_boxes_i1, write_boxes_i2, write_boxes_i4, write_boxes_i8, write_boxes_f4, &
                          write_boxes_f8, write_boxes_c8, write_boxes_c16
    procedure, private :: read_boxes_i1, read_boxes_i2, read_boxes_i4, read_boxes_i8, read_boxes_f4, &
                          read_boxes_f8, read_boxes_c8, read_boxes_c16
    procedure, private :: write_share_i1, write_share_i2, write_share_i4, write_share_i8, write_share_f4, &
                          write_share_f8, write_share_c8, write_share_c16
    procedure, private :: read_share_i1, read_share_i2, read_share_i4, read_share_i8, read_share_f4, read_share_f8, &
                          read_share_c8, read_share_c16
    procedure, private :: set_i1, set_i2, set_i4, set_i8, set_f4, set_f8
    procedure, private :: get_i1, get_i2, get_i4, get_i8, get_f4, get_f8
    generic :: write => write_i1, write_i2, write_i4, write_i8, write_f4, write_f8, write_c8, write_c16
    generic :: read => read_i1, read_i2, read_i4, read_i8, read_f4, read_f8, read_c8, read_c16
    generic :: append => append_i1, append_i2, append_i4, append_i8, append_f4, append_f8, append_c8, append_c16
    generic :: write_boxes => write_boxes_i1, write_boxes_i2, write_boxes_i4, write_boxes_i8, write_boxes_f4, &
                              write_boxes_f8, write_boxes_c8, write_boxes_c16
    generic :: read_boxes => read_boxes_i1, read_boxes_i2, read_boxes_i4, read_boxes_i8, read_boxes_f4, &
                             read_boxes_f8, read_boxes_c8, read_boxes_c16
    generic :: write_share => write_share_i1, write_share_i2, write_share_i4, write_share_i8, write_share_f4, &
                              write_share_f8, write_share_c8, write_share_c16
    generic :: read_share => read_share_i1, read_share_i2, read_share_i4, read_share_i8, read_share_f4, &
                             read_share_f8, read_share_c8, read_share_c16
    generic :: set_attribute => set_i1, set_i2, set_i4, set_i8, set_f4, set_f8
    generic :: get_attribute => get_i1, get_i2, get_i4, get_i8, get_f4, get_f8
  end type

  !> Collective. Writes one array, or this rank's box of it, into a file. Creates the file and the variable if they do
  !! not exist.
  interface swath_write
    procedure :: once_write_i1, once_write_i2, once_write_i4, once_write_i8, once_write_f4, once_write_f8, &
                 once_write_c8, once_write_c16
#ifdef SWATH_FORTRAN_MPI_F08
    procedure :: once_write_f08_i1, once_write_f08_i2, once_write_f08_i4, once_write_f08_i8, once_write_f08_f4, &
                 once_write_f08_f8, once_write_f08_c8, once_write_f08_c16
#endif
  end interface

  !> Collective. Reads an array of a file, or this rank's box of it.
  interface swath_read
    procedure :: once_read_i1, once_read_i2, once_read_i4, once_read_i8, once_read_f4, once_read_f8, once_read_c8, &
                 once_read_c16
#ifdef SWATH_FORTRAN_MPI_F08
    procedure :: once_read_f08_i1, once_read_f08_i2, once_read_f08_i4, once_read_f08_i8, once_read_f08_f4, &
                 once_read_f08_f8, once_read_f08_c8, once_read_f08_c16
#endif
  end interface

  !> Collective. Redistributes an array in memory from one distribution to another.
  interface swath_redistribute
    procedure :: redistribute_i1, redistribute_i2, redistribute_i4, redistribute_i8, redistribute_f4, redistribute_f8, &
                 redistribute_c8, redistribute_c16
#ifdef SWATH_FORTRAN_MPI_F08
    procedure :: redistribute_f08_i1, redistribute_f08_i2, redistribute_f08_i4, redistribute_f08_i8, &
                 redistribute_f08_f4, redistribute_f08_f8, redistribute_f08_c8, redistribute_f08_c16
#endif
  end interface

contains

  ! ---- Distributions ------------------------------------------------------------------------------------------------

  !> `rules`: swath_whole, swath_block or swath_cyclic for each dimension. `blocks`: block sizes; 0: equal blocks for
  !! swath_block, 1 for swath_cyclic. `grid`: the number of ranks along each dimension.
  subroutine distribution_create(self, rules, grid, blocks, stat, errmsg)
    class(swath_distribution), intent(inout) :: self
    integer, intent(in) :: rules(:), grid(:)
    integer, intent(in), optional :: blocks(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_rule) :: c_rules(size(rules))
    integer(c_int) :: places(size(rules))
    integer :: d, n
    n = size(rules)
    call self%destroy()
    if (size(grid) /= n) then
      call finish(fail("distribution: rules and grid have different sizes; expected one of each a dimension"), &
                  stat, errmsg)
      return
    end if
    do d = 1, n
      c_rules(n + 1 - d) = c_rule(rules(d), 0_c_int64_t)
      if (present(blocks)) c_rules(n + 1 - d)%block = blocks(d)
      places(n + 1 - d) = grid(d)
    end do
    self%dimensions = n
    call finish(c_distribution_create(int(n, c_int), c_rules, places, self%handle), stat, errmsg)
  end subroutine

  !> The extents of a rank's share of an array. Ranks begin at 0.
  function distribution_local_shape(self, global, rank) result(local)
    class(swath_distribution), intent(in) :: self
    class(*), intent(in) :: global(:)
    integer, intent(in) :: rank
    integer(int64), allocatable :: local(:)
    integer(c_int64_t) :: found(size(global))
    type(integers) :: shape
    call take(global, shape)
    call finish(c_local_shape(self%handle, int(size(global), c_int), reversed(shape%values), int(rank, c_int), found))
    local = reversed(found)
  end function

  subroutine distribution_destroy(self)
    class(swath_distribution), intent(inout) :: self
    if (c_associated(self%handle)) call c_distribution_free(self%handle)
    self%handle = c_null_ptr
  end subroutine

  ! ---- Files --------------------------------------------------------------------------------------------------------

  !> `mode`: "r" (default), or "r+" to write in place, define arrays, append records and set attributes.
  subroutine file_open(self, path, comm, mode, engine, method, streams, stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: path
    integer, intent(in), optional :: comm
    character(*), intent(in), optional :: mode, engine, method, streams
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(creation), target :: new
    character(kind=c_char, len=:), allocatable :: how
    call prepare(new, engine=engine, method=method, streams=streams)
    how = c_text("r")
    if (present(mode)) how = c_text(mode)
    self%own_array = c_null_ptr
    call finish(c_file_open(has(comm), value_of(comm), c_text(path), how, new%options, self%handle), stat, errmsg)
  end subroutine

  !> Creates a file. It gets its name when it is closed; if it has growing arrays, at the first sync.
  subroutine file_create(self, path, comm, format, overwrite, engine, method, streams, stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: path
    integer, intent(in), optional :: comm
    character(*), intent(in), optional :: format, engine, method, streams
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(creation), target :: new
    call prepare(new, format=format, overwrite=overwrite, engine=engine, method=method, streams=streams)
    self%own_array = c_null_ptr
    call finish(c_file_create(has(comm), value_of(comm), c_text(path), new%options, self%handle), stat, errmsg)
  end subroutine

  !> Opens a raw file, which does not store its shape and type: `shape` in Fortran order, `dtype` such as "f4".
  subroutine file_open_raw(self, path, shape, dtype, comm, mode, offset, stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: path, dtype
    class(*), intent(in) :: shape(:)
    integer, intent(in), optional :: comm
    character(*), intent(in), optional :: mode
    class(*), intent(in), optional :: offset
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(creation), target :: new
    character(kind=c_char, len=:), allocatable :: how
    type(integers) :: extents
    integer(c_int) :: status
    call prepare(new)
    call take(shape, extents)
    if (present(offset)) then
      select type (offset)
      type is (integer(int32))
        new%options%offset = offset
      type is (integer(int64))
        new%options%offset = offset
      end select
    end if
    how = c_text("r")
    if (present(mode)) how = c_text(mode)
    self%handle = c_null_ptr
    status = c_open_raw(has(comm), value_of(comm), c_text(path), extents%count(), reversed(extents%values), &
                        c_text(dtype), how, new%options, self%own_array)
    if (status == 0) self%handle = c_file_of(self%own_array)
    call finish(status, stat, errmsg)
  end subroutine

  !> Creates a file with one array; required for formats that hold one array only (.npy, raw), possible for others.
  subroutine file_create_one(self, path, variable, dtype, shape, comm, dims, codecs, chunks, format, overwrite, stat, &
                             errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: path, variable, dtype
    class(*), intent(in) :: shape(:)
    integer, intent(in), optional :: comm
    character(*), intent(in), optional :: dims(:), codecs, format
    class(*), intent(in), optional :: chunks(:)
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(creation), target :: new
    type(integers) :: extents
    integer(c_int) :: status
    call prepare(new, dims, codecs, chunks, format, overwrite)
    call take(shape, extents)
    self%handle = c_null_ptr
    status = c_create(has(comm), value_of(comm), c_text(path), c_text(variable), extents%count(), &
                      reversed(extents%values), c_text(dtype), new%options, self%own_array)
    if (status == 0) self%handle = c_file_of(self%own_array)
    call finish(status, stat, errmsg)
  end subroutine

#ifdef SWATH_FORTRAN_MPI_F08
  subroutine file_open_f08(self, path, comm, mode, engine, method, streams, stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in), optional :: mode, engine, method, streams
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call self%open(path, comm%MPI_VAL, mode, engine, method, streams, stat, errmsg)
  end subroutine

  subroutine file_create_f08(self, path, comm, format, overwrite, engine, method, streams, stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in), optional :: format, engine, method, streams
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call self%create(path, comm%MPI_VAL, format, overwrite, engine, method, streams, stat, errmsg)
  end subroutine

  subroutine file_open_raw_f08(self, path, shape, dtype, comm, mode, offset, stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: path, dtype
    class(*), intent(in) :: shape(:)
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in), optional :: mode
    class(*), intent(in), optional :: offset
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call self%open_raw(path, shape, dtype, comm%MPI_VAL, mode, offset, stat, errmsg)
  end subroutine

  subroutine file_create_one_f08(self, path, variable, dtype, shape, comm, dims, codecs, chunks, format, overwrite, &
                                 stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: path, variable, dtype
    class(*), intent(in) :: shape(:)
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in), optional :: dims(:), codecs, format
    class(*), intent(in), optional :: chunks(:)
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call self%create_one(path, variable, dtype, shape, comm%MPI_VAL, dims, codecs, chunks, format, overwrite, stat, &
                         errmsg)
  end subroutine
#endif

  integer(c_int) function has(comm)
    integer, intent(in), optional :: comm
    has = merge(1, 0, present(comm))
  end function

  integer(c_int) function value_of(comm)
    integer, intent(in), optional :: comm
    value_of = 0
    if (present(comm)) value_of = comm
  end function

  !> Adds an array. `dtype`: such as "f4", "i8", "c16". The last extent may be swath_unlimited: then append() adds
  !! records. `chunks`, and for Zarr `shards`: their extents.
  subroutine file_define(self, variable, dtype, shape, dims, codecs, chunks, stat, errmsg, shards)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: variable, dtype
    class(*), intent(in) :: shape(:)
    character(*), intent(in), optional :: dims(:), codecs
    class(*), intent(in), optional :: chunks(:), shards(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(creation), target :: new
    type(integers) :: extents
    type(c_ptr) :: array
    call prepare(new, dims, codecs, chunks, shards=shards)
    call take(shape, extents)
    call finish(c_define(self%handle, c_text(variable), extents%count(), reversed(extents%values), &
                         new%options%dimensions, c_text(dtype), new%options, array), stat, errmsg)
  end subroutine

  integer(c_int) function find(self, variable, array)
    class(swath_file), intent(in) :: self
    character(*), intent(in) :: variable
    type(c_ptr), intent(out) :: array
    if (.not. c_associated(self%handle)) then
      array = c_null_ptr
      find = fail(trim(variable) // ": the file is not open; open or create it first")
    else if (c_associated(self%own_array)) then
      array = self%own_array
      find = 0
    else
      find = c_variable(self%handle, c_text(variable), array)
    end if
  end function

  !> The extents of an array, in Fortran order, and its element type, such as "f4".
  subroutine file_inquire(self, variable, shape, dtype, stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: variable
    integer(int64), allocatable, intent(out), optional :: shape(:)
    character(:), allocatable, intent(out), optional :: dtype
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: array
    integer(c_int) :: status, ndim
    integer(c_int64_t) :: extents(dimensions_max)
    character(kind=c_char), target :: type(dtype_max)
    status = find(self, variable, array)
    if (status == 0) status = c_inquire(array, ndim, extents, type)
    if (status == 0) then
      if (present(shape)) shape = reversed(extents(1:ndim))
      if (present(dtype)) dtype = without_order(text_at(c_loc(type)))
    end if
    call finish(status, stat, errmsg)
  end subroutine

  pure function without_order(type) result(short)
    character(*), intent(in) :: type
    character(:), allocatable :: short
    short = type
    if (scan(type(1:1), "<>=|") > 0) short = type(2:)
  end function

  integer function file_variable_count(self) result(found)
    class(swath_file), intent(in) :: self
    integer(c_int64_t) :: count
    call finish(c_variable_count(self%handle, count))
    found = int(count)
  end function

  !> The path of a variable; numbers begin at 1.
  function file_variable_name(self, number) result(name)
    class(swath_file), intent(in) :: self
    integer, intent(in) :: number
    character(:), allocatable :: name
    type(c_ptr) :: text
    call finish(c_variable_name(self%handle, int(number - 1, c_int64_t), text))
    name = text_at(text)
  end function

  !> Describes the plan of a read (with `write`, of a write), and its estimated cost.
  function file_explain(self, variable, whose, write) result(text)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: variable
    type(swath_distribution), intent(in), optional :: whose
    logical, intent(in), optional :: write
    character(:), allocatable :: text
    type(c_ptr) :: array, explained, shares
    integer(c_int) :: direction
    shares = c_null_ptr
    if (present(whose)) shares = whose%handle
    direction = 0
    if (present(write)) direction = merge(1, 0, write)
    call finish(find(self, variable, array))
    call finish(c_explain(array, direction, shares, c_null_ptr, explained))
    text = text_at(explained)
    call c_free(explained)
  end function

  !> On return, written data is on the medium, and changes are permanent.
  subroutine file_sync(self, stat, errmsg)
    class(swath_file), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(c_file_sync(self%handle), stat, errmsg)
  end subroutine

  !> Completes the file.
  subroutine file_close(self, stat, errmsg)
    class(swath_file), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    if (c_associated(self%own_array)) then
      status = c_close(self%own_array)
    else
      status = c_file_close(self%handle)
    end if
    self%handle = c_null_ptr
    self%own_array = c_null_ptr
    call finish(status, stat, errmsg)
  end subroutine

  !> Closes the file without completing it: removes a new file, or undoes the changes since the last sync.
  subroutine file_discard(self, stat, errmsg)
    class(swath_file), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    if (c_associated(self%own_array)) then
      status = c_discard(self%own_array)
    else
      status = c_file_discard(self%handle)
    end if
    self%handle = c_null_ptr
    self%own_array = c_null_ptr
    call finish(status, stat, errmsg)
  end subroutine

  !> Attributes of the file (`holder` ""), a group or a variable: a text, a number, or a vector of numbers.
  subroutine set_text(self, holder, name, value, stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: holder, name, value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call finish(c_set_text(self%handle, c_text(holder), c_text(name), c_text("text"), int(len(value), c_int64_t), &
                           value // c_null_char), stat, errmsg)
  end subroutine

  subroutine get_text(self, holder, name, value, stat, errmsg)
    class(swath_file), intent(inout) :: self
    character(*), intent(in) :: holder, name
    character(:), allocatable, intent(out) :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), target :: type(dtype_max)
    integer(c_int64_t) :: count
    type(c_ptr) :: values
    integer(c_int) :: status
    value = ""
    status = c_get_attribute(self%handle, c_text(holder), c_text(name), type, count, values)
    if (status == 0) then
      if (text_at(c_loc(type)) == "text") then
        value = text_at(values)
      else
        status = fail("attribute " // trim(name) // ": it is " // text_at(c_loc(type)) // ", no text")
      end if
      call c_free(values)
    end if
    call finish(status, stat, errmsg)
  end subroutine

  ! ---- Single calls that open or create a file, and close it again --------------------------------------------------

  !> Opens the file that an array is to be written into, or creates it.
  integer(c_int) function open_or_create(file, path, variable, dtype, extents, global, comm, new) result(status)
    type(swath_file), intent(inout) :: file
    character(*), intent(in) :: path, variable, dtype
    integer(c_int64_t), intent(in) :: extents(:)
    type(integers), intent(in) :: global
    integer, intent(in), optional :: comm
    type(creation), intent(in) :: new
    integer, parameter :: no_such_file = 2  ! ENOENT
    if (new%options%overwrite == 0) then
      status = c_open(has(comm), value_of(comm), c_text(path), c_text(variable), c_text("r+"), new%options, &
                      file%own_array)
      if (status == 0) then
        file%handle = c_file_of(file%own_array)
        if (allocated(global%values)) status = compare_shape(file%own_array, variable, global)
        return
      end if
      if (status == swath_error_argument .and. allocated(global%values)) then
        status = define_in(file, path, variable, dtype, global, comm, new)
        return
      end if
      if (status /= swath_error_store .or. c_error_errno() /= no_such_file) return
    end if
    if (.not. allocated(global%values) .and. present(comm)) then
      status = fail(trim(path) // ": it is to be made; expected global=, the shape of the whole array")
      return
    end if
    if (allocated(global%values)) then
      status = c_create(has(comm), value_of(comm), c_text(path), c_text(variable), global%count(), &
                        reversed(global%values), c_text(dtype), new%options, file%own_array)
    else
      status = c_create(0_c_int, 0_c_int, c_text(path), c_text(variable), int(size(extents), c_int), &
                        reversed(extents), c_text(dtype), new%options, file%own_array)
    end if
    if (status == 0) file%handle = c_file_of(file%own_array)
  end function

  !> Defines a variable that an existing file does not have yet.
  integer(c_int) function define_in(file, path, variable, dtype, global, comm, new) result(status)
    type(swath_file), intent(inout) :: file
    character(*), intent(in) :: path, variable, dtype
    type(integers), intent(in) :: global
    integer, intent(in), optional :: comm
    type(creation), intent(in) :: new
    type(c_ptr) :: array
    file%own_array = c_null_ptr
    status = c_file_open(has(comm), value_of(comm), c_text(path), c_text("r+"), new%options, file%handle)
    if (status /= 0) return
    status = c_define(file%handle, c_text(variable), global%count(), reversed(global%values), new%options%dimensions, &
                      c_text(dtype), new%options, array)
  end function

  integer(c_int) function compare_shape(array, variable, global) result(status)
    type(c_ptr), intent(in) :: array
    character(*), intent(in) :: variable
    type(integers), intent(in) :: global
    integer(c_int64_t) :: extents(dimensions_max)
    character(kind=c_char) :: type(dtype_max)
    integer(c_int) :: ndim
    status = c_inquire(array, ndim, extents, type)
    if (status /= 0) return
    if (ndim == global%count()) then
      if (all(reversed(extents(1:ndim)) == global%values)) return
    end if
    status = fail(trim(variable) // ": the file has it already, with another shape than global; " // &
                           "expected the same, or overwrite=.true. for a new file")
  end function

  !> After a write: completes the file, or after an error undoes the changes. Reports the first error.
  integer(c_int) function end_once(file, status) result(ended)
    type(swath_file), intent(inout) :: file
    integer(c_int), intent(in) :: status
    character(:), allocatable :: message
    integer :: discarded
    ended = status
    if (.not. c_associated(file%handle)) return
    if (status == 0) then
      if (c_associated(file%own_array)) then
        ended = c_close(file%own_array)
      else
        ended = c_file_close(file%handle)
      end if
    else
      message = text_at(c_error_message())
      call file%discard(stat=discarded)
      ended = c_fail_as(status, c_text(message))
    end if
    file%handle = c_null_ptr
    file%own_array = c_null_ptr
  end function

#include "all_types.inc"
end module
