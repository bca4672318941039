#include "comm/agreement.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/hash.h"
#include "comm/reductions_for_tests.h"
#include "comm/simulated.h"

namespace swath {
namespace {

using Errors = std::vector<std::optional<Error>>;

// The error of each rank. Every rank then enters a barrier: none is left behind after an error.
template <typename Agree>
Errors thrown(int ranks, const Agree& agree_here, uint64_t seed = 0) {
  Errors errors(static_cast<size_t>(ranks));
  run_ranks(
      ranks,
      [&](Comm& comm) {
        try {
          agree_here(comm);
        } catch (const Error& error) {
          errors[static_cast<size_t>(comm.rank())] = error;
        }
        comm.barrier();
      },
      seed);
  return errors;
}

Errors thrown_by_agree(const Errors& brought, uint64_t seed = 0) {
  return thrown(
      static_cast<int>(brought.size()), [&](Comm& comm) { agree(comm, brought[static_cast<size_t>(comm.rank())]); },
      seed);
}

void expect_all(const Errors& errors, ErrorKind kind, const std::string& message, int os_error = 0) {
  for (const auto& error : errors) {
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->what(), message);
    EXPECT_EQ(error->kind(), kind);
    EXPECT_EQ(error->os_error(), os_error);
  }
}

TEST(Agreement, WithoutAnErrorThrowsNothing) {
  for (const auto& error : thrown_by_agree(Errors(4))) EXPECT_FALSE(error.has_value());
}

TEST(Agreement, OneRanksErrorIsThrownByAllWithItsKindAndErrno) {
  for (size_t rank = 0; rank < 5; ++rank) {
    Errors brought(5);
    brought[rank] = Error(ErrorKind::kStore, "write run.nc at 4096: No space left on device", 28);
    expect_all(thrown_by_agree(brought, rank), ErrorKind::kStore,
               "rank " + std::to_string(rank) + ": write run.nc at 4096: No space left on device", 28);
  }
}

TEST(Agreement, TheLowestRanksErrorWinsWhoeverComesFirst) {
  Errors brought(4);
  brought[1] = Error(ErrorKind::kFormat, "the header ends at 12");
  brought[2] = Error(ErrorKind::kStore, "read failed", 5);
  brought[3] = Error(ErrorKind::kArgument, "no");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    expect_all(thrown_by_agree(brought, seed), ErrorKind::kFormat, "rank 1: the header ends at 12");
  }
}

TEST(Agreement, ARankThatHasLeftIsHeardBeforeAllElse) {
  const auto errors = thrown(4, [](Comm& comm) {
    const std::string words = comm.rank() == 0 ? "read a.nc" : "read b.nc";
    std::optional<Error> mine;
    if (comm.rank() == 1) mine = Error(ErrorKind::kStore, "read failed", 5);
    if (comm.rank() >= 2) mine = Error(ErrorKind::kLeft, "has left", comm.rank() * 10);
    agree_same(comm, comm.rank() == 1 ? "" : words, mine);
  });
  expect_all(errors, ErrorKind::kLeft, "rank 2: has left", 20);
}

TEST(Agreement, ARankAloneThrowsItsErrorAsItIs) {
  expect_all(thrown_by_agree({Error(ErrorKind::kStore, "read failed", 5)}), ErrorKind::kStore, "read failed", 5);
}

