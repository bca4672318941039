#include "comm/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <utility>

#include "base/hash.h"
#include "comm/messages.h"

namespace swath {
namespace {

// A rank's words: the action, then one argument a line, "name=value".
using Lines = std::vector<std::string>;

constexpr size_t kWordsShown = 400;  // bytes; of longer words only differing arguments are shown
constexpr size_t kValueShown = 160;  // bytes; of a longer argument only the differing part is shown
constexpr size_t kShownBefore = 40;  // bytes of an argument before that place

Lines lines_of(const std::string& words) {
  Lines lines;
  std::istringstream stream(words);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::string name_of(const std::string& line) { return line.substr(0, line.find('=')); }

// The argument of that name; empty if it is missing.
std::string argument_of(const Lines& lines, const std::string& name) {
  const auto found =
      std::find_if(lines.begin() + 1, lines.end(), [&](const auto& line) { return name_of(line) == name; });
  return found == lines.end() ? "" : *found;
}

// The first byte of the UTF-8 character that includes byte `at`.
size_t character_begin(const std::string& text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return std::min(at, text.size());
}

// `line`; if it is long, only the part around its first difference from `other`.
std::string excerpt(const std::string& line, const std::string& other) {
  if (line.size() <= kValueShown) return line;
  const auto [differs, in_other] = std::mismatch(line.begin(), line.end(), other.begin(), other.end());
  const size_t name = name_of(line).size() + 1;
  const auto place = static_cast<size_t>(differs - line.begin());
  const size_t begin = place < name + 2 * kShownBefore ? 0 : character_begin(line, place - kShownBefore);
  const size_t end = character_begin(line, begin + kValueShown);
  return (begin == 0 ? "" : line.substr(0, name) + "...") + line.substr(begin, end - begin) +
         (end < line.size() ? "..." : "");
}

// A rank's words on one line; of long words only the parts that differ from `others`.
std::string shown(const Lines& lines, const Lines& others, bool is_long) {
  std::string text = lines[0];
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string other = argument_of(others, name_of(lines[i]));
    if (!is_long || lines[i] != other) text += " " + excerpt(lines[i], other);
  }
  return text;
}

// The names of the arguments that differ: " They differ in method, tuning."
std::string differing(const Lines& first, const Lines& second) {
  std::vector<std::string> names;
  const auto add = [&names](const Lines& lines, const Lines& others) {
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::string name = name_of(lines[i]);
      const bool is_known = std::find(names.begin(), names.end(), name) != names.end();
      if (lines[i] != argument_of(others, name) && !is_known) names.push_back(name);
    }
  };
  add(first, second);
  add(second, first);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? " They differ in " : ", ") + name;
  return text.empty() ? text : text + ".";
}

[[noreturn]] void fail_different(const std::string& first, int rank, const std::string& second) {
  const Lines of_first = lines_of(first);
  const Lines of_second = lines_of(second);
  const bool is_long = std::max(first.size(), second.size()) > kWordsShown;
  throw Error(ErrorKind::kDisagreement, "ranks of one collective operation ask for different things: rank 0: " +
                                            shown(of_first, of_second, is_long) + "; rank " + std::to_string(rank) +
                                            ": " + shown(of_second, of_first, is_long) + "." +
                                            differing(of_first, of_second) + " Give every rank the same arguments");
}

constexpr int32_t kNoRank = INT32_MAX;
constexpr int32_t kDifferentHints = -1;

// The fixed part of an agreement's record: the reasons for which it may fail.
struct Findings {
  uint64_t key_min = 0;
  uint64_t key_max = 0;
  int32_t hint_bytes = 0;                  // kDifferentHints: ranks have hints of different sizes
  int32_t left = kNoRank;                  // the lowest rank that has left a loop
  int32_t failed_without_words = kNoRank;  // the lowest rank with an error and no words
  int32_t failed_with_words = kNoRank;     // the lowest rank with an error and words

  bool all_ask_the_same() const { return key_min == key_max && hint_bytes != kDifferentHints; }

  void combine(const Findings& other) {
    key_min = std::min(key_min, other.key_min);
    key_max = std::max(key_max, other.key_max);
    if (hint_bytes != other.hint_bytes) hint_bytes = kDifferentHints;
    left = std::min(left, other.left);
    failed_without_words = std::min(failed_without_words, other.failed_without_words);
    failed_with_words = std::min(failed_with_words, other.failed_with_words);
  }
};

// The record of an agreement: findings, then hints.
constexpr size_t kAgreementBytes = sizeof(Findings) + kHintBytesMax;
static_assert(kAgreementBytes == 256);

Findings findings_of(int rank, const Question& question, const std::optional<Error>& error, size_t hint_bytes) {
  Findings mine{.key_min = question.key, .key_max = question.key, .hint_bytes = static_cast<int32_t>(hint_bytes)};
  if (error && error->kind() == ErrorKind::kLeft) {
    mine.left = rank;
  } else if (error) {
    (question.words ? mine.failed_with_words : mine.failed_without_words) = rank;
  }
  return mine;
}

