// A test's file in a pool of the cluster that SWATH_TEST_CEPH_CONF names (make rados-test).
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>

#include "store/atomic_file.h"
#include "store/engine_test_file.h"

namespace swath {

inline constexpr char kNoCluster[] = "no Ceph cluster: SWATH_TEST_CEPH_CONF is not set (make rados-test)";

inline bool has_cluster() { return std::getenv("SWATH_TEST_CEPH_CONF") != nullptr; }

class RadosTestFile {
 public:
  // `stripe`: unit, count and object size, "65536,4,4194304". Does nothing without a cluster.
  explicit RadosTestFile(const std::string& stripe) {
    if (!has_cluster()) return;
    static std::atomic<int> files = 0;
    settings_ = std::string("?conf=") + std::getenv("SWATH_TEST_CEPH_CONF") + "&timeout=20&stripe=" + stripe;
    name_ = "rados:swath/test/" + std::to_string(getpid()) + "." + std::to_string(files++) + "." +
            std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  ~RadosTestFile() {
    try {
      if (!name_.empty()) AtomicFile(path(), {.overwrite = true, .atomic = false}).remove();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  RadosTestFile(const RadosTestFile&) = delete;
  RadosTestFile& operator=(const RadosTestFile&) = delete;

  const std::string& settings() const { return settings_; }
  std::string path() const { return name_ + settings_; }
  std::unique_ptr<Engine> open(OpenMode mode, const EngineOptions& options = {}) const {
    return open_engine(path(), mode, options);
  }
  void write(const Bytes& bytes) const {
    Bytes copy = bytes;
    const Transfer whole[] = {transfer_of(0, copy)};
    Counters ignored;
    open(OpenMode::kCreateNew)->transfer(Direction::kWrite, whole, ignored);
  }
  Bytes contents() const {
    const auto engine = open(OpenMode::kRead);
    Bytes bytes(static_cast<size_t>(engine->size()));
    const Transfer whole[] = {transfer_of(0, bytes)};
    Counters ignored;
    engine->transfer(Direction::kRead, whole, ignored);
    return bytes;
  }

 private:
  std::string settings_;
  std::string name_;
};

}  // namespace swath