TEST(Agreement, CarriesTextsOfAnyLength) {
  const std::string text(100'000, 'x');
  expect_all(thrown_by_agree({std::nullopt, Error(ErrorKind::kArgument, text)}), ErrorKind::kArgument,
             "rank 1: " + text);
  expect_all(thrown_by_agree({std::nullopt, Error(ErrorKind::kArgument, "")}), ErrorKind::kArgument, "rank 1: ");
}

TEST(Agreement, OnTheSameWordsThrowsNothing) {
  for (const auto& error : thrown(3, [](Comm& comm) { agree_same(comm, "read a.nc by auto"); })) {
    EXPECT_FALSE(error.has_value());
  }
}

TEST(Agreement, AllRanksHearWhetherAnyOfThemSaysYes) {
  for (const int who : {-1, 0, 2}) {
    for (const auto& error : thrown(3, [who](Comm& comm) {
           EXPECT_EQ(agree_same(comm, "sync a.nc", std::nullopt, comm.rank() == who), who >= 0);
         })) {
      EXPECT_FALSE(error.has_value());
    }
  }
  EXPECT_TRUE(agree_same(*make_solo_comm(), "sync a.nc", std::nullopt, true));
}

TEST(Agreement, DisagreementQuotesBothAndIsTheSameOnAllRanks) {
  const std::vector<std::string> asked = {"read a.nc", "read a.nc", "write a.nc by sieve", "read b.nc"};
  const auto errors = thrown(4, [&](Comm& comm) { agree_same(comm, asked[static_cast<size_t>(comm.rank())]); });
  expect_all(errors, ErrorKind::kDisagreement,
             "ranks of one collective operation ask for different things: rank 0: read a.nc; rank 2: write a.nc by "
             "sieve. Give every rank the same arguments");
}

TEST(Agreement, DisagreementNamesTheArgumentsThatDiffer) {
  const std::vector<std::string> asked = {"read a.nc\nmethod=list\nfill=1\norder=C", "read a.nc\nmethod=auto\nfill=1"};
  const auto errors = thrown(2, [&](Comm& comm) { agree_same(comm, asked[static_cast<size_t>(comm.rank())]); });
  expect_all(
      errors, ErrorKind::kDisagreement,
      "ranks of one collective operation ask for different things: rank 0: read a.nc method=list fill=1 order=C; "
      "rank 1: read a.nc method=auto fill=1. They differ in method, order. Give every rank the same arguments");
}

// If only one byte of a long text differs, the message shows its neighbourhood, and nothing else.
TEST(Agreement, DisagreementShowsWhereLongArgumentsDiffer) {
  const auto words = [](const std::string& one) {
    return "create a.nc\nattributes=" + std::string(5000, 'x') + one + std::string(5000, 'y') +
           "\nfill=" + std::string(500, '0');
  };
  const std::vector<std::string> asked = {words("\xC3\xA4"), words("\xC3\xB6")};
  const auto errors = thrown(2, [&](Comm& comm) { agree_same(comm, asked[static_cast<size_t>(comm.rank())]); });
  const auto around = [](const std::string& one) {
    return "create a.nc attributes=..." + std::string(39, 'x') + one + std::string(119, 'y') + "...";
  };
  expect_all(errors, ErrorKind::kDisagreement,
             "ranks of one collective operation ask for different things: rank 0: " + around("\xC3\xA4") +
                 "; rank 1: " + around("\xC3\xB6") + ". They differ in attributes. Give every rank the same arguments");
}

// The errors of ranks 1 and 2, which contribute errors; rank 0 has none, and all have different texts or none.
std::vector<std::optional<Error>> thrown_with_words(const std::vector<std::string>& words) {
  return thrown(3, [&](Comm& comm) {
    std::optional<Error> mine;
    if (comm.rank() > 0) mine = Error(ErrorKind::kArgument, "error of " + std::to_string(comm.rank()));
    agree_same(comm, words[static_cast<size_t>(comm.rank())], mine);
  });
}

TEST(Agreement, AnErrorWithoutWordsGoesBeforeADisagreementAndOneWithWordsAfterIt) {
  expect_all(thrown_with_words({"read", "write", ""}), ErrorKind::kArgument, "rank 2: error of 2");
  expect_all(thrown_with_words({"read", "write", "write"}), ErrorKind::kDisagreement,
             "ranks of one collective operation ask for different things: rank 0: read; rank 1: write. Give every rank "
             "the same arguments");
  expect_all(thrown_with_words({"read", "read", "read"}), ErrorKind::kArgument, "rank 1: error of 1");
}

Question question_of(const std::string& words) {
  return {hash_text(words), [words] { return words; }};
}

// Facts that each rank has alone: the agreement takes the maximum of one, and the sum of the other.
struct Hints {
  int64_t most = 0;
  int64_t sum = 0;
  bool operator==(const Hints&) const = default;
  void combine(const Hints& other) {
    most = std::max(most, other.most);
    sum += other.sum;
  }
};

TEST(Agreement, HandsBackTheHintsOfAllRanksAsOne) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const int nodes : {1, (ranks + 1) / 2, ranks}) {
      run_ranks(
          ranks,
          [&](Comm& comm) {
            const Hints mine{.most = (comm.rank() * 5) % 7, .sum = comm.rank()};
            const Hints all = agree_on(comm, question_of("read"), std::nullopt, mine);
            int64_t most = 0;
            for (int r = 0; r < ranks; ++r) most = std::max<int64_t>(most, (r * 5) % 7);
            EXPECT_EQ(all, (Hints{most, ranks * (ranks - 1) / 2}));
          },
          0, nodes);
    }
  }
}

