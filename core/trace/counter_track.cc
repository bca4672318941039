#include "trace/counter_track.h"

#include <cmath>
#include <memory>
#include <string>

#include "base/clock.h"
#include "trace/trace.h"

namespace swath::trace {
namespace {

class CounterLine final : public Line {
 public:
  CounterLine(const char* name, int64_t value) : name_(name), value_(value), at_(real_clock().now()) {}

  void write(std::string& text, int rank, int64_t epoch) const override {
    {
      JsonObject line(text);
      line.put("name", name_);
      line.put("cat", "swath");
      line.put("ph", "C");
      line.put("pid", int64_t{rank});
      line.put_json("ts", microseconds(epoch + std::llround(at_ * 1e9)));
      JsonObject arguments(line.begin("args"));
      arguments.put("value", value_);
    }
    text += '\n';
  }

 private:
  const char* const name_;
  const int64_t value_;
  const double at_;
};

}  // namespace

void CounterTrack::change(int64_t by) noexcept {
  const int64_t value = value_.get().fetch_add(by) + by;
  add(std::make_unique<CounterLine>(name_, value));
}

Counted::Counted(CounterTrack& track, int64_t amount) : track_(track), amount_(is_active() ? amount : 0) {
  if (amount_ != 0) track_.change(amount_);
}

Counted::~Counted() {
  if (amount_ != 0) track_.change(-amount_);
}

CounterTrack& tokens_held() {
  static auto* const kept = new CounterTrack("tokens held");
  return *kept;
}

CounterTrack& bytes_in_flight() {
  static auto* const kept = new CounterTrack("bytes in flight");
  return *kept;
}

}  // namespace swath::trace
