#include "store/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "store/engine_test_file.h"
#include "testing/traced.h"

namespace swath {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return files.folder() + "/" + name; }
  void write(const std::string& path, const std::string& text) const { std::ofstream(path) << text; }
  // A store is a folder with one file.
  void write_folder(const std::string& path, const std::string& text) const {
    fs::create_directory(path);
    write(path + "/zarr.json", text);
  }
  std::string text(const std::string& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(files.folder())) found.insert(entry.path().filename());
    return found;
  }

  EngineTestFile files;
};

TEST_F(AtomicFileTest, HasItsNameWhenItIsCompleteAndNotBefore) {
  AtomicFile file(at("a"), {});
  write(file.working_path(), "new");
  EXPECT_FALSE(fs::exists(at("a")));
  EXPECT_TRUE(file.is_aside());
  EXPECT_EQ(fs::path(file.working_path()).parent_path(), fs::path(files.folder()));
  EXPECT_EQ(fs::path(file.working_path()).filename().string().rfind(".a.swath-", 0), 0U);
  file.complete();
  EXPECT_EQ(text(at("a")), "new");
  EXPECT_EQ(names(), std::set<std::string>{"a"});
}

TEST_F(AtomicFileTest, WorkingNamesAreAllDifferent) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(new_working_name("folder/a"));
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_EQ(seen.begin()->rfind("folder/.a.swath-", 0), 0U);
}

TEST_F(AtomicFileTest, ANameThatIsTakenIsRefusedAtTheBeginningAndAtTheEnd) {
  AtomicFile file(at("a"), {});
  write(file.working_path(), "new");
  write(at("a"), "theirs");
  const Error late = error_of([&] { file.complete(); });
  EXPECT_EQ(late.os_error(), EEXIST);
  EXPECT_NE(std::string(late.what()).find("create " + at("a") + ": cannot give it its name"), std::string::npos);
  const Error early = error_of([&] { AtomicFile(at("a"), {}); });
  EXPECT_EQ(early.kind(), ErrorKind::kStore);
  EXPECT_EQ(early.os_error(), EEXIST);
  EXPECT_NE(std::string(early.what()).find("overwrite=True"), std::string::npos);
  EXPECT_EQ(text(at("a")), "theirs");
  fs::create_symlink("nothing", at("link"));  // a link to nothing also counts as an existing name
  EXPECT_EQ(error_of([&] { AtomicFile(at("link"), {}); }).os_error(), EEXIST);
}

TEST_F(AtomicFileTest, AnOldFileIsReplacedWhereThatIsAllowed) {
  write(at("a"), "old");
  AtomicFile file(at("a"), {.overwrite = true});
  write(file.working_path(), "new");
  EXPECT_EQ(text(at("a")), "old");
  file.complete();
  EXPECT_EQ(text(at("a")), "new");
  EXPECT_EQ(names(), std::set<std::string>{"a"});
}

TEST_F(AtomicFileTest, ASymbolicLinkGoesOnBeingOne) {
  fs::create_directory(at("elsewhere"));
  fs::create_symlink("elsewhere/real", at("link"));
  fs::create_symlink("link", at("link-to-link"));
  for (const std::string expected : {"first", "second"}) {  // the link's target exists the second time only
    AtomicFile file(at("link-to-link"), {.overwrite = true});
    EXPECT_EQ(fs::path(file.working_path()).parent_path(), fs::canonical(at("elsewhere")));
    write(file.working_path(), expected);
    file.complete();
    EXPECT_TRUE(fs::is_symlink(at("link")));
    EXPECT_TRUE(fs::is_symlink(at("link-to-link")));
    EXPECT_EQ(text(at("elsewhere/real")), expected);
  }
}

TEST_F(AtomicFileTest, WhatIsNotAtomicIsWrittenUnderItsNameAndStays) {
  write(at("a"), "old");
  {
    AtomicFile file(at("a"), {.overwrite = true, .atomic = false});
    EXPECT_FALSE(fs::exists(at("a")));
    EXPECT_FALSE(file.is_aside());
    EXPECT_EQ(file.working_path(), fs::canonical(files.folder()) / "a");
    write(file.working_path(), "new");
    file.drop_replaced();
  }
  EXPECT_EQ(text(at("a")), "new");
  EXPECT_EQ(names(), std::set<std::string>{"a"});
  AtomicFile again(at("a"), {.overwrite = true, .atomic = false});
  write(again.working_path(), "newer");
  again.complete();
  EXPECT_EQ(text(at("a")), "newer");
  again.remove();
  EXPECT_EQ(names(), std::set<std::string>{});
}

