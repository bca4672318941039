#include "base/notice.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace swath {
namespace {

std::mutex mutex;
std::function<void(const std::string&)> current;

}  // namespace

void set_notice_handler(std::function<void(const std::string&)> handler) {
  const std::lock_guard lock(mutex);
  current = std::move(handler);
}

void notify(const std::string& text) {
  std::function<void(const std::string&)> handler;
  {
    const std::lock_guard lock(mutex);
    handler = current;
  }
  if (handler) handler(text);
}

void print_error_line(const std::string& line) {
  const std::string ended = line + "\n";
  std::fwrite(ended.data(), 1, ended.size(), stderr);
}

}  // namespace swath
