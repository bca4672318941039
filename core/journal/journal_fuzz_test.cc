// Damaged and malicious journals: each gives an error, or the file returns to the state after some of the journal's
// first records. No journal causes a crash, or a change outside of the file or the store.
//
// SWATH_FUZZ_INPUTS is the number of journals in memory that are tried, 20,000 by default. SWATH_JOURNAL_MUTATIONS is
// the number of journals in files, a few thousand by default.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/crc32.h"
#include "journal/journal_for_tests.h"
#include "journal/log.h"
#include "journal/take_back.h"

namespace swath {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeadBytes = 21;

int64_t inputs_wanted() {
  const char* const said = std::getenv("SWATH_FUZZ_INPUTS");
  return said == nullptr ? 20'000 : std::strtoll(said, nullptr, 10);
}

// A journal in memory.
class BytesLog final : public ChangeLog {
 public:
  explicit BytesLog(std::string bytes) : bytes_(std::move(bytes)) {}

  void append(std::span<const Record> /*records*/, bool /*sync*/) override { FAIL() << "it is only read"; }
  std::optional<FileIdentity> identity() const override { return std::nullopt; }
  int64_t end() const override { return std::ssize(bytes_); }
  std::optional<Record> read(int64_t at) const override {
    return record_in_journal(end(), at, [&](int64_t bytes, int64_t offset) {
      return bytes_.substr(static_cast<size_t>(offset), static_cast<size_t>(bytes));
    });
  }
  std::vector<RecordPosition> places(int64_t since) const override { return places_in_journal(*this, since); }
  void cut(int64_t /*end*/) override { FAIL() << "it is only read"; }
  bool shorten(int64_t /*committed_size*/, const Record& /*checkpoint*/) override { return false; }
  void close() noexcept override {}

 private:
  std::string bytes_;
};

int mutations() {
  const char* const said = std::getenv("SWATH_JOURNAL_MUTATIONS");
  return said == nullptr ? 3000 : static_cast<int>(std::strtol(said, nullptr, 10));
}

uint64_t data_bytes_at(const std::string& journal, size_t at) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < 8; ++i) bytes |= uint64_t{static_cast<unsigned char>(journal[at + 9 + i])} << (8 * i);
  return bytes;
}

// The positions where its records begin, as long as their lengths are plausible, and the end of the last one.
std::vector<size_t> boundaries_of(const std::string& journal) {
  std::vector<size_t> found{0};
  while (found.back() + kHeadBytes <= journal.size()) {
    const uint64_t bytes = data_bytes_at(journal, found.back());
    if (bytes > journal.size() - found.back() - kHeadBytes) break;
    found.push_back(found.back() + kHeadBytes + bytes);
  }
  return found;
}

// Gives each record its correct checksum, so that the mutated fields are read.
void mend_checksums(std::string& journal) {
  const std::vector<size_t> boundaries = boundaries_of(journal);
  for (size_t i = 0; i + 1 < boundaries.size(); ++i) {
    std::string record = journal.substr(boundaries[i], boundaries[i + 1] - boundaries[i]);
    record.replace(17, 4, 4, '\0');
    const uint32_t checksum = crc32(record);
    for (size_t b = 0; b < 4; ++b) journal[boundaries[i] + 17 + b] = static_cast<char>(checksum >> (8 * b) & 0xFF);
  }
}

class JournalFuzz : public StoreJournalTest {
 protected:
  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(chance_); }

  // The journal of a process that was killed after the work.
  template <typename Work>
  std::string journal_after(const std::string& of, Work work) {
    killed_after([&] { work(*new Changes(of, {})); });
    return content_of(journal_path(of));
  }

  void flip(std::string& bytes) {
    for (size_t i = 0, count = 1 + below(4); i < count && !bytes.empty(); ++i) {
      bytes[below(bytes.size())] = static_cast<char>(below(256));
    }
  }
  void splice(std::string& bytes, const std::string& others) {
    const size_t from = below(others.size());
    bytes = bytes.substr(0, below(bytes.size() + 1)) + others.substr(from, 1 + below(others.size() - from));
  }
  // Replaces names in the records by names that lead out of the store, or are no names.
  void rename(std::string& bytes) {
    static const std::vector<std::string> kNames = {"..", ".", "/", "a/..", "../victim", std::string("\0", 1), "a/."};
    const std::vector<size_t> boundaries = boundaries_of(bytes);
    if (boundaries.size() < 3) return;
    const size_t record = 1 + below(boundaries.size() - 2);
    const std::string& name = kNames[below(kNames.size())];
    if (boundaries[record + 1] - boundaries[record] < kHeadBytes + name.size()) return;
    std::string renamed = bytes.substr(boundaries[record], kHeadBytes) + name;
    for (size_t i = 0; i < 8; ++i) renamed[9 + i] = static_cast<char>(name.size() >> (8 * i) & 0xFF);
    bytes.replace(boundaries[record], boundaries[record + 1] - boundaries[record], renamed);
  }

  // A journal of three changes of the file.
  std::string journal_of_file() {
    return journal_after(path, [&](Changes& changes) {
      change(changes, 1);
      changes.checkpoint();
      changes.mark();
      change(changes, 2);
      changes.mark();
      change(changes, 3);
    });
  }

  std::mt19937_64 chance_{20261126};
};

