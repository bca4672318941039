#include "journal/lock_journal.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/error.h"
#include "journal/changes.h"
#include "journal/own_file.h"
#include "store/file_calls.h"

namespace swath {
namespace {

constexpr std::chrono::milliseconds kPause(20);

[[noreturn]] void fail_held(const std::string& path, const std::string& holder) {
  throw Error(ErrorKind::kStore,
              path + ": another program is changing it: " + holder + " holds " + journal_path(path) +
                  "; wait for it, or, where it is another rank of this program, sync the file on all ranks",
              EAGAIN);
}

}  // namespace

std::unique_ptr<JournalLog> lock_journal(const std::string& path, double seconds) {
  const std::string name = journal_path(path);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    try {
      return std::make_unique<JournalLog>(path, std::make_unique<OwnFile>(name));
    } catch (const HeldByOther& held) {
      if (std::chrono::steady_clock::now() > until) fail_held(path, held.what());
    }
    std::this_thread::sleep_for(kPause);
  }
}

std::string journal_path(const std::string& path) {
  const std::filesystem::path real = file_calls::real_path(path);
  return (real.parent_path() / ("." + real.filename().string() + ".swath-undo")).string();
}

}  // namespace swath
