#include "comm/mpi_messages.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "comm/backoff.h"
#include "comm/messages.h"
#include "comm/reduction.h"

namespace swath {
namespace {

constexpr int64_t kPieceBytes = int64_t{512} << 20;
constexpr int64_t kGatheredPieceBytes = int64_t{64} << 20;  // of an allgather, on all ranks together

void allgather_piece(MPI_Comm communicator, std::span<const std::byte> mine, std::span<std::byte> all) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int bytes = static_cast<int>(mine.size());
  check_mpi(MPI_Iallgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, communicator, &request),
            "MPI_Iallgather");
  wait_for(request, "MPI_Iallgather");
}

// The messages under way in one exchange, each in pieces of at most kPieceBytes.
class Transfers {
 public:
  Transfers(MPI_Comm communicator, int rank) : communicator_(communicator), rank_(rank) {}

  void receive(const ReceiveMessage& message) {
    each_piece(std::ssize(message.data), [&](int64_t begin, int bytes) {
      expected_.push_back({message.from, bytes});
      return MPI_Irecv(message.data.data() + begin, bytes, MPI_BYTE, message.from, 0, communicator_, &add_request());
    });
  }

  void send(const SendMessage& message) {
    each_piece(std::ssize(message.data), [&](int64_t begin, int bytes) {
      return MPI_Isend(message.data.data() + begin, bytes, MPI_BYTE, message.to, 0, communicator_, &add_request());
    });
  }

  // Receives must start before the sends. Each request is tested separately: an error in MPI_Testall would go to the
  // program's error handler, which ends the program by default.
  void complete() {
    Backoff backoff;
    for (size_t i = 0; i < requests_.size(); ++i) {
      MPI_Status status;
      while (!is_done(i, status)) backoff.wait();
      int bytes = 0;
      if (i < expected_.size()) MPI_Get_count(&status, MPI_BYTE, &bytes);
      if (i < expected_.size() && bytes != expected_[i].bytes) fail_size(expected_[i], std::to_string(bytes));
    }
  }

 private:
  struct Expected {
    int from;
    int bytes;
  };

  template <typename Start>
  static void each_piece(int64_t message_bytes, const Start& start) {
    for (int64_t begin = 0; begin < message_bytes; begin += kPieceBytes) {
      check_mpi(start(begin, static_cast<int>(std::min(kPieceBytes, message_bytes - begin))), "a message's MPI call");
    }
  }

  MPI_Request& add_request() { return requests_.emplace_back(MPI_REQUEST_NULL); }

  bool is_done(size_t request, MPI_Status& status) {
    int done = 0;
    const int code = MPI_Test(&requests_[request], &done, &status);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    if (error_class == MPI_ERR_TRUNCATE && request < expected_.size()) fail_size(expected_[request], "more");
    check_mpi(code, "MPI_Test");
    return done != 0;
  }

  [[noreturn]] void fail_size(const Expected& expected, const std::string& sent) const {
    throw Error(ErrorKind::kInternal, "exchange: rank " + std::to_string(expected.from) + " sends " + sent +
                                          " bytes to rank " + std::to_string(rank_) + ", which expects " +
                                          std::to_string(expected.bytes));
  }

  MPI_Comm communicator_;
  int rank_;
  std::vector<MPI_Request> requests_;
  std::vector<Expected> expected_;  // of the first requests, which are the receives
};

}  // namespace

void wait_for(MPI_Request request, const char* call) {
  Backoff backoff;
  for (;;) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done) return;
    backoff.wait();
  }
}

void barrier_over(MPI_Comm communicator) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(communicator, &request), "MPI_Ibarrier");
  wait_for(request, "MPI_Ibarrier");
}

void allgather_over(MPI_Comm communicator, std::span<const std::byte> mine, std::span<std::byte> all) {
  const int size = rank_and_size(communicator).size;
  check_allgather(size, mine, all);
  const size_t piece_bytes = std::max<int64_t>(1, kGatheredPieceBytes / size);
  if (mine.size() <= piece_bytes) return allgather_piece(communicator, mine, all);
  std::vector<std::byte> pieces(piece_bytes * size);
  for (size_t begin = 0; begin < mine.size(); begin += piece_bytes) {
    const std::span<const std::byte> piece = mine.subspan(begin, std::min(piece_bytes, mine.size() - begin));
    allgather_piece(communicator, piece, std::span(pieces).first(piece.size() * size));
    for (int r = 0; r < size; ++r) {
      std::memcpy(all.data() + r * mine.size() + begin, pieces.data() + r * piece.size(), piece.size());
    }
  }
}

void allreduce_over(MPI_Comm communicator, std::span<const int> peers, int place, std::span<std::byte> record,
                    const Combine& combine) {
  std::vector<std::byte> received(record.size());
  for (const ReductionStep& step : reduction_steps(place, static_cast<int>(peers.size()))) {
    const bool sends = step.send_to != ReductionStep::kNobody;
    const bool receives = step.receive_from != ReductionStep::kNobody;
    const SendMessage out{sends ? peers[step.send_to] : -1, record};
    const ReceiveMessage in{receives ? peers[step.receive_from] : -1, received};
    exchange_over(communicator, {&out, sends ? size_t{1} : 0}, {&in, receives ? size_t{1} : 0});
    if (receives) take_received(step.order, record, received, combine);
  }
}

void broadcast_over(MPI_Comm communicator, std::span<std::byte> data, int root) {
  check_root(rank_and_size(communicator).size, root);
  for (int64_t begin = 0; begin < std::ssize(data); begin += kPieceBytes) {
    const int bytes = static_cast<int>(std::min(kPieceBytes, std::ssize(data) - begin));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibcast(data.data() + begin, bytes, MPI_BYTE, root, communicator, &request), "MPI_Ibcast");
    wait_for(request, "MPI_Ibcast");
  }
}

void exchange_over(MPI_Comm communicator, std::span<const SendMessage> sends,
                   std::span<const ReceiveMessage> receives) {
  const auto [rank, size] = rank_and_size(communicator);
  check_messages(rank, size, sends, receives);
  Transfers transfers(communicator, rank);
  for (const ReceiveMessage& message : receives) {
    if (message.from != rank) transfers.receive(message);
  }
  for (const SendMessage& message : sends) {
    if (message.to != rank) transfers.send(message);
  }
  copy_bytes(message_to(sends, rank), message_from(receives, rank));
  transfers.complete();
}

}  // namespace swath
