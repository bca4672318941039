// swath-modelled-disk: mounts a folder so that it behaves as a modelled disk (see docs/modelled-disks.md).
#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "file_system.h"
#include "model/presets.h"

namespace swath::instruments {
namespace {

constexpr unsigned kThreadsMax = 128;  // each request under way sleeps in one

struct Options {
  std::string preset;
  std::string backing;
  std::string mount_point;
  std::string trace;
  double scale = 1;
  bool foreground = false;
  bool until_eof = false;
};

void print_help() {
  std::printf(
      "swath-modelled-disk --preset PRESET --backing DIR [options] MOUNTPOINT\n\n"
      "Mounts DIR on MOUNTPOINT as it would be on a modelled disk: the bytes are real, the time is a model's.\n\n"
      "  --preset PRESET    one of those below\n"
      "  --backing DIR      where the bytes are\n"
      "  --scale N          the model's time runs N times as fast (default 1)\n"
      "  --trace FILE       every position of the heads, as CSV, written at the end\n"
      "  --foreground       stay, and say what happens\n"
      "  --until-eof        with --foreground: unmount when standard input ends\n"
      "  --help\n\n"
      "It ends, and unmounts, on SIGTERM or SIGINT, or when MOUNTPOINT is unmounted. MOUNTPOINT/.modelled-disk tells "
      "the\n"
      "preset and the statistics; a preset written to it takes effect at once.\n\nmodelled disks:\n");
  for (const DiskParameters& preset : disk_presets()) {
    std::printf("  %-18s %s\n", preset.name.c_str(), preset.description.c_str());
  }
}

double scale_of(const std::string& text) {
  char* end = nullptr;
  const double scale = std::strtod(text.c_str(), &end);
  const bool in_bounds = scale > 0 && scale <= 1000;  // which no NaN is
  if (end == text.c_str() || *end != '\0' || !in_bounds) {
    fail_argument("--scale " + text + ": expected a number above 0, up to 1000");
  }
  return scale;
}

// The folder's own path, from the root: a program that went into the background has another working folder.
std::string folder_of(const std::string& option, const std::string& path) {
  struct stat status = {};
  if (path.empty()) fail_argument(option + " is missing: see --help");
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (real == nullptr || ::stat(real.get(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    fail_argument(option + " " + path + ": expected a folder that exists");
  }
  return real.get();
}

Options parse(int count, char** words) {
  static const option kNames[] = {
      {"preset", required_argument, nullptr, 'p'}, {"backing", required_argument, nullptr, 'b'},
      {"scale", required_argument, nullptr, 's'},  {"trace", required_argument, nullptr, 't'},
      {"foreground", no_argument, nullptr, 'f'},   {"until-eof", no_argument, nullptr, 'e'},
      {"help", no_argument, nullptr, 'h'},         {nullptr, 0, nullptr, 0},
  };
  Options options;
  for (int letter = 0; (letter = ::getopt_long(count, words, "", kNames, nullptr)) != -1;) {
    switch (letter) {
      case 'p':
        options.preset = optarg;
        break;
      case 'b':
        options.backing = folder_of("--backing", optarg);
        break;
      case 's':
        options.scale = scale_of(optarg);
        break;
      case 't':
        options.trace = optarg;
        break;
      case 'f':
        options.foreground = true;
        break;
      case 'e':
        options.until_eof = true;
        break;
      case 'h':
        print_help();
        std::exit(0);
      default:
        fail_argument("see --help");
    }
  }
  if (options.backing.empty()) fail_argument("--backing is missing: see --help");
  if (optind + 1 != count) fail_argument("expected one MOUNTPOINT: see --help");
  options.mount_point = folder_of("MOUNTPOINT", words[optind]);
  if (options.mount_point == options.backing) fail_argument("MOUNTPOINT and --backing: expected two folders");
  return options;
}

// Opened at the start, so that an invalid path is reported at once.
class Trace {
 public:
  explicit Trace(const std::string& path) : path_(path) {
    if (path.empty()) return;
    file_.reset(std::fopen(path.c_str(), "we"));
    if (file_ == nullptr) fail_argument("--trace " + path + ": cannot be written to");
  }

  void write(const ModelledDisk& disk, const std::string& preset) {
    if (file_ == nullptr) return;
    std::fprintf(file_.get(), "# modelled disk %s\nseconds,disk,position,bytes,stream,direction,seek\n",
                 preset.c_str());
    for (const HeadPosition& at : disk.trace()) {
      std::fprintf(file_.get(), "%.6f,%d,%lld,%lld,%lld,%s,%d\n", at.seconds, at.disk,
                   static_cast<long long>(at.position), static_cast<long long>(at.bytes),
                   static_cast<long long>(at.stream), at.direction == Direction::kRead ? "read" : "write",
                   at.seeked ? 1 : 0);
    }
    std::printf("modelled disk: trace of head positions in %s\n", path_.c_str());
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

int serve(fuse* session) {
#if FUSE_USE_VERSION >= 312
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, kThreadsMax);
  fuse_loop_cfg_set_idle_threads(config, kThreadsMax);
  const int result = fuse_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  return result;
#else
  fuse_loop_config config = {};
  config.max_idle_threads = kThreadsMax;
  return fuse_loop_mt(session, &config);
#endif
}

// Ends the program as SIGTERM does once standard input ends: so it never outlives the one that started it.
void end_with_input() {
  std::thread([] {
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    ::kill(::getpid(), SIGTERM);
  }).detach();
}

int run(const Options& options) {
  const DiskParameters& preset = disk_preset(options.preset);
  Trace trace(options.trace);
  FileSystem system(options.backing, preset, options.scale);
  system.disk.record(!options.trace.empty());

  const std::string name = "fsname=modelled-disk:" + preset.name + ",subtype=swath-modelled-disk,default_permissions";
  std::vector<std::string> words = {"swath-modelled-disk", "-o", name};
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());

  const fuse_operations all = operations();
  fuse* session = fuse_new(&arguments, &all, sizeof(all), &system);
  fuse_opt_free_args(&arguments);  // libfuse has put words of its own there
  if (session == nullptr) return 1;
  if (fuse_mount(session, options.mount_point.c_str()) != 0) {
    fuse_destroy(session);
    return 1;  // libfuse has said why
  }
  int status = 1;
  if (fuse_daemonize(options.foreground ? 1 : 0) == 0 && fuse_set_signal_handlers(fuse_get_session(session)) == 0) {
    std::printf("modelled disk %s (%s) on %s, bytes in %s, time %g times as fast\n", preset.name.c_str(),
                preset.description.c_str(), options.mount_point.c_str(), options.backing.c_str(), options.scale);
    std::fflush(stdout);
    if (options.until_eof) end_with_input();
    status = serve(session) < 0 ? 1 : 0;
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);  // it is ending already
    fuse_remove_signal_handlers(fuse_get_session(session));
  }
  fuse_unmount(session);
  fuse_destroy(session);
  std::printf("modelled disk: unmounted; %s", system.report().c_str());
  trace.write(system.disk, preset.name);
  return status;
}

}  // namespace
}  // namespace swath::instruments

int main(int count, char** words) {
  try {
    ::umask(0);  // the modes of new files are those that the callers gave
    return swath::instruments::run(swath::instruments::parse(count, words));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "swath-modelled-disk: %s\n", error.what());
    return 2;
  }
}
