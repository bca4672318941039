#include "trace/event.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/fork.h"

namespace swath::trace {
namespace {

// The thread's number, computed again in a forked child.
int64_t this_thread() {
  thread_local uint64_t generation = ~uint64_t{0};
  thread_local int64_t number = 0;
  if (generation != fork_generation()) {
    generation = fork_generation();
    number = gettid();
  }
  return number;
}

int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace

std::string microseconds(int64_t nanoseconds) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(nanoseconds / 1000),
                static_cast<long long>(nanoseconds % 1000));
  return text.data();
}

std::string key_text(uint64_t key) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(key));
  return text.data();
}

Event::Event(const char* name, const char* category, double began, double ended)
    : name_(name), category_(category), began_(began), ended_(ended), thread_(this_thread()) {}

void Event::write(std::string& text, int rank, int64_t epoch) const {
  {
    JsonObject event(text);
    event.put("name", name_);
    event.put("cat", category_);
    event.put("ph", "X");
    event.put("pid", int64_t{rank});
    event.put("tid", thread_);
    event.put_json("ts", microseconds(epoch + nanoseconds(began_)));
    event.put_json("dur", microseconds(std::max(nanoseconds(ended_) - nanoseconds(began_), int64_t{0})));
    JsonObject arguments(event.begin("args"));
    write_arguments(arguments);
  }
  text += '\n';
}

void Definition::write(std::string& text, int rank, int64_t /*epoch*/) const {
  append_metadata(text, name_, rank, [&](JsonObject& arguments) {
    arguments.put("key", key_text(key_));
    write_arguments(arguments);
  });
}

}  // namespace swath::trace