// Combines hints of equal size only: ranks with different questions may have other hints.
void combine_agreements(std::span<std::byte> into, std::span<const std::byte> other, const Combine& combine_hints) {
  combine_records<Findings>(into, other);
  Findings both;
  std::memcpy(&both, into.data(), sizeof both);
  // Ranks without hints may combine the hints of others.
  if (both.hint_bytes <= 0 || !combine_hints) return;
  const auto bytes = static_cast<size_t>(both.hint_bytes);
  combine_hints(into.subspan(sizeof both, bytes), other.subspan(sizeof both, bytes));
}

// Collective. Returns the findings of all ranks; stores their combined hints in `hints`.
Findings reduce_findings(Comm& comm, const Findings& mine, std::span<std::byte> hints, const Combine& combine) {
  alignas(std::max_align_t) std::array<std::byte, kAgreementBytes> record{};
  std::memcpy(record.data(), &mine, sizeof mine);
  const std::span<std::byte> hints_of_record = std::span(record).subspan(sizeof mine);
  copy_bytes(hints, hints_of_record);
  comm.allreduce(record, [&combine](std::span<std::byte> into, std::span<const std::byte> other) {
    combine_agreements(into, other, combine);
  });
  copy_bytes(hints_of_record, hints);
  Findings all;
  std::memcpy(&all, record.data(), sizeof all);
  return all;
}

template <typename T>
T broadcast_value(Comm& comm, T value, int root) {
  comm.broadcast(std::as_writable_bytes(std::span(&value, 1)), root);
  return value;
}

std::string broadcast_text(Comm& comm, std::string text, int root) {
  text.resize(static_cast<size_t>(broadcast_value(comm, text.size(), root)));
  comm.broadcast(std::as_writable_bytes(std::span(text.data(), text.size())), root);
  return text;
}

// Collective. Throws the error of `rank`.
[[noreturn]] void throw_error_of(Comm& comm, int rank, const std::optional<Error>& mine) {
  struct Numbers {
    ErrorKind kind;
    int os_error;
  };
  const bool is_mine = rank == comm.rank();
  const Numbers numbers =
      broadcast_value(comm, is_mine ? Numbers{mine->kind(), mine->os_error()} : Numbers{ErrorKind::kNone, 0}, rank);
  const std::string message = broadcast_text(comm, is_mine ? mine->what() : "", rank);
  throw Error(numbers.kind, "rank " + std::to_string(rank) + ": " + message, numbers.os_error);
}

struct LowestRank {
  int32_t rank = kNoRank;
  void combine(const LowestRank& other) { rank = std::min(rank, other.rank); }
};

struct AnyRank {
  bool says_yes = false;
  void combine(const AnyRank& other) { says_yes = says_yes || other.says_yes; }
};

// Collective, if the question of some rank differs from that of rank 0.
[[noreturn]] void throw_difference(Comm& comm, const Question& question, size_t hint_bytes) {
  struct Asked {
    uint64_t key;
    uint64_t hint_bytes;
    bool operator==(const Asked&) const = default;
  };
  const Asked mine{question.key, hint_bytes};
  const bool differs = !(broadcast_value(comm, mine, 0) == mine);
  const int other = allreduce_record(comm, LowestRank{differs ? comm.rank() : kNoRank}).rank;
  const auto words_of = [&](int rank) {
    return broadcast_text(comm, rank == comm.rank() && question.words ? question.words() : "", rank);
  };
  const std::string first = words_of(0);
  fail_different(first, other, words_of(other));
}

}  // namespace

void agree_on(Comm& comm, const Question& question, const std::optional<Error>& mine, std::span<std::byte> hints,
              const Combine& combine) {
  if (hints.size() > kHintBytesMax) {
    throw Error(ErrorKind::kInternal, "an agreement with hints of " + std::to_string(hints.size()) +
                                          " bytes; expected at most " + std::to_string(kHintBytesMax));
  }
  if (comm.size() == 1) {
    if (mine) throw Error(*mine);
    return;
  }
  const Findings found = reduce_findings(comm, findings_of(comm.rank(), question, mine, hints.size()), hints, combine);
  if (found.left != kNoRank) throw_error_of(comm, found.left, mine);
  if (found.failed_without_words != kNoRank) throw_error_of(comm, found.failed_without_words, mine);
  if (!found.all_ask_the_same()) throw_difference(comm, question, hints.size());
  if (found.failed_with_words != kNoRank) throw_error_of(comm, found.failed_with_words, mine);
}

bool agree_same(Comm& comm, const std::string& words, const std::optional<Error>& mine, bool says_yes) {
  Question question;
  if (!words.empty()) question = {.key = hash_text(words), .words = [&words] { return words; }};
  return agree_on(comm, question, mine, AnyRank{says_yes}).says_yes;
}

void agree(Comm& comm, const std::optional<Error>& mine) { agree_on(comm, {}, mine, {}, {}); }

}  // namespace swath
