// HDF5's own C library, found at run time: the library that is chosen, and the functions that Swath calls.
//
// The build needs no header of HDF5: these declarations are the same from 1.10.5 to 2.x. Sources: H5*public.h of HDF5
// 1.10.8, 1.14.6 and 2.0.0. Decision 0052 has the order of the search for the library.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace swath::formats::hdf5 {

// ---- HDF5's types and constants, by its names -----------------------------------------------------------------------

using hid_t = int64_t;
using herr_t = int;
using htri_t = int;
using hsize_t = unsigned long long;
using haddr_t = uint64_t;

inline constexpr hid_t H5P_DEFAULT = 0;
inline constexpr hid_t H5E_DEFAULT = 0;
inline constexpr hid_t H5S_ALL = 0;
inline constexpr haddr_t HADDR_UNDEF = ~haddr_t{0};
inline constexpr hsize_t H5S_UNLIMITED = ~hsize_t{0};
inline constexpr size_t H5T_VARIABLE = ~size_t{0};
inline constexpr unsigned H5F_ACC_RDONLY = 0x0, H5F_ACC_RDWR = 0x1, H5F_ACC_TRUNC = 0x2, H5F_ACC_SWMR_READ = 0x40;
inline constexpr unsigned H5Z_FLAG_OPTIONAL = 0x1;

enum { H5_INDEX_NAME = 0, H5_INDEX_CRT_ORDER = 1 };
enum { H5_ITER_INC = 0 };
enum { H5I_GROUP = 2, H5I_DATATYPE = 3, H5I_DATASET = 5 };
enum { H5L_TYPE_HARD = 0, H5L_TYPE_SOFT = 1, H5L_TYPE_EXTERNAL = 64 };
enum { H5S_SCALAR = 0, H5S_SIMPLE = 1, H5S_NULL = 2 };
enum { H5D_COMPACT = 0, H5D_CONTIGUOUS = 1, H5D_CHUNKED = 2, H5D_VIRTUAL = 3 };
enum { H5S_SELECT_SET = 0 };
enum { H5D_ALLOC_TIME_EARLY = 1, H5D_ALLOC_TIME_INCR = 3 };
enum { H5D_FILL_VALUE_UNDEFINED = 0 };
enum { H5D_FILL_TIME_NEVER = 1 };
enum { H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS = 2 };
enum { H5F_CLOSE_WEAK = 1, H5F_CLOSE_SEMI = 2, H5F_CLOSE_STRONG = 3 };
enum { H5E_WALK_UPWARD = 0, H5E_WALK_DOWNWARD = 1 };
enum { H5F_SCOPE_GLOBAL = 1 };
enum { H5P_CRT_ORDER_TRACKED = 1, H5P_CRT_ORDER_INDEXED = 2 };
inline constexpr unsigned kInOrder = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;  // the order of creation
enum { H5T_ORDER_LE = 0, H5T_ORDER_BE = 1 };
enum { H5T_SGN_NONE = 0 };
enum { H5T_CSET_ASCII = 0, H5T_CSET_UTF8 = 1 };
enum { H5T_STR_NULLPAD = 1 };
enum {
  H5T_INTEGER = 0,
  H5T_FLOAT = 1,
  H5T_TIME = 2,
  H5T_STRING = 3,
  H5T_BITFIELD = 4,
  H5T_OPAQUE = 5,
  H5T_COMPOUND = 6,
  H5T_REFERENCE = 7,
  H5T_ENUM = 8,
  H5T_VLEN = 9,
  H5T_ARRAY = 10,
  H5T_COMPLEX = 11,  // since 2.0
};

struct H5E_error2_t {
  hid_t cls_id;
  hid_t maj_num;
  hid_t min_num;
  unsigned line;
  const char* func_name;
  const char* file_name;
  const char* desc;
};

struct H5O_info1_t {
  unsigned long fileno;
  haddr_t addr;
  int type;
  unsigned rc;
  time_t times[4];
  hsize_t num_attrs;
  struct {
    unsigned version;
    unsigned nmesgs;
    unsigned nchunks;
    unsigned flags;
    hsize_t space[4];
    uint64_t mesg[2];
  } hdr;
  hsize_t meta_size[4];
};

struct H5L_info1_t {
  int type;
  bool corder_valid;
  int64_t corder;
  int cset;
  union {
    haddr_t address;
    size_t val_size;
  } u;
};

struct hvl_t {
  size_t len;
  void* p;
};

