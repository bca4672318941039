// One rank alone: nothing to wait for.
#include <new>
#include <string>

#include "comm/comm.h"
#include "comm/heap_window.h"
#include "comm/messages.h"

namespace swath {
namespace {

class SoloComm final : public Comm {
 public:
  std::string name() const override { return "solo"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int node_of(int) const override { return 0; }

  void barrier() override {}
  void node_arrive() override {}
  void node_wait() override {}

  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    check_allgather(1, mine, all);
    copy_bytes(mine, all);
  }

  void allreduce(std::span<std::byte> record, const Combine&) override { check_record(record); }

  void broadcast(std::span<std::byte>, int root) override { check_root(1, root); }

  void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) override {
    check_messages(0, 1, sends, receives);
    copy_bytes(message_to(sends, 0), message_from(receives, 0));
  }

  std::vector<std::span<std::byte>> shared_windows(int64_t bytes) override {
    check_window_bytes(bytes);
    if (bytes > window_bytes_) {
      window_.reset();  // before the new one: never both
      window_bytes_ = 0;
      try {
        window_ = make_heap_window(bytes);
      } catch (const std::bad_alloc&) {
        refusal_ = "there is no memory for a window of " + std::to_string(bytes) + " bytes";
        return {};
      }
      refusal_.clear();
      window_bytes_ = bytes;
    }
    return {{window_.get(), static_cast<size_t>(bytes)}};
  }

  std::string shared_refusal() const override { return refusal_; }

  std::unique_ptr<Comm> duplicate() override { return make_solo_comm(); }
  bool may_be_called_in_background() const override { return true; }

 private:
  HeapWindow window_;
  int64_t window_bytes_ = 0;
  std::string refusal_;
};

}  // namespace

std::unique_ptr<Comm> make_solo_comm() { return std::make_unique<SoloComm>(); }

}  // namespace swath