// Does the same as repair(), but without a file and a lock for the journal, and without a disk: more journals can be
// tried.
TEST_F(JournalFuzz, AMutatedJournalInMemoryTakesAFileBackToAPrefixOrIsRefused) {
  const std::string valid = journal_of_file();
  const std::string changed = content_of(path);
  fs::remove(journal);
  const Descriptor file(::memfd_create("changed", MFD_CLOEXEC));  // a sync of this file waits for no medium
  const std::string in_memory = "/proc/self/fd/" + std::to_string(file.get());
  const auto content_now = [&] {
    std::string content(changed.size() + 4096, '\0');
    content.resize(static_cast<size_t>(::pread(file.get(), content.data(), content.size(), 0)));
    return content;
  };
  const auto taken_back = [&](std::string bytes) {
    EXPECT_EQ(::pwrite(file.get(), changed.data(), changed.size(), 0), std::ssize(changed));
    EXPECT_EQ(::ftruncate(file.get(), std::ssize(changed)), 0);
    take_back(in_memory, BytesLog(std::move(bytes)), {.is_copy = true});
    return content_now();
  };
  std::set<std::string> prefixes;
  for (const size_t end : boundaries_of(valid)) prefixes.insert(taken_back(valid.substr(0, end)));
  ASSERT_GT(prefixes.size(), 3u);

  std::set<std::string> seen;
  int64_t refused = 0;
  const int64_t inputs = inputs_wanted();
  for (int64_t i = 0; i < inputs; ++i) {
    std::string mutated = valid;
    const size_t kind = below(4);
    if (kind == 0) flip(mutated);
    if (kind == 1) mutated.resize(below(mutated.size()));
    if (kind == 2) splice(mutated, valid);
    if (kind == 3) flip(mutated), mend_checksums(mutated);
    try {
      const std::string found = taken_back(mutated);
      if (kind >= 2) continue;
      ASSERT_TRUE(prefixes.contains(found)) << "input " << i;
      seen.insert(found);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kStore) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, inputs);
  EXPECT_GT(seen.size(), 2u);
}

TEST_F(JournalFuzz, AMutatedJournalTakesAFileBackToAPrefixOrIsRefused) {
  const std::string valid = journal_of_file();
  const std::string changed = content_of(path);
  const std::string another = journal_after(store, [&](Changes& changes) { add_array(changes, 1); });
  std::set<std::string> prefixes{changed};
  for (const size_t end : boundaries_of(valid)) {
    write_file(path, changed);
    write_file(journal, valid.substr(0, end));
    repair(path, true);
    prefixes.insert(content_of(path));
  }
  EXPECT_GT(prefixes.size(), 3u);
  fs::remove(journal_path(store));
  write_file(folder + "/victim", "theirs");

  std::set<std::string> seen;
  int refused = 0;
  for (int i = 0; i < mutations(); ++i) {
    std::string mutated = valid;
    const size_t kind = below(4);
    if (kind == 0) flip(mutated);
    if (kind == 1) mutated.resize(below(mutated.size()));
    if (kind == 2) splice(mutated, below(2) == 0 ? valid : another);
    if (kind == 3) flip(mutated), mend_checksums(mutated);
    write_file(path, changed);
    write_file(journal, mutated);
    try {
      repair(path, true);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kStore) << error.what();
      ++refused;
      fs::remove(journal);
      continue;
    }
    if (kind < 2) {
      seen.insert(content_of(path));
      EXPECT_TRUE(prefixes.contains(content_of(path))) << "mutation " << i;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(seen.size(), 2u);
  EXPECT_EQ(content_of(folder + "/victim"), "theirs");
  EXPECT_EQ(names(), (std::set<std::string>{"a.bin", "s.zarr", "victim"}));
}

TEST_F(JournalFuzz, AMutatedJournalOfAStoreChangesNothingOutsideOfIt) {
  const std::string valid = journal_after(store, [&](Changes& changes) {
    add_array(changes, 1);
    changes.checkpoint();
    changes.mark();
    add_array(changes, 2);
  });
  const std::string journal_of_store = journal_path(store);
  fs::copy(store, folder + "/changed", fs::copy_options::recursive);
  write_file(folder + "/victim", "theirs");
  int refused = 0;
  for (int i = 0, count = mutations() / 10; i < count; ++i) {
    std::string mutated = valid;
    const size_t kind = below(5);
    if (kind == 0) flip(mutated);
    if (kind == 1) mutated.resize(below(mutated.size()));
    if (kind == 2) splice(mutated, valid);
    if (kind > 2) (kind == 3 ? flip(mutated) : rename(mutated)), mend_checksums(mutated);
    fs::remove_all(store);
    fs::copy(folder + "/changed", store, fs::copy_options::recursive);
    write_file(journal_of_store, mutated);
    try {
      repair(store, true);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kStore) << error.what();
      ++refused;
      fs::remove(journal_of_store);
    }
    ASSERT_EQ(content_of(folder + "/victim"), "theirs") << "mutation " << i;
    ASSERT_TRUE(fs::is_directory(store)) << "mutation " << i;
    ASSERT_EQ(names(), (std::set<std::string>{"a.bin", "changed", "s.zarr", "victim"})) << "mutation " << i;
    ASSERT_EQ(content_of(path), start) << "mutation " << i;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace swath
