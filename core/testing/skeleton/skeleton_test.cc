// The skeletons do what they are copied for. The format and the engine pass the contract suites, too
// (formats/contract_for_tests.h, store/engine_contract_test.cc).
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "formats/contract_for_tests.h"
#include "testing/run_plans.h"
#include "testing/skeleton/engine.h"
#include "testing/skeleton/format.h"
#include "testing/skeleton/method.h"

namespace swath {
namespace {

using namespace swath::testing;

// ---- The format -----------------------------------------------------------------------------------------------------

class SkeletonFormatTest : public ::testing::Test {
 protected:
  formats::Description described(const std::string& content) const {
    const auto* const bytes = reinterpret_cast<const std::byte*>(content.data());
    file.write({bytes, bytes + content.size()});
    return formats::skeleton::format().open(file.path(), nullptr)->describe(std::nullopt);
  }
  std::string refusal(const std::string& content) const {
    const Error error = error_of([&] { described(content); });
    EXPECT_EQ(error.kind(), ErrorKind::kFormat) << content;
    return error.what();
  }

  EngineTestFile file;
};

TEST_F(SkeletonFormatTest, TheElementsBeginAtTheNextMultipleOf64Bytes) {
  formats::NewContents contents;
  contents.arrays = {{.shape = {3, 4}, .type = formats::ElementType::parse(">i2")}};
  formats::skeleton::format().create(file.path(), contents);
  std::string expected = "SKELETON >i2 3 4\n";
  expected.resize(64, ' ');
  expected.resize(64 + 24, '\0');
  EXPECT_EQ(content_of(file.path()), expected);
  const formats::Description found = described(expected);
  EXPECT_EQ(found.shape, (Shape{3, 4}));
  EXPECT_EQ(std::get<formats::StridedLayout>(found.layout).offset, 64);
  EXPECT_EQ(found.end, 88);
}

TEST_F(SkeletonFormatTest, AHeaderThatCannotBeTrueIsRefused) {
  const std::string elements(200, '\0');
  EXPECT_EQ(described("SKELETON <f8 2\n" + elements).shape, Shape{2});
  EXPECT_NE(refusal("SKELETON <f8 -2\n" + elements).find("'-2' is no length"), std::string::npos);
  EXPECT_NE(refusal("SKELETON <f8 2x\n" + elements).find("'2x' is no length"), std::string::npos);
  EXPECT_NE(refusal("SKELETON <f8 99999999999999999999\n" + elements).find("is no length"), std::string::npos);
  EXPECT_NE(refusal("SKELETON <f8 9999999999 9999999999\n" + elements).find("64-bit"), std::string::npos);
  EXPECT_NE(refusal("SKELETON |S5 2\n" + elements).find("is no type of numbers"), std::string::npos);
  EXPECT_NE(refusal("SKELETON <f7 2\n" + elements).find("is no type of numbers"), std::string::npos);
  EXPECT_NE(refusal("SKELETON !f8 2\n" + elements).find("is no type of numbers"), std::string::npos);
  EXPECT_NE(refusal("SKELETON <f8 2").find("it has no end"), std::string::npos);
  EXPECT_NE(refusal("SKELETONS <f8 2\n" + elements).find("it begins with 'SKELETONS'"), std::string::npos);
  EXPECT_FALSE(refusal("SKELETON <f8 1000\n" + elements).empty());  // of a file that ends too early
}

// ---- The method -----------------------------------------------------------------------------------------------------

Outcome run_skeleton_on(const Machine& machine, const Plan& plan, std::vector<UserMemory>& memory,
                        const EngineTestFile& file) {
  Outcome outcome;
  outcome.counters.resize(memory.size());
  outcome.errors = on_all_ranks(machine, [&](Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    const auto engine = open_skeleton_engine(file.path(), OpenMode::kReadWrite, {});
    const LocalMemory local = memory[rank].local();
    const Access mine = access_of(*plan.request.layout, local);
    Progress progress;
    run_skeleton({plan, comm, *engine, local, mine, outcome.counters[rank], progress});
    EXPECT_EQ(progress.bytes_done, mine.bytes());
  });
  return outcome;
}

// Requests of random layouts, distributions and selections, with memory in any order.
template <typename Check>
void for_random_requests(Direction direction, const Check& check) {
  Random random(1);
  for (int i = 0; i < 250 && !::testing::Test::HasFailure(); ++i) {
    const RequestCase given = random_request(random, {.strided_memory = random.chance(60)});
    const Machine machine = random_machine(random, given.decomposition.ranks());
    Tuning tuning = random_tuning(random);
    tuning.list_pieces = random.one_of<int64_t>({1, 3, 1024});
    const Plan plan = make_plan(given.request(direction, Method::kList, tuning));
    SCOPED_TRACE(given.text + machine.text());
    auto memory = memory_of_ranks(random, given);
    const EngineTestFile file;
    const Bytes bytes = random_bytes(random, given.file_bytes());
    file.write(bytes);
    check(given, bytes, memory, file, [&] { return run_skeleton_on(machine, plan, memory, file); });
  }
}

TEST(SkeletonMethod, ReadsWhatThePlainListSaysAndNothingElse) {
  for_random_requests(Direction::kRead, [](const RequestCase& given, const Bytes& bytes, auto& memory,
                                           const EngineTestFile& file, const auto& run) {
    auto expected = memory;
    read_plainly(given, bytes, expected);
    expect_no_errors(run().errors);
    for (size_t rank = 0; rank < memory.size(); ++rank) {
      EXPECT_EQ(memory[rank].buffers(), expected[rank].buffers()) << "rank " << rank;
    }
    EXPECT_EQ(file.contents(), bytes);
  });
}

TEST(SkeletonMethod, WritesWhatThePlainListSaysAndNothingElse) {
  for_random_requests(Direction::kWrite, [](const RequestCase& given, const Bytes& bytes, auto& memory,
                                            const EngineTestFile& file, const auto& run) {
    Bytes expected = bytes;
    write_plainly(given, expected, memory);
    const Outcome outcome = run();
    expect_no_errors(outcome.errors);
    EXPECT_EQ(file.contents(), expected);
  });
}

}  // namespace
}  // namespace swath
