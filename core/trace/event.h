// The lines of a trace: events and definitions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/json.h"

namespace swath::trace {

// A line of a trace. The traced call makes it; the thread that writes the trace turns it into text later. It holds
// plain values only: a shared Python object could be destroyed in that thread, which Python does not allow.
class Line {
 public:
  Line() = default;
  virtual ~Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // `epoch`: the zero of real_clock(), in nanoseconds since 1970.
  virtual void write(std::string& text, int rank, int64_t epoch) const = 0;
};

// A description that events refer to by its key, so that a trace contains it once.
class Definition : public Line {
 public:
  // `name`: a string literal.
  Definition(const char* name, uint64_t key) : name_(name), key_(key) {}

  void write(std::string& text, int rank, int64_t epoch) const final;

 protected:
  virtual void write_arguments(JsonObject& arguments) const = 0;

 private:
  const char* const name_;
  const uint64_t key_;
};

// A finished call.
class Event : public Line {
 public:
  // `name` and `category`: string literals. Times are seconds of the real clock (base/clock.h).
  Event(const char* name, const char* category, double began, double ended);

  void write(std::string& text, int rank, int64_t epoch) const final;

 protected:
  // Adds the arguments of the event.
  virtual void write_arguments(JsonObject& /*arguments*/) const {}

 private:
  const char* const name_;
  const char* const category_;
  const double began_;
  const double ended_;
  const int64_t thread_;
};

// Appends a metadata line; `write` adds its arguments. `name`: a string literal.
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

// Nanoseconds as a text in microseconds, with three decimals.
std::string microseconds(int64_t nanoseconds);

}  // namespace swath::trace
