// What happens in a run: the lines of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/json.h"

namespace swath::trace {

// A line of a trace. It is made where the call is, and becomes text later, in the thread that writes the trace. It
// holds plain values only: an object that it shared with the program might end in that thread, where Python's must not.
class Line {
 public:
  Line() = default;
  virtual ~Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // `epoch`: what real_clock() counts from, in nanoseconds since 1970.
  virtual void write(std::string& text, int rank, int64_t epoch) const = 0;
};

// What events refer to by its key, so that a trace says it once.
class Definition : public Line {
 public:
  // `name` is a literal.
  Definition(const char* name, uint64_t key) : name_(name), key_(key) {}

  void write(std::string& text, int rank, int64_t epoch) const final;

 protected:
  virtual void write_arguments(JsonObject& arguments) const = 0;

 private:
  const char* const name_;
  const uint64_t key_;
};

// A call that has ended.
class Event : public Line {
 public:
  // `name` and `category` are literals. Times are seconds of the real clock (base/clock.h).
  Event(const char* name, const char* category, double began, double ended);

  void write(std::string& text, int rank, int64_t epoch) const final;

 protected:
  // Puts what there is to know beyond name and time.
  virtual void write_arguments(JsonObject& /*arguments*/) const {}

 private:
  const char* const name_;
  const char* const category_;
  const double began_;
  const double ended_;
  const int64_t thread_;
};

// Appends a line that is no call: `write` puts its arguments. `name` is a literal.
template <typename Write>
void append_metadata(std::string& text, const char* name, int rank, const Write& write) {
  {
    JsonObject line(text);
    line.put("name", name);
    line.put("ph", "M");
    line.put("pid", int64_t{rank});
    JsonObject arguments(line.begin("args"));
    write(arguments);
  }
  text += '\n';
}

// A key as text: 16 hexadecimal digits.
std::string key_text(uint64_t key);

// Microseconds, as a trace has them: three decimals.
std::string microseconds(int64_t nanoseconds);

}  // namespace swath::trace
