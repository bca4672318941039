// The object class "swath": what an OSD loads (libcls_swath.so) and carries out for datatype requests.
//
//   probe   the version of requests that it takes, as a decimal number
//   read    what a view has of the object
//   write   the same, in place: bytes between are neither changed nor sent
//
// Built with what the core describes requests by; of Ceph it knows rados/objclass.h alone. Bound to the release of Ceph
// that it is built for. Nothing is thrown into the OSD, nor allocated before bounds are checked.
#include <rados/objclass.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "rados_class/execute.h"
#include "rados_class/object_request.h"

CLS_VER(1, 0)
CLS_NAME(swath)

namespace {

class ObjectOfMethod final : public swath::ObjectBytes {
 public:
  explicit ObjectOfMethod(cls_method_context_t context) : context_(context) {}

  std::span<const std::byte> read(int64_t offset, int64_t bytes, int& failure) override {
    stored_.clear();
    const int result = cls_cxx_read(context_, static_cast<int>(offset), static_cast<int>(bytes), &stored_);
    failure = result == -ENOENT ? 0 : std::min(result, 0);
    if (result < 0) return {};
    return {reinterpret_cast<const std::byte*>(stored_.c_str()), stored_.length()};
  }

  int64_t write(int64_t offset, std::span<const std::byte> bytes) override {
    ceph::bufferlist given;
    given.append(reinterpret_cast<const char*>(bytes.data()), static_cast<unsigned>(bytes.size()));
    return std::min(cls_cxx_write(context_, static_cast<int>(offset), static_cast<int>(bytes.size()), &given), 0);
  }

 private:
  cls_method_context_t context_;
  ceph::bufferlist stored_;
};

// Whatever happens, it is an answer.
template <typename Action>
int answered(const Action& action) {
  try {
    return action();
  } catch (...) {
    return -EIO;
  }
}

std::span<const std::byte> message_of(ceph::bufferlist& given) {
  return {reinterpret_cast<const std::byte*>(given.c_str()), given.length()};
}

int probe(cls_method_context_t context, ceph::bufferlist*, ceph::bufferlist* answer) {
  return answered([&] {
    ceph::bufferlist byte;
    const int result = cls_cxx_read(context, 0, 1, &byte);  // a pool may not let classes read
    if (result < 0 && result != -ENOENT) return result;
    answer->append(std::to_string(swath::ObjectRequest::kVersion));
    return 0;
  });
}

int read(cls_method_context_t context, ceph::bufferlist* given, ceph::bufferlist* answer) {
  return answered([&] {
    ObjectOfMethod object(context);
    ceph::bufferptr data;
    const int result = swath::execute_read(message_of(*given), object, [&](int64_t bytes) {
      data = ceph::buffer::create(static_cast<unsigned>(bytes));
      return reinterpret_cast<std::byte*>(data.c_str());
    });
    if (result == 0) answer->append(std::move(data));
    return result;
  });
}

int write(cls_method_context_t context, ceph::bufferlist* given, ceph::bufferlist*) {
  return answered([&] {
    ObjectOfMethod object(context);
    return swath::execute_write(message_of(*given), object);
  });
}

}  // namespace

CLS_INIT(swath) {
  cls_handle_t handle = nullptr;
  cls_method_handle_t method = nullptr;
  if (cls_register("swath", &handle) < 0) return;
  cls_register_cxx_method(handle, "probe", CLS_METHOD_RD, probe, &method);
  cls_register_cxx_method(handle, "read", CLS_METHOD_RD, read, &method);
  cls_register_cxx_method(handle, "write", CLS_METHOD_RD | CLS_METHOD_WR, write, &method);
}
