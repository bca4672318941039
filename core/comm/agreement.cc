#include "comm/agreement.h"

#include <cstring>
#include <functional>
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
    throw Error(ErrorKind::kDisagreement,
                "ranks of one collective operation ask for different things: rank 0: " + first + "; rank " +
                    std::to_string(rank) + ": " + second + ". Give every rank the same arguments");
  }
  throw_lowest(comm, all, mine, true);
  std::vector<Note> notes;
  for (const Verdict& one : all) notes.push_back(one.note);
  return notes;
}

}  // namespace swath