// Ranks that call different functions have different hints, or none: the agreement works all the same.
TEST(Agreement, RanksWithDifferentHintsHearThatTheyAskForDifferentThings) {
  struct OtherHints {
    int64_t numbers[9] = {};
    void combine(const OtherHints&) {}
  };
  const auto errors = thrown(4, [&](Comm& comm) {
    if (comm.rank() == 0) agree_on(comm, question_of("read"), std::nullopt, Hints{});
    if (comm.rank() == 1) agree_on(comm, question_of("read"), std::nullopt, Hints{});
    if (comm.rank() == 2) agree_same(comm, "close");
    if (comm.rank() == 3) agree_on(comm, question_of("write"), std::nullopt, OtherHints{});
  });
  expect_all(errors, ErrorKind::kDisagreement,
             "ranks of one collective operation ask for different things: rank 0: read; rank 2: close. Give every rank "
             "the same arguments");
}

// A rank without hints, and without a function to combine them, combines those of the others on its node.
TEST(Agreement, ARankWithoutHintsHearsOfOthersThatHaveSome) {
  const auto errors = thrown(3, [&](Comm& comm) {
    if (comm.rank() < 2) agree_on(comm, question_of("read"), std::nullopt, Hints{});
    if (comm.rank() == 2) agree(comm, Error(ErrorKind::kStore, "no space", 28));
  });
  expect_all(errors, ErrorKind::kStore, "rank 2: no space", 28);
}

TEST(Agreement, OfTheSameQuestionsMakesNoWords) {
  run_ranks(4, [](Comm& comm) {
    const Question question{7, []() -> std::string { throw std::logic_error("nobody asked"); }};
    EXPECT_EQ(agree_on(comm, question, std::nullopt, Hints{1, 1}), (Hints{1, 4}));
  });
}

TEST(Agreement, OfDifferentQuestionsMakesTheWordsThatItQuotesOnly) {
  std::vector<int> made(5, 0);
  const auto errors = thrown(5, [&](Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    const Question question{rank < 2 ? 1U : 2U, [&made, rank] {
                              ++made[rank];
                              return "question of " + std::to_string(rank);
                            }};
    agree_on(comm, question, std::nullopt, Hints{});
  });
  for (const auto& error : errors)
    EXPECT_NE(std::string(error->what()).find("rank 2: question of 2"), std::string::npos);
  EXPECT_EQ(made, (std::vector<int>{1, 0, 1, 0, 0}));
}

TEST(Agreement, HintsThatAreTooLongAreRefusedBeforeAnybodyMeets) {
  std::vector<std::byte> hints(kHintBytesMax + 1);
  EXPECT_THROW(agree_on(*make_solo_comm(), {}, std::nullopt, hints, {}), Error);
}

// The contribution of a rank to an agreement: a text or none, an error or none.
struct Brought {
  std::string words;
  bool fails = false;
};

