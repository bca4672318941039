// The functions of Ceph's C library that Swath calls. The library is loaded at the first use of a file in a pool.
//
// Building Swath needs no header of Ceph: these declarations are valid from Ceph 14 on. Source: librados.h of Ceph
// 16.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

namespace swath {

// ---- librados's types and constants, by its names -------------------------------------------------------------------

using rados_t = void*;
using rados_ioctx_t = void*;
using rados_completion_t = void*;
using rados_read_op_t = void*;
using rados_write_op_t = void*;
using rados_xattrs_iter_t = void*;
using rados_callback_t = void (*)(rados_completion_t completion, void* argument);
using rados_watchcb2_t = void (*)(void* argument, uint64_t notify_id, uint64_t handle, uint64_t notifier_id, void* data,
                                  size_t data_bytes);
using rados_watcherrcb_t = void (*)(void* argument, uint64_t cookie, int error);
struct notify_ack_t {
  uint64_t notifier_id;
  uint64_t cookie;
  char* payload;
  uint64_t payload_len;
};
struct notify_timeout_t {
  uint64_t notifier_id;
  uint64_t cookie;
};

inline constexpr int LIBRADOS_CREATE_EXCLUSIVE = 1, LIBRADOS_CREATE_IDEMPOTENT = 0;
inline constexpr uint8_t LIBRADOS_CMPXATTR_OP_EQ = 1;

// ---- Its functions: result type, name without "rados_", argument types ---------------------------------------------

// clang-format off
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments of a function have theirs
#define SWATH_RADOS_FUNCTIONS(function)                                                                                \
  function(int, aio_cancel, (rados_ioctx_t io, rados_completion_t completion))                                         \
  function(int, aio_create_completion2, (void* cb_arg, rados_callback_t cb_complete, rados_completion_t* pc))          \
  function(int, aio_get_return_value, (rados_completion_t c))                                                          \
  function(uint64_t, aio_get_version, (rados_completion_t c))                                                          \
  function(int, aio_read_op_operate, (rados_read_op_t read_op, rados_ioctx_t io, rados_completion_t completion,        \
           const char* oid, int flags))                                                                                \
  function(void, aio_release, (rados_completion_t c))                                                                  \
  function(int, aio_remove, (rados_ioctx_t io, const char* oid, rados_completion_t completion))                        \
  function(int, aio_wait_for_complete, (rados_completion_t c))                                                         \
  function(int, aio_write_op_operate, (rados_write_op_t write_op, rados_ioctx_t io,                                    \
           rados_completion_t completion, const char* oid, time_t* mtime, int flags))                                  \
  function(void, buffer_free, (char* buf))                                                                             \
  function(int, cluster_fsid, (rados_t cluster, char* buf, size_t len))                                                \
  function(int, conf_parse_env, (rados_t cluster, const char* var))                                                    \
  function(int, conf_read_file, (rados_t cluster, const char* path))                                                   \
  function(int, conf_set, (rados_t cluster, const char* option, const char* value))                                    \
  function(int, connect, (rados_t cluster))                                                                            \
  function(int, create, (rados_t* cluster, const char* id))                                                            \
  function(int, create2, (rados_t* pcluster, const char* cluster, const char* name, uint64_t flags))                   \
  function(rados_read_op_t, create_read_op, ())                                                                        \
  function(rados_write_op_t, create_write_op, ())                                                                      \
  function(int, decode_notify_response, (char* reply_buffer, size_t reply_buffer_len, notify_ack_t** acks,             \
           size_t* nr_acks, notify_timeout_t** timeouts, size_t* nr_timeouts))                                         \
  function(int, exec, (rados_ioctx_t io, const char* oid, const char* cls, const char* method,                         \
           const char* in_buf, size_t in_len, char* buf, size_t out_len))                                              \
  function(void, free_notify_response, (notify_ack_t* acks, size_t nr_acks, notify_timeout_t* timeouts))               \
  function(uint64_t, get_instance_id, (rados_t cluster))                                                               \
  function(uint64_t, get_last_version, (rados_ioctx_t io))                                                             \
  function(int, getxattrs, (rados_ioctx_t io, const char* oid, rados_xattrs_iter_t* iter))                             \
  function(void, getxattrs_end, (rados_xattrs_iter_t iter))                                                            \
  function(int, getxattrs_next, (rados_xattrs_iter_t iter, const char** name, const char** val, size_t* len))          \
  function(int, ioctx_create, (rados_t cluster, const char* pool_name, rados_ioctx_t* ioctx))                          \
  function(void, ioctx_destroy, (rados_ioctx_t io))                                                                    \
  function(int64_t, ioctx_get_id, (rados_ioctx_t io))                                                                  \
  function(int, mon_command, (rados_t cluster, const char** cmd, size_t cmdlen, const char* inbuf,                     \
           size_t inbuflen, char** outbuf, size_t* outbuflen, char** outs, size_t* outslen))                           \
  function(int, notify2, (rados_ioctx_t io, const char* o, const char* buf, int buf_len, uint64_t timeout_ms,          \
           char** reply_buffer, size_t* reply_buffer_len))                                                             \
  function(int, notify_ack, (rados_ioctx_t io, const char* o, uint64_t notify_id, uint64_t cookie,                     \
           const char* buf, int buf_len))                                                                              \
  function(void, read_op_exec_user_buf, (rados_read_op_t read_op, const char* cls, const char* method,                 \
           const char* in_buf, size_t in_len, char* out_buf, size_t out_len, size_t* used_len, int* prval))            \
  function(void, read_op_read, (rados_read_op_t read_op, uint64_t offset, size_t len, char* buffer,                    \
           size_t* bytes_read, int* prval))                                                                            \
  function(void, release_read_op, (rados_read_op_t read_op))                                                           \
  function(void, release_write_op, (rados_write_op_t write_op))                                                        \
  function(int, remove, (rados_ioctx_t io, const char* oid))                                                           \
  function(void, set_pool_full_try, (rados_ioctx_t io))                                                                \
  function(void, shutdown, (rados_t cluster))                                                                          \
  function(int, stat, (rados_ioctx_t io, const char* o, uint64_t* psize, time_t* pmtime))                              \
  function(int, trunc, (rados_ioctx_t io, const char* oid, uint64_t size))                                             \
  function(int, unwatch2, (rados_ioctx_t io, uint64_t cookie))                                                         \
  function(void, version, (int* major, int* minor, int* extra))                                                        \
  function(int, watch2, (rados_ioctx_t io, const char* o, uint64_t* cookie, rados_watchcb2_t watchcb,                  \
           rados_watcherrcb_t watcherrcb, void* arg))                                                                  \
  function(int, watch_flush, (rados_t cluster))                                                                        \
  function(void, write_op_assert_version, (rados_write_op_t write_op, uint64_t ver))                                   \
  function(void, write_op_cmpxattr, (rados_write_op_t write_op, const char* name, uint8_t comparison_operator,         \
           const char* value, size_t value_len))                                                                       \
  function(void, write_op_create, (rados_write_op_t write_op, int exclusive, const char* category))                    \
  function(void, write_op_exec, (rados_write_op_t write_op, const char* cls, const char* method,                       \
           const char* in_buf, size_t in_len, int* prval))                                                             \
  function(int, write_op_operate, (rados_write_op_t write_op, rados_ioctx_t io, const char* oid, time_t* mtime,        \
           int flags))                                                                                                 \
  function(void, write_op_remove, (rados_write_op_t write_op))                                                         \
  function(void, write_op_rmxattr, (rados_write_op_t write_op, const char* name))                                      \
  function(void, write_op_setxattr, (rados_write_op_t write_op, const char* name, const char* value,                   \
           size_t value_len))                                                                                          \
  function(void, write_op_write, (rados_write_op_t write_op, const char* buffer, size_t len, uint64_t offset))
// NOLINTEND(bugprone-macro-parentheses)
// clang-format on

struct Librados {
// NOLINTBEGIN(bugprone-macro-parentheses)
#define SWATH_RADOS_MEMBER(result, name, arguments) result(*name) arguments = nullptr;
  SWATH_RADOS_FUNCTIONS(SWATH_RADOS_MEMBER)
#undef SWATH_RADOS_MEMBER
  // NOLINTEND(bugprone-macro-parentheses)
};

// Loads the library once for the process. Throws Error{kUnsupported} if that fails.
const Librados& librados();

// Why librados() throws; empty if it does not.
std::string librados_refusal();

}  // namespace swath
