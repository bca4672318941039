#include "comm/agreement.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <sstream>
#include <vector>

namespace swath {
namespace {

// What every rank shows the others: small, so that agreement costs one short collective.
struct Verdict {
  int32_t kind = 0;  // ErrorKind
  int32_t os_error = 0;
  int64_t message_bytes = 0;
  uint64_t asked_hash = 0;
  int64_t asked_bytes = 0;
  Note note{};
};

std::vector<Verdict> gather(Comm& comm, const Verdict& mine) {
  std::vector<Verdict> all(static_cast<size_t>(comm.size()));
  comm.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

std::string broadcast_text(Comm& comm, std::string text, int64_t bytes, int root) {
  text.resize(static_cast<size_t>(bytes));
  comm.broadcast(std::as_writable_bytes(std::span(text.data(), text.size())), root);
  return text;
}

void throw_lowest(Comm& comm, const std::vector<Verdict>& all, const std::optional<Error>& mine, bool with_words) {
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Verdict& verdict = all[static_cast<size_t>(rank)];
    if (verdict.kind == 0 || (verdict.asked_bytes > 0) != with_words) continue;
    std::string message = broadcast_text(comm, rank == comm.rank() ? mine->what() : "", verdict.message_bytes, rank);
    throw Error(static_cast<ErrorKind>(verdict.kind), "rank " + std::to_string(rank) + ": " + message,
                verdict.os_error);
  }
}

Verdict verdict_of(const std::optional<Error>& error) {
  Verdict verdict;
  if (error) {
    verdict.kind = static_cast<int32_t>(error->kind());
    verdict.os_error = error->os_error();
    verdict.message_bytes = static_cast<int64_t>(std::strlen(error->what()));
  }
  return verdict;
}

// Words that two ranks bring: what they do, then one argument a line, "name=value".
using Lines = std::vector<std::string>;

constexpr size_t kWordsShown = 400;  // bytes; of longer words only the arguments that differ are shown
constexpr size_t kValueShown = 160;  // bytes; of a longer argument only the place where it differs
constexpr size_t kShownBefore = 40;  // bytes of an argument before that place

Lines lines_of(const std::string& words) {
  Lines lines;
  std::istringstream stream(words);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::string name_of(const std::string& line) { return line.substr(0, line.find('=')); }

// The argument of that name; empty where there is none.
std::string argument_of(const Lines& lines, const std::string& name) {
  const auto found =
      std::find_if(lines.begin() + 1, lines.end(), [&](const auto& line) { return name_of(line) == name; });
  return found == lines.end() ? "" : *found;
}

// The beginning of the character of UTF-8 that byte `at` is of.
size_t character_begin(const std::string& text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return std::min(at, text.size());
}

// `line`, where it is long only what is around the first byte in which `other` is another one.
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

// What a rank asks for, on one line; of long words only what is not the same in `others`.
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

}  // namespace

void agree(Comm& comm, const std::optional<Error>& mine) { agree_same(comm, "", mine); }

std::vector<Note> agree_same(Comm& comm, const std::string& asked, const std::optional<Error>& mine, const Note& note) {
  if (comm.size() == 1) {
    if (mine) throw Error(*mine);
    return {note};
  }
  Verdict verdict = verdict_of(mine);
  verdict.note = note;
  verdict.asked_hash = std::hash<std::string>{}(asked);
  verdict.asked_bytes = static_cast<int64_t>(asked.size());
  const auto all = gather(comm, verdict);
  throw_lowest(comm, all, mine, false);
  for (int rank = 1; rank < comm.size(); ++rank) {
    const Verdict& other = all[static_cast<size_t>(rank)];
    if (other.asked_hash == all[0].asked_hash && other.asked_bytes == all[0].asked_bytes) continue;
    const std::string first = broadcast_text(comm, asked, all[0].asked_bytes, 0);
    const std::string second = broadcast_text(comm, asked, other.asked_bytes, rank);
    fail_different(first, rank, second);
  }
  throw_lowest(comm, all, mine, true);
  std::vector<Note> notes;
  for (const Verdict& one : all) notes.push_back(one.note);
  return notes;
}

}  // namespace swath
