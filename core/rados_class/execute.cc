#include "rados_class/execute.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "base/error.h"

namespace swath {
namespace {

constexpr int64_t kWindowBytesMax = int64_t{4} << 20;

// With the errno value, negated, that the method answers.
struct Refused : std::exception {
  explicit Refused(int why) : result(why) {}
  int result;
};

// Runs of the object that are read, or written, together.
struct Window {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t data_begin = 0;  // of all data, where this window's begin
  int64_t bytes = 0;
  std::vector<UnitPart> parts;

  bool has_holes() const { return bytes < end - begin; }
};

// What a request asks for, within bounds; known before anything is touched.
struct Asked {
  int64_t bytes = 0;
  int64_t runs = 0;
};

Asked asked_by(const ObjectRequest& request) {
  Asked asked;
  int64_t parts = 0;
  for_each_part(request, [&](const UnitPart& part) {
    asked.bytes += part.last - part.first;
    asked.runs += request.view.nest.runs(part.first, part.last);
    if (++parts > ObjectRequest::kRunsMax || asked.runs > ObjectRequest::kRunsMax ||
        asked.bytes > ObjectRequest::kDataBytesMax) {
      throw Refused{-E2BIG};
    }
  });
  return asked;
}

// Calls visit(offset in the object, bytes) for each contiguous run.
template <typename Visit>
void for_each_run(const View& view, const UnitPart& part, const Visit& visit) {
  for (int64_t position = part.first; position < part.last;) {
    const Nest::Run run = view.nest.run_at(position, part.last);
    visit(run.offset + part.distance, run.bytes);
    position += run.bytes;
  }
}

// Calls visit(window) for the windows of a request, one after the other.
template <typename Visit>
void for_each_window(const ObjectRequest& request, const Visit& visit) {
  Window window;
  const auto flush = [&] {
    if (window.bytes == 0) return;
    visit(std::as_const(window));
    window = {.data_begin = window.data_begin + window.bytes};
  };
  for_each_part(request, [&](const UnitPart& part) {
    int64_t position = part.first;
    for_each_run(request.view, part, [&](int64_t offset, int64_t bytes) {
      while (bytes > 0) {
        const bool is_apart = window.bytes > 0 && (offset - window.end > ObjectRequest::kHoleBytesMax ||
                                                   offset - window.begin >= kWindowBytesMax);
        if (is_apart) flush();
        if (window.bytes == 0) window.begin = offset;
        const int64_t taken = std::min(bytes, window.begin + kWindowBytesMax - offset);
        if (!window.parts.empty() && window.parts.back().last == position &&
            window.parts.back().distance == part.distance) {
          window.parts.back().last += taken;
        } else {
          window.parts.push_back({position, position + taken, part.distance});
        }
        window.end = offset + taken;
        window.bytes += taken;
        position += taken;
        offset += taken;
        bytes -= taken;
      }
    });
  });
  flush();
}

// The bytes of a window that there are.
std::span<const std::byte> read_window(ObjectBytes& object, const Window& window) {
  int failure = 0;
  const std::span<const std::byte> stored = object.read(window.begin, window.end - window.begin, failure);
  if (failure < 0) throw Refused{failure};
  return stored.first(std::min(stored.size(), static_cast<size_t>(window.end - window.begin)));
}

// From a place of what is stored; zeros behind its end.
void copy_stored(std::span<const std::byte> stored, size_t place, size_t bytes, std::byte* target) {
  const size_t there = std::min(bytes, stored.size() - std::min(place, stored.size()));
  if (there > 0) std::memcpy(target, &stored[place], there);
  if (there < bytes) std::memset(target + there, 0, bytes - there);
}

// Calls copy(place in the window, place in the data, bytes) for each run of a window.
template <typename Copy>
void for_each_copy(const View& view, const Window& window, const Copy& copy) {
  int64_t data = window.data_begin;
  for (const UnitPart& part : window.parts) {
    for_each_run(view, part, [&](int64_t offset, int64_t bytes) {
      copy(static_cast<size_t>(offset - window.begin), static_cast<size_t>(data), static_cast<size_t>(bytes));
      data += bytes;
    });
  }
}

template <typename Action>
int guarded(const Action& action) {
  try {
    action();
    return 0;
  } catch (const Refused& refused) {
    return refused.result;
  } catch (const Error&) {
    return -EINVAL;
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  } catch (const std::exception&) {
    return -EIO;
  }
}

}  // namespace

int execute_read(std::span<const std::byte> message, ObjectBytes& object, const Room& room) {
  return guarded([&] {
    std::span<const std::byte> rest;
    const ObjectRequest request = ObjectRequest::read(message, rest);
    if (!rest.empty()) throw Refused{-EINVAL};
    std::byte* const data = room(asked_by(request).bytes);
    for_each_window(request, [&](const Window& window) {
      const std::span<const std::byte> stored = read_window(object, window);
      for_each_copy(request.view, window, [&](size_t in_window, size_t in_data, size_t bytes) {
        copy_stored(stored, in_window, bytes, data + in_data);
      });
    });
  });
}

int execute_write(std::span<const std::byte> message, ObjectBytes& object) {
  return guarded([&] {
    std::span<const std::byte> data;
    const ObjectRequest request = ObjectRequest::read(message, data);
    if (asked_by(request).bytes != std::ssize(data)) throw Refused{-EINVAL};
    std::unique_ptr<std::byte[]> image;
    size_t image_bytes = 0;
    for_each_window(request, [&](const Window& window) {
      if (!window.has_holes()) {
        const int64_t result = object.write(
            window.begin, data.subspan(static_cast<size_t>(window.data_begin), static_cast<size_t>(window.bytes)));
        if (result < 0) throw Refused{static_cast<int>(result)};
        return;
      }
      const auto span = static_cast<size_t>(window.end - window.begin);
      if (image_bytes < span) {
        image = std::make_unique_for_overwrite<std::byte[]>(span);
        image_bytes = span;
      }
      copy_stored(read_window(object, window), 0, span, image.get());
      for_each_copy(request.view, window, [&](size_t in_window, size_t in_data, size_t bytes) {
        std::memcpy(&image[in_window], &data[in_data], bytes);
      });
      const int64_t result = object.write(window.begin, {image.get(), span});
      if (result < 0) throw Refused{static_cast<int>(result)};
    });
  });
}

}  // namespace swath