using H5E_auto2_t = herr_t (*)(hid_t stack, void* data);
using H5E_walk2_t = herr_t (*)(unsigned n, const H5E_error2_t* error, void* data);
using H5L_iterate1_t = herr_t (*)(hid_t group, const char* name, const H5L_info1_t* info, void* data);
using H5A_operator2_t = herr_t (*)(hid_t location, const char* name, const void* info, void* data);
using H5D_chunk_iter_op_t = int (*)(const hsize_t* offset, unsigned filter_mask, haddr_t address, hsize_t bytes,
                                    void* data);

// ---- Functions: F(result, name, arguments) --------------------------------------------------------------------------

#define SWATH_HDF5_FUNCTIONS(F)                                                                                \
  F(herr_t, H5open, (void))                                                                                    \
  F(herr_t, H5get_libversion, (unsigned*, unsigned*, unsigned*))                                               \
  F(herr_t, H5free_memory, (void*))                                                                            \
  F(herr_t, H5Eget_auto2, (hid_t, H5E_auto2_t*, void**))                                                       \
  F(herr_t, H5Eset_auto2, (hid_t, H5E_auto2_t, void*))                                                         \
  F(herr_t, H5Ewalk2, (hid_t, int, H5E_walk2_t, void*))                                                        \
  F(herr_t, H5Eclear2, (hid_t))                                                                                \
  F(int, H5Iget_type, (hid_t))                                                                                 \
  F(ssize_t, H5Iget_name, (hid_t, char*, size_t))                                                              \
  F(int, H5Idec_ref, (hid_t))                                                                                  \
  F(hid_t, H5Fopen, (const char*, unsigned, hid_t))                                                            \
  F(hid_t, H5Fcreate, (const char*, unsigned, hid_t, hid_t))                                                   \
  F(herr_t, H5Fflush, (hid_t, int))                                                                            \
  F(ssize_t, H5Fget_name, (hid_t, char*, size_t))                                                              \
  F(hid_t, H5Fget_create_plist, (hid_t))                                                                       \
  F(herr_t, H5Fget_vfd_handle, (hid_t, hid_t, void**))                                                         \
  F(hid_t, H5Oopen, (hid_t, const char*, hid_t))                                                               \
  F(hid_t, H5Oopen_by_addr, (hid_t, haddr_t))                                                                  \
  F(htri_t, H5Lexists, (hid_t, const char*, hid_t))                                                            \
  F(herr_t, H5Ldelete, (hid_t, const char*, hid_t))                                                            \
  F(herr_t, H5Lmove, (hid_t, const char*, hid_t, const char*, hid_t, hid_t))                                   \
  F(herr_t, H5Lget_val, (hid_t, const char*, void*, size_t, hid_t))                                            \
  F(herr_t, H5Lunpack_elink_val, (const void*, size_t, unsigned*, const char**, const char**))                 \
  F(hid_t, H5Gcreate2, (hid_t, const char*, hid_t, hid_t, hid_t))                                              \
  F(hid_t, H5Gget_create_plist, (hid_t))                                                                       \
  F(hid_t, H5Acreate2, (hid_t, const char*, hid_t, hid_t, hid_t, hid_t))                                       \
  F(herr_t, H5Adelete, (hid_t, const char*))                                                                   \
  F(htri_t, H5Aexists, (hid_t, const char*))                                                                   \
  F(herr_t, H5Aiterate2, (hid_t, int, int, hsize_t*, H5A_operator2_t, void*))                                  \
  F(hid_t, H5Aopen, (hid_t, const char*, hid_t))                                                               \
  F(hid_t, H5Aget_type, (hid_t))                                                                               \
  F(hid_t, H5Aget_space, (hid_t))                                                                              \
  F(herr_t, H5Aread, (hid_t, hid_t, void*))                                                                    \
  F(herr_t, H5Awrite, (hid_t, hid_t, const void*))                                                             \
  F(hid_t, H5Dcreate2, (hid_t, const char*, hid_t, hid_t, hid_t, hid_t, hid_t))                                \
  F(herr_t, H5Dset_extent, (hid_t, const hsize_t*))                                                            \
  F(herr_t, H5Dwrite, (hid_t, hid_t, hid_t, hid_t, hid_t, const void*))                                        \
  F(hid_t, H5Dget_space, (hid_t))                                                                              \
  F(hid_t, H5Dget_type, (hid_t))                                                                               \
  F(hid_t, H5Dget_create_plist, (hid_t))                                                                       \
  F(haddr_t, H5Dget_offset, (hid_t))                                                                           \
  F(herr_t, H5Dvlen_reclaim, (hid_t, hid_t, hid_t, void*))                                                     \
  F(hid_t, H5Screate, (int))                                                                                   \
  F(hid_t, H5Screate_simple, (int, const hsize_t*, const hsize_t*))                                            \
  F(herr_t, H5Sselect_hyperslab, (hid_t, int, const hsize_t*, const hsize_t*, const hsize_t*, const hsize_t*)) \
  F(int, H5Sget_simple_extent_type, (hid_t))                                                                   \
  F(int, H5Sget_simple_extent_ndims, (hid_t))                                                                  \
  F(int, H5Sget_simple_extent_dims, (hid_t, hsize_t*, hsize_t*))                                               \
  F(hid_t, H5Pcreate, (hid_t))                                                                                 \
  F(herr_t, H5Pset_fclose_degree, (hid_t, int))                                                                \
  F(herr_t, H5Pset_driver, (hid_t, hid_t, const void*))                                                        \
  F(const void*, H5Pget_driver_info, (hid_t))                                                                  \
  F(herr_t, H5Pset_cache, (hid_t, int, size_t, size_t, double))                                                \
  F(hid_t, H5FDregister, (const void*))                                                                        \
  F(herr_t, H5Pget_userblock, (hid_t, hsize_t*))                                                               \
  F(herr_t, H5Pget_link_creation_order, (hid_t, unsigned*))                                                    \
  F(herr_t, H5Pset_link_creation_order, (hid_t, unsigned))                                                     \
  F(herr_t, H5Pset_attr_creation_order, (hid_t, unsigned))                                                     \
  F(herr_t, H5Pset_obj_track_times, (hid_t, bool))                                                             \
  F(herr_t, H5Pset_char_encoding, (hid_t, int))                                                                \
  F(int, H5Pget_layout, (hid_t))                                                                               \
  F(herr_t, H5Pset_layout, (hid_t, int))                                                                       \
  F(int, H5Pget_chunk, (hid_t, int, hsize_t*))                                                                 \
  F(herr_t, H5Pset_chunk, (hid_t, int, const hsize_t*))                                                        \
  F(herr_t, H5Pget_chunk_opts, (hid_t, unsigned*))                                                             \
  F(int, H5Pget_external_count, (hid_t))                                                                       \
  F(int, H5Pget_nfilters, (hid_t))                                                                             \
  F(herr_t, H5Pset_filter, (hid_t, int, unsigned, size_t, const unsigned*))                                    \
  F(herr_t, H5Pset_deflate, (hid_t, unsigned))                                                                 \
  F(herr_t, H5Pset_shuffle, (hid_t))                                                                           \
  F(herr_t, H5Pset_fletcher32, (hid_t))                                                                        \
  F(htri_t, H5Zfilter_avail, (int))                                                                            \
  F(int, H5Pget_filter2, (hid_t, unsigned, unsigned*, size_t*, unsigned*, size_t, char*, unsigned*))           \
  F(herr_t, H5Pfill_value_defined, (hid_t, int*))                                                              \
  F(herr_t, H5Pset_metadata_read_attempts, (hid_t, unsigned))                                                  \
  F(herr_t, H5Pset_alloc_time, (hid_t, int))                                                                   \
  F(herr_t, H5Pget_fill_time, (hid_t, int*))                                                                   \
  F(herr_t, H5Pset_fill_time, (hid_t, int))                                                                    \
  F(herr_t, H5Pget_fill_value, (hid_t, hid_t, void*))                                                          \
  F(herr_t, H5Pset_fill_value, (hid_t, hid_t, const void*))                                                    \
  F(hid_t, H5Tcopy, (hid_t))                                                                                   \
  F(hid_t, H5Tcreate, (int, size_t))                                                                           \
  F(herr_t, H5Tcommit2, (hid_t, const char*, hid_t, hid_t, hid_t, hid_t))                                      \
  F(hid_t, H5Tvlen_create, (hid_t))                                                                            \
  F(htri_t, H5Tequal, (hid_t, hid_t))                                                                          \
  F(int, H5Tget_class, (hid_t))                                                                                \
  F(size_t, H5Tget_size, (hid_t))                                                                              \
  F(herr_t, H5Tset_size, (hid_t, size_t))                                                                      \
  F(int, H5Tget_order, (hid_t))                                                                                \
  F(herr_t, H5Tset_order, (hid_t, int))                                                                        \
  F(herr_t, H5Tset_precision, (hid_t, size_t))                                                                 \
  F(int, H5Tget_sign, (hid_t))                                                                                 \
  F(herr_t, H5Tget_fields, (hid_t, size_t*, size_t*, size_t*, size_t*, size_t*))                               \
  F(herr_t, H5Tset_fields, (hid_t, size_t, size_t, size_t, size_t, size_t))                                    \
  F(size_t, H5Tget_ebias, (hid_t))                                                                             \
  F(herr_t, H5Tset_ebias, (hid_t, size_t))                                                                     \
  F(int, H5Tget_cset, (hid_t))                                                                                 \
  F(herr_t, H5Tset_cset, (hid_t, int))                                                                         \
  F(herr_t, H5Tset_strpad, (hid_t, int))                                                                       \
  F(htri_t, H5Tis_variable_str, (hid_t))                                                                       \
  F(char*, H5Tget_tag, (hid_t))                                                                                \
  F(herr_t, H5Tset_tag, (hid_t, const char*))                                                                  \
  F(hid_t, H5Tget_super, (hid_t))                                                                              \
  F(int, H5Tget_nmembers, (hid_t))                                                                             \
  F(char*, H5Tget_member_name, (hid_t, unsigned))                                                              \
  F(hid_t, H5Tget_member_type, (hid_t, unsigned))                                                              \
  F(size_t, H5Tget_member_offset, (hid_t, unsigned))                                                           \
  F(herr_t, H5Tget_member_value, (hid_t, unsigned, void*))                                                     \
  F(herr_t, H5Tinsert, (hid_t, const char*, size_t, hid_t))                                                    \
  F(hid_t, H5Tenum_create, (hid_t))                                                                            \
  F(herr_t, H5Tenum_insert, (hid_t, const char*, const void*))                                                 \
  F(hid_t, H5Tarray_create2, (hid_t, unsigned, const hsize_t*))                                                \
  F(int, H5Tget_array_ndims, (hid_t))                                                                          \
  F(int, H5Tget_array_dims2, (hid_t, hsize_t*))                                                                \
  F(herr_t, H5Tconvert, (hid_t, hid_t, size_t, void*, void*, hid_t))