TEST_F(AtomicFileTest, WhatIsNotAtomicAndNotSettledGivesItsPlaceBack) {
  for (const bool is_folder : {false, true}) {
    is_folder ? write_folder(at("a"), "old") : write(at("a"), "old");
    const AtomicFile file(at("a"), {.overwrite = true, .atomic = false, .is_folder = is_folder});
    is_folder ? write_folder(file.working_path(), "new") : write(file.working_path(), "new");
    for (int times = 0; times < 2; ++times) {
      file.remove();
      EXPECT_EQ(text(at(is_folder ? "a/zarr.json" : "a")), "old");
      EXPECT_EQ(names(), std::set<std::string>{"a"});
    }
    fs::remove_all(at("a"));
  }
}

TEST_F(AtomicFileTest, WhatCannotBeAFilesNameIsRefused) {
  const Error folder = error_of([&] { AtomicFile(files.folder(), {.overwrite = true}); });
  EXPECT_EQ(folder.os_error(), EISDIR);
  const Error nowhere = error_of([&] { AtomicFile(at("no/a"), {}); });
  EXPECT_EQ(nowhere.os_error(), ENOENT);
  EXPECT_NE(std::string(nowhere.what()).find("there is no folder " + at("no")), std::string::npos);
}

TEST_F(AtomicFileTest, AFolderReplacesAFolder) {
  for (const std::string expected : {"first", "second"}) {
    AtomicFile store(at("a.zarr"), {.overwrite = true, .is_folder = true});
    write_folder(store.working_path(), expected);
    store.complete();
    EXPECT_EQ(text(at("a.zarr/zarr.json")), expected);
    EXPECT_EQ(names(), std::set<std::string>{"a.zarr"});
  }
  fs::remove_all(at("a.zarr"));
  AtomicFile store(at("a.zarr"), {.is_folder = true});
  write_folder(store.working_path(), "mine");
  write_folder(at("a.zarr"), "theirs");
  EXPECT_EQ(error_of([&] { store.complete(); }).os_error(), EEXIST);
  EXPECT_EQ(text(at("a.zarr/zarr.json")), "theirs");
}

TEST_F(AtomicFileTest, AStoreReplacesNothingButAStore) {
  fs::create_directory(at("empty"));
  for (const bool is_file : {false, true}) {
    AtomicFile store(at("empty"), {.overwrite = true, .is_folder = true});
    write_folder(store.working_path(), "mine");
    fs::remove(at("empty"));
    if (is_file) {
      write(at("empty"), "theirs");
    } else {
      fs::create_directory(at("empty"));
      write(at("empty/thesis"), "theirs");
    }
    const Error late = error_of([&] { store.complete(); });
    EXPECT_EQ(late.os_error(), EEXIST);
    EXPECT_NE(std::string(late.what()).find("something else than a Zarr store"), std::string::npos);
    EXPECT_EQ(text(at(is_file ? "empty" : "empty/thesis")), "theirs");
    for (const bool atomic : {false, true}) {
      const Error early =
          error_of([&] { AtomicFile(at("empty"), {.overwrite = true, .atomic = atomic, .is_folder = true}); });
      EXPECT_EQ(early.os_error(), EEXIST);
      EXPECT_EQ(text(at(is_file ? "empty" : "empty/thesis")), "theirs");
    }
    store.remove();
    EXPECT_EQ(names(), std::set<std::string>{"empty"});
    fs::remove_all(at("empty"));
    fs::create_directory(at("empty"));
  }
}

TEST_F(AtomicFileTest, WhatIsLetGoOfIsRemovedUnlessItIsKept) {
  {
    AtomicFile file(at("a"), {});
    write(file.working_path(), "half");
    AtomicFile moved(std::move(file));
    EXPECT_EQ(names().size(), 1U);
  }
  EXPECT_TRUE(names().empty());
  {
    AtomicFile store(at("a.zarr"), {.is_folder = true});
    write_folder(store.working_path(), "half");
  }
  EXPECT_TRUE(names().empty());
  {
    AtomicFile file(at("a"), {});
    file.keep();
    write(file.working_path(), "half");
  }
  EXPECT_EQ(names().size(), 1U);
  {
    AtomicFile file(at("b"), {.working_path = at(".b.known")});
    write(file.working_path(), "half");
  }
  EXPECT_EQ(text(at(".b.known")), "half");
}

