// In files of any format, changes that are not committed are undone byte for byte, also after a kill.
#include "formats/contract_for_tests.h"

namespace swath::formats {
namespace {

class ContractOfJournals : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    if (IsSkipped()) return;
    if (!can().has_names) GTEST_SKIP() << "it is never changed";
    create(NewContents{.arrays = {along({"y", "x"}, array("a", {5, 7}, "<i2")), growing("t", {"time", "x"}, {0, 7})}});
    before_ = tree_of(path_);
  }

  // One change of each kind.
  std::vector<std::function<void(FormatFile&)>> steps() const {
    return {[](FormatFile& file) { file.contents(); },
            [this](FormatFile& file) { file.add(growing("u", {"time", "y"}, {0, 5})); },
            [](FormatFile& file) {
              const size_t bytes = can().journals_long_headers ? 30'000 : 300;
              file.set_attributes("", {{"title", std::string(bytes, 'x')}});
            },
            [](FormatFile& file) { file.set_attributes("t", {{"units", "K"}}); },
            [](FormatFile& file) { file.extend("t", 3, 0); },
            [](FormatFile& file) { file.set_length("time", 3); },
            [](FormatFile& file) { file.allocate("t"); },
            [this](FormatFile& file) { file.add(along({"y", "w"}, array("v", {5, 9}))); }};
  }

  Tree before_;
};

TEST_P(ContractOfJournals, WhatIsNotCommittedIsTakenBack) {
  {
    Changes changes(path_, {});
    const auto file = format_of(path_).open(path_, &changes);
    for (const auto& step : steps()) step(*file);
    EXPECT_NE(tree_of(path_), before_);
  }
  EXPECT_EQ(tree_of(path_), before_);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "no journal is left";
}

TEST_P(ContractOfJournals, AKillAfterAnyStepIsTakenBack) {
  const auto all = steps();
  for (size_t count = 1; count <= all.size(); ++count) {
    killed_after([&] {
      auto& changes = *new Changes(path_, {});
      auto* const file = format_of(path_).open(path_, &changes).release();
      for (size_t i = 0; i < count; ++i) all[i](*file);
    });
    repair(path_);
    ASSERT_EQ(tree_of(path_), before_) << "after " << count << " steps";
  }
  EXPECT_EQ(described("t").shape, (Shape{0, 7}));
}

TEST_P(ContractOfJournals, WhatWasSettledStaysAfterAKill) {
  killed_after([&] {
    auto& changes = *new Changes(path_, {});
    auto* const file = format_of(path_).open(path_, &changes).release();
    file->extend("t", 1, 0);
    file->set_length("time", 1);
    changes.checkpoint();
    file->extend("t", 2, 1);
    file->set_length("time", 2);
    file->set_attributes("t", {{"units", "K"}});
  });
  repair(path_);
  EXPECT_EQ(described("t").shape, (Shape{can().journals_lengths_alone ? 1 : 2, 7}));
  EXPECT_TRUE(described("t").attributes.text("units").empty());
}

TEST_P(ContractOfJournals, OneChangeIsTakenBackAlone) {
  Changes changes(path_, {});
  Tree after;
  {
    const auto file = format_of(path_).open(path_, &changes);
    file->set_attributes("t", {{"units", "K"}});
    after = tree_of(path_);
  }
  const Mark mark = changes.mark();
  {
    const auto file = format_of(path_).open(path_, &changes);
    file->add(growing("u", {"time", "y"}, {0, 5}));
    file->set_length("time", 2);
  }
  changes.undo(mark);
  EXPECT_EQ(tree_of(path_), after);
  changes.commit();
  EXPECT_EQ(reopened()->contents().variable("u"), nullptr);
  EXPECT_EQ(described("t").attributes.text("units"), "K");
}

TEST_P(ContractOfJournals, AForkedChildChangesNothing) {
  Changes changes(path_, {});
  auto file = format_of(path_).open(path_, &changes);
  file->add(along({"y", "w"}, array("u", {5, 9})));
  const pid_t child = ::fork();
  if (child == 0) {
    const Error error = error_thrown_by([&] { file->add(along({"y"}, array("v", {5}))); });
    ::_exit(error.os_error() == EBADF ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  file->add(along({"y"}, array("w2", {5})));
  file.reset();
  changes.commit();
  EXPECT_NE(reopened()->contents().variable("w2"), nullptr);
  EXPECT_EQ(reopened()->contents().variable("v"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Of, ContractOfJournals, testing::ValuesIn(flavours()), name_of_flavour);

}  // namespace
}  // namespace swath::formats