// Functions that some versions lack: null if they are missing.
#define SWATH_HDF5_OPTIONAL_FUNCTIONS(F)                                                                     \
  F(herr_t, H5is_library_threadsafe, (bool*))                                                                \
  F(herr_t, H5Pset_file_locking, (hid_t, bool, bool))    /* 1.10.7, 1.12.1 */                                \
  F(herr_t, H5Dget_num_chunks, (hid_t, hid_t, hsize_t*)) /* 1.10.5 */                                        \
  F(herr_t, H5Dget_chunk_info, (hid_t, hid_t, hsize_t, hsize_t*, unsigned*, haddr_t*, hsize_t*))             \
  F(herr_t, H5Dget_chunk_info_by_coord, (hid_t, const hsize_t*, unsigned*, haddr_t*, hsize_t*)) /* 1.10.5 */ \
  F(herr_t, H5Dwrite_chunk, (hid_t, hid_t, uint32_t, const hsize_t*, size_t, const void*))      /* 1.10.3 */ \
  F(herr_t, H5Dchunk_iter, (hid_t, hid_t, H5D_chunk_iter_op_t, void*))                          /* 1.14.0 */

// ---- The library ----------------------------------------------------------------------------------------------------

struct Version {
  unsigned major = 0, minor = 0, release = 0;
  auto operator<=>(const Version& other) const = default;
  std::string to_string() const;
};

