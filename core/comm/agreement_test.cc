#include "comm/agreement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/simulated.h"

namespace swath {
namespace {

using Errors = std::vector<std::optional<Error>>;

// What each rank threw. Every rank goes on to a barrier: none is left behind, whatever was thrown.
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

// Where only one byte of much text differs, what is around it is shown, and nothing else.
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

// Of ranks 1 and 2, which bring errors; rank 0 brings none, and all bring different words or none.
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

TEST(Agreement, EveryRankGetsTheNotesOfAll) {
  thrown(3, [](Comm& comm) {
    const auto notes = agree_same(comm, "read", std::nullopt, {comm.rank(), 10, -1});
    EXPECT_EQ(notes, (std::vector<Note>{{0, 10, -1, 0, 0}, {1, 10, -1, 0, 0}, {2, 10, -1, 0, 0}}));
  });
  EXPECT_EQ(agree_same(*make_solo_comm(), "read", std::nullopt, {7, 8, 9, 10, 11}),
            (std::vector<Note>{{7, 8, 9, 10, 11}}));
}

}  // namespace
}  // namespace swath
