// A connection to a pool of a Ceph cluster, and small operations on objects. It belongs to the process that made it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/per_process.h"
#include "store/rados/library.h"
#include "store/rados/name.h"
#include "store/rados/placement.h"

namespace swath {

using Attributes = std::map<std::string, std::string>;

// Connections are shared by all files of a cluster and user, and kept until the process ends.
class RadosPool {
 public:
  // Throws Error{kStore} with the cluster's error, and advice what to check.
  static std::shared_ptr<RadosPool> open(const RadosName& name);
  ~RadosPool();
  RadosPool(const RadosPool&) = delete;
  RadosPool& operator=(const RadosPool&) = delete;

  rados_ioctx_t io() const { return io_; }
  rados_t cluster() const;
  const std::string& name() const { return name_; }
  int64_t id() const { return librados().ioctx_get_id(io_); }

  // All attributes of an object; nullopt if it does not exist. Throws Error{kStore}. `version` receives the object's
  // version; use it only if no other thread uses this connection.
  std::optional<Attributes> attributes(const std::string& object, uint64_t* version = nullptr) const;
  // "osd.2", or "an OSD that is not known". May wait for the monitor.
  std::string osd_of(const std::string& object) const;
  // The target of operations on an object, for throttling: "rados:FSID/osd.2", or the whole cluster if the OSD is
  // unknown. May wait for the monitor.
  std::string target_of(const std::string& object) const;
  RadosPlacement& placement() const { return *placement_; }

 private:
  class Cluster;
  RadosPool(std::shared_ptr<Cluster> cluster, std::string name);

  std::shared_ptr<Cluster> cluster_;
  std::string name_;
  rados_ioctx_t io_ = nullptr;
  std::shared_ptr<RadosPlacement> placement_;  // shared by all users of the pool
};

// A pool in this process. A forked child opens its own connection, since the connection's threads belong to the parent.
class RadosPoolOfProcess {
 public:
  explicit RadosPoolOfProcess(RadosName name) : name_(std::move(name)) {}
  const RadosName& name() const { return name_; }
  std::shared_ptr<RadosPool> get() const;

 private:
  struct Held {
    std::mutex mutex;
    std::shared_ptr<RadosPool> pool;
  };
  const RadosName name_;
  mutable PerProcess<Held> held_;
};

// An atomic change of one object.
class RadosChange {
 public:
  RadosChange() : op_(librados().create_write_op()) {}
  ~RadosChange() { librados().release_write_op(op_); }
  RadosChange(const RadosChange&) = delete;
  RadosChange& operator=(const RadosChange&) = delete;

  rados_write_op_t op() const { return op_; }
  RadosChange& create(bool exclusive);
  RadosChange& expect_version(uint64_t version);  // not 0; else apply() fails: -ERANGE, -EOVERFLOW, -ENOENT
  RadosChange& expect(const std::string& attribute, const std::string& value);  // "": no such attribute
  RadosChange& set(const std::string& attribute, const std::string& value);
  RadosChange& remove(const std::string& attribute);
  // Returns 0 or a negative errno value; -ECANCELED if an attribute is not as expected.
  int apply(const RadosPool& pool, const std::string& object) const;

 private:
  rados_write_op_t op_;
};

[[noreturn]] void fail_rados(const std::string& what, int result);
// Advice on an operation's error, in brackets; empty if there is none.
std::string_view rados_advice(int result);

}  // namespace swath