// The library of the process, found at the first call and never closed. Calls need a Session (calls.h).
struct Library {
#define SWATH_HDF5_DECLARE(result, name, arguments) result(*name) arguments = nullptr;
  SWATH_HDF5_FUNCTIONS(SWATH_HDF5_DECLARE)
  SWATH_HDF5_OPTIONAL_FUNCTIONS(SWATH_HDF5_DECLARE)
#undef SWATH_HDF5_DECLARE
  // Functions whose names depend on the version: H5Oget_info1, H5Oget_info; H5Literate1, H5Literate.
  herr_t (*H5Oget_info1)(hid_t, H5O_info1_t*) = nullptr;
  herr_t (*H5Literate1)(hid_t, int, int, hsize_t*, H5L_iterate1_t, void*) = nullptr;

  std::string path = {};      // of the library's file
  std::string found_as = {};  // for messages: "h5py's", "the one that SWATH_HDF5 names"
  Version version = {};
  void* handle = nullptr;  // from dlopen

  // An identifier in a global variable of the library: "H5T_STD_I32LE_g". 0 if this version has none.
  hid_t id(const char* name) const;
  // Any function of the library; null if it does not exist.
  void* symbol(const char* name) const;
  // "HDF5 1.10.8 (/usr/lib/…/libhdf5_serial.so.103, the system's)"
  std::string to_string() const;
  // The features that Swath uses and this library lacks.
  std::vector<std::string> missing() const;
};

// Throws Error{kUnsupported} if no library is found; the message has the attempts, and what to install. The caller must
// not hold the interpreter's lock: the first call may need it.
const Library& library();

// Sets a function of the bindings that returns the path of a module of h5py, which is linked to HDF5; "" if h5py is not
// installed. It is called during the search, and may import h5py.
void set_h5py_finder(std::string (*find)());

}  // namespace swath::formats::hdf5