// The expected error by the rules, rank by rank.
std::string expected_error(const std::vector<Brought>& brought) {
  const auto lowest_failure = [&](bool with_words) -> std::string {
    for (size_t rank = 0; rank < brought.size(); ++rank) {
      if (brought[rank].fails && brought[rank].words.empty() != with_words) {
        return (brought.size() > 1 ? "rank " + std::to_string(rank) + ": " : "") + "error of " + std::to_string(rank);
      }
    }
    return "";
  };
  if (const std::string error = lowest_failure(false); !error.empty()) return error;
  for (size_t rank = 1; rank < brought.size(); ++rank) {
    if (brought[rank].words == brought[0].words) continue;
    return "ranks of one collective operation ask for different things: rank 0: " + brought[0].words + "; rank " +
           std::to_string(rank) + ": " + brought[rank].words + ". Give every rank the same arguments";
  }
  return lowest_failure(true);
}

TEST(Agreement, OnAnythingIsByTheRules) {
  std::mt19937 random(7);
  const std::vector<std::string> words = {"read", "read", "read", "read", "write", ""};
  for (int i = 0; i < 400; ++i) {
    const int ranks = 1 + static_cast<int>(random() % 9);
    const int nodes = 1 + static_cast<int>(random() % static_cast<unsigned>(ranks));
    const size_t kinds = 1 + random() % words.size();
    const unsigned one_fails_of = 1 + random() % 20;
    std::vector<Brought> brought;
    for (int r = 0; r < ranks; ++r) brought.push_back({words[random() % kinds], random() % one_fails_of == 1});
    const std::string expected = expected_error(brought);
    run_ranks(
        ranks,
        [&](Comm& comm) {
          const Brought& mine = brought[static_cast<size_t>(comm.rank())];
          std::optional<Error> error;
          if (mine.fails) error = Error(ErrorKind::kStore, "error of " + std::to_string(comm.rank()), 5);
          std::string text;
          try {
            agree_same(comm, mine.words, error);
          } catch (const Error& agreed) {
            text = agreed.what();
          }
          EXPECT_EQ(text, expected) << ranks << " ranks on " << nodes << " nodes";
          comm.barrier();
        },
        random(), nodes);
  }
}

TEST(Agreement, IsOneReductionOfConstantSize) {
  for (const int nodes : {2, 3, 4, 8, 16, 33, 64}) {
    for (const int ranks_of_node : {1, 2}) {
      Simulation simulation(nodes * ranks_of_node, nodes, 0);
      run_ranks(simulation, [](Comm& comm) {
        agree_on(comm, question_of("read a.nc\n" + std::string(10'000, 'x')), std::nullopt, Hints{1, 2});
      });
      const Traffic traffic = simulation.traffic();
      EXPECT_EQ(traffic.calls, (std::map<Call::Kind, int64_t>{{Call::Kind::kAllreduce, 1}}));
      for (const Traffic::OfNode& node : traffic.nodes) {
        EXPECT_LE(node.messages_sent, log2_ceil(nodes)) << nodes << " nodes";
        EXPECT_EQ(node.bytes_sent, node.messages_sent * 256);
        EXPECT_EQ(node.bytes_received, node.messages_received * 256);
      }
    }
  }
}

// Any number of ranks may have an error, or another request.
TEST(Agreement, ThatFailsTakesAFixedNumberOfCalls) {
  const auto calls_of = [](int ranks, const std::function<void(Comm&)>& agree_here) {
    Simulation simulation(ranks, ranks, 0);
    run_ranks(simulation, [&](Comm& comm) { EXPECT_THROW(agree_here(comm), Error); });
    return simulation.traffic().calls;
  };
  for (const int ranks : {2, 9, 40}) {
    const auto calls = [](int64_t reductions, int64_t broadcasts) {
      return std::map<Call::Kind, int64_t>{{Call::Kind::kAllreduce, reductions}, {Call::Kind::kBroadcast, broadcasts}};
    };
    const Error error(ErrorKind::kStore, "error");
    EXPECT_EQ(calls_of(ranks, [&](Comm& comm) { agree(comm, error); }), calls(1, 3));
    EXPECT_EQ(calls_of(ranks, [](Comm& comm) { agree_same(comm, std::to_string(comm.rank())); }), calls(2, 5));
  }
}

}  // namespace
}  // namespace swath