TEST_F(AtomicFileTest, AForkedChildRemovesNothing) {
  AtomicFile file(at("a"), {});
  write(file.working_path(), "half");
  const pid_t child = ::fork();
  if (child == 0) {
    file.remove();
    {
      const AtomicFile released(std::move(file));
    }
    ::_exit(0);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text(file.working_path()), "half");
  file.complete();
  EXPECT_EQ(text(at("a")), "half");
}

// ---- Killed ---------------------------------------------------------------------------------------------------------

// From now on renameat2 fails in this process, as on kernels and file systems without it.
void refuse_renameat2() {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    ::_exit(77);
  }
}

struct Crash {
  std::string name;
  bool is_folder;
  bool has_old;
  bool has_renameat2;
};

class AtomicFileKilled : public AtomicFileTest, public testing::WithParamInterface<Crash> {
 protected:
  void begin() const {
    for (const std::string& name : names()) fs::remove_all(at(name));
    if (!GetParam().has_old) return;
    GetParam().is_folder ? write_folder(at("a"), "old") : write(at("a"), "old");
  }
  void create() const {
    if (!GetParam().has_renameat2) refuse_renameat2();
    AtomicFile file(at("a"), {.overwrite = GetParam().has_old, .is_folder = GetParam().is_folder});
    std::string path = file.working_path();
    if (GetParam().is_folder) {
      ::mkdir(path.c_str(), 0777);
      path += "/zarr.json";
    }
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    for (const char* half : {"n", "ew"}) {
      if (::write(descriptor, half, std::strlen(half)) < 0) ::_exit(1);
    }
    ::close(descriptor);
    file.complete();
  }
  std::string found() const { return text(at(GetParam().is_folder ? "a/zarr.json" : "a")); }
};

INSTANTIATE_TEST_SUITE_P(, AtomicFileKilled,
                         testing::Values(Crash{"NewFile", false, false, true}, Crash{"FileOverOld", false, true, true},
                                         Crash{"NewFolder", true, false, true},
                                         Crash{"FolderOverOld", true, true, true},
                                         Crash{"NewFileInTwoSteps", false, false, false},
                                         Crash{"NewFolderByPlainRename", true, false, false},
                                         Crash{"FolderOverOldInTwoSteps", true, true, false}),
                         [](const auto& one) { return one.param.name; });

TEST_P(AtomicFileKilled, LeavesTheOldOneOrTheWholeNewOneWhereverItWas) {
  begin();
  const auto calls = trace([&] { create(); }, SIZE_MAX);
  if (!calls) GTEST_SKIP() << "this process may trace no other";
  ASSERT_EQ(found(), "new") << "not killed";
  // If names cannot be exchanged, the name is missing for a moment, and the old folder has another name.
  const bool may_be_none = !GetParam().has_old || (GetParam().is_folder && !GetParam().has_renameat2);
  std::set<std::string> all_found;
  for (size_t call = 0; call <= calls->size(); ++call) {
    begin();
    trace([&] { create(); }, call);
    all_found.insert(found());
    EXPECT_TRUE(found() == "new" || found() == (GetParam().has_old ? "old" : "") || (may_be_none && found().empty()))
        << found() << ", killed before call " << call;
    for (const std::string& name : names()) {
      EXPECT_TRUE(name == "a" || name.rfind(".a.swath-", 0) == 0) << name;
      if (name != "a" && found().empty() && GetParam().has_old) EXPECT_FALSE(fs::is_empty(at(name)));
    }
    AtomicFile next(at("a"),
                    {.overwrite = true, .is_folder = GetParam().is_folder});  // remains do not disturb later files
    GetParam().is_folder ? write_folder(next.working_path(), "next") : write(next.working_path(), "next");
    next.complete();
    EXPECT_EQ(found(), "next");
  }
  EXPECT_TRUE(all_found.contains("new"));
  EXPECT_TRUE(all_found.contains(GetParam().has_old ? "old" : ""));
}

TEST_P(AtomicFileKilled, TheFolderIsSyncedAfterTheNameIsGiven) {
  begin();
  const auto calls = trace([&] { create(); }, SIZE_MAX);
  if (!calls) GTEST_SKIP() << "this process may trace no other";
  const std::set<uint64_t> naming = {SYS_renameat2, SYS_renameat, SYS_linkat,
#ifdef SYS_rename
                                     SYS_rename
#endif
  };
  const auto last_named =
      std::find_if(calls->rbegin(), calls->rend(), [&](uint64_t call) { return naming.contains(call); });
  ASSERT_NE(last_named, calls->rend());
  EXPECT_NE(std::find(calls->rbegin(), last_named, static_cast<uint64_t>(SYS_fsync)), last_named);
}

}  // namespace
}  // namespace swath
