#include "store/rados/pool.h"

#include <array>
#include <cerrno>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "store/open_file.h"
#include "store/rados/library.h"

namespace swath {
namespace {

constexpr double kMonitorSeconds = 10;

std::string seconds_text(double seconds) { return std::to_string(std::llround(seconds)); }

}  // namespace

std::string_view rados_advice(int result) {
  switch (-result) {
    case ETIMEDOUT:
      return " (no answer within the timeout: look whether its OSDs and monitors run; ?timeout= gives them longer)";
    case ENOSPC:
    case EDQUOT:
      return " (the pool or the cluster is full: remove what is not needed, or raise the pool's quota)";
    case ENOENT:
      return " (was the pool removed?)";
    case EPERM:
    case EACCES:
      return " (the user may not do that in this pool: see ceph auth get, or give another with ?id=)";
    case EROFS:
      return " (the pool is read-only)";
    default:
      return "";
  }
}

void fail_rados(const std::string& what, int result) {
  throw Error(ErrorKind::kStore, what + ": " + system_message(-result) + std::string(rados_advice(result)), -result);
}

class RadosPool::Cluster {
 public:
  explicit Cluster(const RadosName& name) {
    const std::string what = "connect to the Ceph cluster of rados:" + name.pool + "/" + name.file;
    const std::string user = name.id.empty() ? "" : "client." + name.id;
    int result =
        name.id.empty() ? librados().create(&handle_, nullptr) : librados().create2(&handle_, "ceph", user.c_str(), 0);
    if (result < 0) fail_rados(what, result);
    try {
      connect(name, what);
    } catch (...) {
      librados().shutdown(handle_);
      throw;
    }
  }
  ~Cluster() {
    placements_.clear();
    librados().shutdown(handle_);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  rados_t handle() const { return handle_; }
  const std::string& id() const { return id_; }
  std::shared_ptr<RadosPlacement> placement_of(const std::string& pool) {
    const std::lock_guard guard(mutex_);
    auto& placement = placements_[pool];
    if (placement == nullptr) placement = std::make_shared<RadosPlacement>(handle_, pool);
    return placement;
  }

 private:
  void connect(const RadosName& name, const std::string& what) {
    const std::string where = name.conf.empty() ? "the usual places (/etc/ceph/ceph.conf, ~/.ceph)" : name.conf;
    int result = librados().conf_read_file(handle_, name.conf.empty() ? nullptr : name.conf.c_str());
    if (result < 0) {
      throw Error(ErrorKind::kStore,
                  what + ": its configuration is not in " + where + ": " + system_message(-result) +
                      "; give ?conf=FILE, or set CEPH_CONF",
                  -result);
    }
    librados().conf_parse_env(handle_, nullptr);
    set("rados_osd_op_timeout", name.timeout_seconds);
    set("rados_mon_op_timeout", std::min(name.timeout_seconds, kMonitorSeconds));
    set("client_mount_timeout", std::min(name.timeout_seconds, kMonitorSeconds));
    result = librados().connect(handle_);
    if (result == 0) {
      std::array<char, 64> id{};
      if (librados().cluster_fsid(handle_, id.data(), id.size()) > 0) id_ = id.data();
      return;
    }
    std::string advice = "; its configuration is in " + where;
    if (result == -EPERM || result == -EACCES) advice += "; the key of the user is not the cluster's: look at keyring=";
    if (result == -ETIMEDOUT) advice += "; no monitor answered: look whether mon_host names one that runs";
    if (result == -ENOENT) advice += "; the user's keyring was not found";
    throw Error(ErrorKind::kStore, what + ": " + system_message(-result) + advice, -result);
  }

  void set(const char* option, double seconds) { librados().conf_set(handle_, option, seconds_text(seconds).c_str()); }

  rados_t handle_ = nullptr;
  std::string id_ = "cluster";
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<RadosPlacement>> placements_;  // by pool
};

namespace {

// The clusters that this process is connected to.
struct Clusters {
  using Key = std::tuple<std::string, std::string, double>;
  std::mutex mutex;
  std::map<Key, std::shared_ptr<void>> connected;
};

PerProcess<Clusters>& clusters() {
  librados();  // initialised first, so that it is destroyed after the clusters
  static PerProcess<Clusters> of_process;
  return of_process;
}

}  // namespace

std::shared_ptr<RadosPool> RadosPool::open(const RadosName& name) {
  Clusters& all = clusters().get();
  const std::lock_guard guard(all.mutex);
  auto& known = all.connected[{name.conf, name.id, name.timeout_seconds}];
  if (known == nullptr) known = std::make_shared<Cluster>(name);
  return std::shared_ptr<RadosPool>(new RadosPool(std::static_pointer_cast<Cluster>(known), name.pool));
}

RadosPool::RadosPool(std::shared_ptr<Cluster> cluster, std::string name)
    : cluster_(std::move(cluster)), name_(std::move(name)) {
  const int result = librados().ioctx_create(cluster_->handle(), name_.c_str(), &io_);
  if (result == -ENOENT) {
    throw Error(ErrorKind::kStore,
                "open pool " + name_ + ": there is no pool of that name in the cluster; see ceph osd pool ls", ENOENT);
  }
  if (result < 0) fail_rados("open pool " + name_, result);
  placement_ = cluster_->placement_of(name_);
  librados().set_pool_full_try(io_);  // a write to a full pool fails instead of waiting for space
}

RadosPool::~RadosPool() {
  if (io_ != nullptr) librados().ioctx_destroy(io_);
}

rados_t RadosPool::cluster() const { return cluster_->handle(); }

std::optional<Attributes> RadosPool::attributes(const std::string& object, uint64_t* version) const {
  rados_xattrs_iter_t iterator = nullptr;
  const int result = librados().getxattrs(io_, object.c_str(), &iterator);
  if (result == -ENOENT) return std::nullopt;
  if (result < 0) fail_rados("look at object " + object + " of pool " + name_ + " on " + osd_of(object), result);
  if (version != nullptr) *version = librados().get_last_version(io_);
  Attributes found;
  const char* key = nullptr;
  const char* value = nullptr;
  size_t length = 0;
  while (librados().getxattrs_next(iterator, &key, &value, &length) == 0 && key != nullptr) {
    found[key] = std::string(value, length);
  }
  librados().getxattrs_end(iterator);
  return found;
}

std::string RadosPool::osd_of(const std::string& object) const {
  auto osd = placement_->ask(object);
  if (!osd) osd = placement_->known_osd_of(object);
  return osd ? "osd." + std::to_string(*osd) : "an OSD that is not known";
}

std::string RadosPool::target_of(const std::string& object) const {
  const auto osd = placement_->osd_of(object);
  return "rados:" + cluster_->id() + (osd ? "/osd." + std::to_string(*osd) : "");
}

std::shared_ptr<RadosPool> RadosPoolOfProcess::get() const {
  Held& held = held_.get();
  const std::lock_guard guard(held.mutex);
  if (held.pool == nullptr) held.pool = RadosPool::open(name_);
  return held.pool;
}

RadosChange& RadosChange::create(bool exclusive) {
  librados().write_op_create(op_, exclusive ? LIBRADOS_CREATE_EXCLUSIVE : LIBRADOS_CREATE_IDEMPOTENT, nullptr);
  return *this;
}

RadosChange& RadosChange::expect_version(uint64_t version) {
  librados().write_op_assert_version(op_, version);
  return *this;
}

RadosChange& RadosChange::expect(const std::string& attribute, const std::string& value) {
  librados().write_op_cmpxattr(op_, attribute.c_str(), LIBRADOS_CMPXATTR_OP_EQ, value.data(), value.size());
  return *this;
}

RadosChange& RadosChange::set(const std::string& attribute, const std::string& value) {
  librados().write_op_setxattr(op_, attribute.c_str(), value.data(), value.size());
  return *this;
}

RadosChange& RadosChange::remove(const std::string& attribute) {
  librados().write_op_rmxattr(op_, attribute.c_str());
  return *this;
}

int RadosChange::apply(const RadosPool& pool, const std::string& object) const {
  return librados().write_op_operate(op_, pool.io(), object.c_str(), nullptr, 0);
}

}  // namespace swath
