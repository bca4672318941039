// Fixtures of the engines' contract suite: an engine of each kind, on a file of its store.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/engine_test_file.h"
#include "store/open_file.h"
#include "store/rados/test_file.h"
#include "testing/skeleton/engine.h"
#include "throttle/throttled_engine.h"

namespace swath {

// A file of the engine's own store.
class ContractFile {
 public:
  explicit ContractFile(const std::string& engine) {
    if (engine.starts_with(kPool)) {
      in_pool_.emplace(engine.substr(kPool.size()));
    } else {
      local_.emplace();
    }
  }
  static bool is_in_pool(const std::string& engine) { return engine.starts_with(kPool); }
  std::string path() const { return in_pool_ ? in_pool_->path() : local_->path(); }
  void write(const Bytes& bytes) const { in_pool_ ? in_pool_->write(bytes) : local_->write(bytes); }
  Bytes contents() const { return in_pool_ ? in_pool_->contents() : local_->contents(); }

 private:
  static constexpr std::string_view kPool = "rados:";
  std::optional<EngineTestFile> local_;
  std::optional<RadosTestFile> in_pool_;
};

// A file of an engine, and the engine on it. The tests are of all engines that engine_contract_test.cc names.
class EngineContract : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (in_pool && !has_cluster()) GTEST_SKIP() << kNoCluster;
  }
  std::unique_ptr<Engine> open(OpenMode mode, EngineOptions options = {}) {
    if (GetParam() == "skeleton") return open_skeleton_engine(file.path(), mode, options);
    const bool throttled = GetParam() == "throttled";
    if (!in_pool) options.engine = throttled ? "posix" : GetParam();
    std::string reason;
    auto engine = open_engine(file.path(), mode, options, &reason);
    if (!reason.empty()) fell_back = reason;
    if (!throttled) return engine;
    tokens->enter();  // another stream: a single stream would not be throttled
    ThrottleOptions one_at_a_time;
    one_at_a_time.reads = one_at_a_time.writes = StreamLimit::fixed(1);
    return std::make_unique<ThrottledEngine>(std::move(engine), tokens, one_at_a_time);
  }
  void TearDown() override {
    if (!fell_back.empty()) GTEST_SKIP() << fell_back;
  }

  // In a pool, the counters count operations on objects; rados/engine_test.cc and the plans' tests check these.
  void expect_requests(int64_t counted, int64_t expected) const {
    if (in_pool) {
      EXPECT_GT(counted, 0);
    } else {
      EXPECT_EQ(counted, expected);
    }
  }

  const bool in_pool = ContractFile::is_in_pool(GetParam());
  ContractFile file{GetParam()};
  Counters counters;
  std::string fell_back;
  std::shared_ptr<NodeTokens> tokens = NodeTokens::open("contract-" + std::to_string(getpid()), file.path());
};

}  // namespace swath
