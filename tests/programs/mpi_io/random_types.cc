// Compares random datatypes, views and operations of MPI-IO with plain pwrite and pread of their lists, byte by byte,
// gaps too. It uses only MPI, and runs with and without the drop-in:
//
//   mpicxx -std=c++20 -O2 tests/programs/mpi_io/random_types.cc -o random_types
//   mpiexec -n 3 ./random_types SEED CASES [FOLDER]
//
// Prints the number of cases, and each wrong case with its seed; the exit status is 1 if there is one.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../bindings/mpi_io/tests/random_datatypes.h"
#include "listed_memory.h"

namespace {

using swath::mpi_io::testing::byte_of;
using swath::mpi_io::testing::kReachMax;
using swath::mpi_io::testing::ListedType;
using swath::mpi_io::testing::Memory;
using swath::mpi_io::testing::Random;
using swath::mpi_io::testing::random_named;
using swath::mpi_io::testing::random_type;
using swath::mpi_io::testing::Refused;
using swath::mpi_io::testing::Segment;
using swath::mpi_io::testing::TypeOptions;
using swath::mpi_io::testing::View;

constexpr int64_t kFar = (int64_t{1} << 32) + 4096;

int world_rank = 0;
int world_size = 1;
std::string wrong;  // the error in this case, on this rank

void expect(bool is_right, const std::string& what) {
  if (!is_right && wrong.empty()) wrong = what;
}

void expect_success(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  expect(false, what + ": " + text);
}

// ---- a case -----------------------------------------------------------------------------------------------------

ListedType bytes_type(int64_t bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type);
  return {type, "bytes(" + std::to_string(bytes) + ")", {{0, bytes}}};
}

ListedType copy_of(const ListedType& type) {
  MPI_Datatype copy = MPI_DATATYPE_NULL;
  MPI_Type_dup(type.type(), &copy);
  return {copy, type.text(), type.segments()};
}

ListedType resized(const ListedType& type, int64_t extent) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(type.type(), 0, extent, &made);
  return {made, "resized(0, " + std::to_string(extent) + ", " + type.text() + ")", type.segments()};
}

ListedType random_etype(Random& random) {
  for (int attempt = 0; attempt < 20 && random.chance(30); ++attempt) {
    ListedType type = random_type(random, {.depth = 1, .is_forward = true, .is_plain = true, .segments_max = 20});
    if (type.is_file_type() && type.size() > 0 && type.size() <= 200) return type;
  }
  return random_named(random);
}

ListedType random_file_type(Random& random, const ListedType& etype, bool is_far) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    const TypeOptions options{.depth = static_cast<int>(random.between(1, 3)),
                              .is_forward = true,
                              .is_plain = true,
                              .segments_max = 200,
                              .far = is_far ? kFar : 0,
                              .leaf = &etype};
    ListedType type = random_type(random, options);
    if (type.is_file_type() && type.size() > 0 && type.extent() < 4 * kFar) return type;
  }
  return copy_of(etype);
}

// Segments of a type, distributed to the ranks; they consist of whole etypes.
std::vector<View> dealt_views(Random& random, const ListedType& etype, int64_t displacement) {
  const int64_t elements = random.between(world_size, 60);
  std::vector<std::vector<int>> places(static_cast<size_t>(world_size));
  int at = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t rank = i < world_size ? i : random.between(0, world_size - 1);
    places[static_cast<size_t>(rank)].push_back(at);
    at += static_cast<int>(1 + (random.chance(50) ? 0 : random.between(0, 3)));
  }
  std::vector<View> views;
  for (const auto& own : places) {
    std::vector<Segment> segments;
    for (const int place : own) {
      for (const Segment& segment : etype.segments()) {
        segments.push_back({place * etype.extent() + segment.offset, segment.bytes});
      }
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_indexed_block(static_cast<int>(own.size()), 1, own.data(), etype.type(), &type);
    const ListedType dealt(type, "dealt etypes", segments);
    views.push_back({displacement, resized(dealt, (at + 1) * etype.extent())});
  }
  return views;
}

struct Views {
  std::string text;
  bool are_same;
  bool may_overlap;
  std::vector<View> of_ranks;
};

Views random_views(Random& random, const ListedType& etype) {
  const bool is_far = random.chance(15);
  const int64_t displacement = is_far && random.chance(50) ? kFar + random.between(0, 99) : random.between(0, 99);
  Views views{.text = {}, .are_same = false, .may_overlap = false, .of_ranks = {}};
  switch (random.between(0, 3)) {
    case 0: {  // one view for all ranks
      views.text = "one view";
      views.are_same = views.may_overlap = true;
      const ListedType type = random_file_type(random, etype, is_far);
      for (int r = 0; r < world_size; ++r) views.of_ranks.push_back({displacement, copy_of(type)});
      break;
    }
    case 1: {  // a frame for each rank, side by side
      views.text = "frames";
      std::vector<ListedType> types;
      int64_t frame = 0;
      for (int r = 0; r < world_size; ++r) {
        types.push_back(random_file_type(random, etype, is_far));
        frame = std::max(frame, types.back().high());
      }
      for (int r = 0; r < world_size; ++r) {
        views.of_ranks.push_back(
            {displacement + r * frame, resized(types[static_cast<size_t>(r)], world_size * frame)});
      }
      break;
    }
    case 2:
      views.text = "dealt";
      views.of_ranks = dealt_views(random, etype, displacement);
      break;
    default:
      views.text = "any views";
      views.may_overlap = true;
      for (int r = 0; r < world_size; ++r) {
        views.of_ranks.push_back({displacement + random.between(0, 50), random_file_type(random, etype, is_far)});
      }
  }
  return views;
}

enum class Call { kAt, kPointer, kShared, kOrdered };
enum class Form { kBlocking, kNonblocking, kSplit };

struct Step {
  bool is_write;
  bool is_collective;
  Call call;
  Form form;

  std::string text() const {
    static const char* const calls[] = {"_at", "", "_shared", "_ordered"};
    return std::string(form == Form::kNonblocking ? "i" : "") + (is_write ? "write" : "read") +
           calls[static_cast<int>(call)] + (is_collective && call != Call::kOrdered ? "_all" : "") +
           (form == Form::kSplit ? "_begin" : "");
  }
};

Step random_step(Random& random, const Views& views) {
  Step step{
      .is_write = random.chance(60), .is_collective = random.chance(60), .call = Call::kAt, .form = Form::kBlocking};
  step.call = random.chance(50) ? Call::kAt : Call::kPointer;
  if (views.are_same && random.chance(40)) step.call = step.is_collective ? Call::kOrdered : Call::kShared;
  const int64_t form = random.between(0, 2);
  if (form == 1 && step.call != Call::kOrdered) step.form = Form::kNonblocking;
  if (form == 2 && step.is_collective) step.form = Form::kSplit;
  return step;
}

class Case {
 public:
  Case(uint64_t seed, std::string folder) : seed_(seed), random_(seed), folder_(std::move(folder)) {}

  void run() {
    for (const bool is_reference : {false, true}) {
      if (world_rank == 0) create(name(is_reference));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    reference_ = ::open(name(true).c_str(), O_RDWR);
    expect_success(MPI_File_open(MPI_COMM_WORLD, name(false).c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &file_), "open");
    if (random_.chance(15)) {
      note("atomic");
      expect_success(MPI_File_set_atomicity(file_, 1), "set_atomicity");
    }
    for (int64_t phase = random_.between(1, 2); phase > 0; --phase) view_and_steps();
    expect_success(MPI_File_close(&file_), "close");
    MPI_Barrier(MPI_COMM_WORLD);
    ::close(reference_);
    if (world_rank == 0) {
      compare_files("close");
      for (const bool is_reference : {false, true}) ::unlink(name(is_reference).c_str());
    }
    if (!wrong.empty()) wrong += "\n   steps: " + text_;
  }

 private:
  std::string name(bool is_reference) const { return folder_ + (is_reference ? "/reference" : "/file"); }
  void note(const std::string& text) { text_ += (text_.empty() ? "" : "; ") + text; }

  // Some bytes at the beginning and around 4 GiB, which must not change in gaps.
  void create(const std::string& path) const {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    std::vector<char> bytes(20'000);
    for (const int64_t begin : {int64_t{0}, kFar - 5000}) {
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_of(seed_, begin + static_cast<int64_t>(i));
      expect(::pwrite(file, bytes.data(), bytes.size(), begin) == std::ssize(bytes), "pwrite of a new file");
    }
    // Reads end within this length.
    expect(::ftruncate(file, 2 * kReachMax) == 0, "ftruncate");
    ::close(file);
  }

  void view_and_steps() {
    const ListedType etype = random_etype(random_);
    const Views views = random_views(random_, etype);
    const View& own = views.of_ranks[static_cast<size_t>(world_rank)];
    note(views.text + " of etype " + etype.text() + ", displacement " + std::to_string(own.displacement) + ": " +
         own.type.text());
    expect_success(MPI_File_set_view(file_, own.displacement, etype.type(), own.type.type(), "native", MPI_INFO_NULL),
                   "set_view");
    pointers_.assign(static_cast<size_t>(world_size), 0);
    shared_pointer_ = 0;
    for (int64_t left = random_.between(1, 4); left > 0; --left) one_step(etype, views);
  }

  Memory random_memory(const ListedType& etype, bool may_overlap) {
    const ListedType bytes = bytes_type(etype.size());
    const ListedType& leaf = random_.chance(50) ? etype : bytes;
    if (random_.chance(15)) return {copy_of(bytes), 0};
    if (random_.chance(60)) {
      const int depth = static_cast<int>(random_.between(1, 3));
      ListedType type = random_type(random_, {.depth = depth, .is_plain = true, .segments_max = 100, .leaf = &leaf});
      if (type.size() > 0 && type.size() < 20'000 && type.high() - type.low() < 1'000'000) {
        Memory memory(std::move(type), random_.between(1, 3));
        if (may_overlap || !memory.has_overlaps()) return memory;
      }
    }
    return {copy_of(bytes), random_.between(1, 200)};
  }

  void one_step(const ListedType& etype, const Views& views) {
    const Step step = random_step(random_, views);
    const uint64_t step_seed = seed_ * 1000 + ++steps_;
    std::vector<Memory> memories;
    std::vector<int64_t> offsets;  // in etypes
    for (int r = 0; r < world_size; ++r) {
      memories.push_back(random_memory(etype, step.is_write && !views.may_overlap));
      offsets.push_back(random_.between(0, 100));
      int64_t& pointer = pointers_[static_cast<size_t>(r)];
      const View& view = views.of_ranks[static_cast<size_t>(r)];
      const int64_t from = std::max({offsets.back(), pointer, shared_pointer_}) * etype.size();
      if (view.reaches_too_far(from + memories.back().bytes())) {
        memories.back() = {bytes_type(etype.size()), 0};
        offsets.back() = 0;
      }
      if (step.call == Call::kPointer) {
        if (random_.chance(30)) pointer = offsets.back();
        offsets.back() = pointer;
        pointer += memories.back().bytes() / etype.size();
      } else if (step.call != Call::kAt) {
        offsets.back() = shared_pointer_;
        shared_pointer_ += memories.back().bytes() / etype.size();
      }
    }
    const auto own = static_cast<size_t>(world_rank);
    note(step.text() + " at " + std::to_string(offsets[own]) + " of " + std::to_string(memories[own].count) + " " +
         memories[own].type.text());
    if (step.call == Call::kPointer) MPI_File_seek(file_, offsets[own], MPI_SEEK_SET);
    for (size_t r = 0; r < memories.size(); ++r) {
      fill(memories[r], views.of_ranks[r], offsets[r] * etype.size(), step, step_seed);
    }
    Memory& memory = memories[own];
    std::vector<char> expected = memory.image;
    if (!step.is_write) {
      Memory read = {copy_of(memory.type), memory.count};
      read.image = memory.image;
      read.scatter(reference_data(views.of_ranks[own], offsets[own] * etype.size(), memory.bytes()));
      expected = read.image;
    }
    carry_out(step, offsets[own], memory);
    expect(memory.image == expected, step.text() + ": memory differs from what was expected");
    MPI_Offset position = -1;
    if (step.call == Call::kPointer) {
      MPI_File_get_position(file_, &position);
      expect(position == pointers_[own], step.text() + ": the pointer is at " + std::to_string(position));
    }
    settle();
    if (world_rank == 0) compare_files(step.text());
    MPI_Barrier(MPI_COMM_WORLD);
    if (step.call == Call::kShared || step.call == Call::kOrdered) {
      MPI_File_get_position_shared(file_, &position);
      expect(position == shared_pointer_, step.text() + ": the shared pointer is at " + std::to_string(position));
    }
    MPI_Barrier(MPI_COMM_WORLD);  // no rank moves it before all ranks have read it
  }

  // Fills the memory before the operation; for a write rank 0 also writes the reference file after it.
  void fill(Memory& memory, const View& view, int64_t first, const Step& step, uint64_t step_seed) {
    memory.fill_gaps(step_seed);
    if (!step.is_write) return;
    std::vector<char> data(static_cast<size_t>(memory.bytes()));
    view.for_each(first, memory.bytes(), [&](int64_t offset, int64_t position, int64_t bytes) {
      for (int64_t i = 0; i < bytes; ++i) data[static_cast<size_t>(position + i)] = byte_of(step_seed, offset + i);
    });
    memory.scatter(data);
    if (world_rank != 0) return;
    data = memory.gathered();  // the memory may contain places twice
    view.for_each(first, memory.bytes(), [&](int64_t offset, int64_t position, int64_t bytes) {
      expect(::pwrite(reference_, data.data() + position, static_cast<size_t>(bytes), offset) == bytes, "pwrite");
    });
  }

  std::vector<char> reference_data(const View& view, int64_t first, int64_t bytes) const {
    std::vector<char> data(static_cast<size_t>(bytes));
    view.for_each(first, bytes, [&](int64_t offset, int64_t position, int64_t length) {
      expect(::pread(reference_, data.data() + position, static_cast<size_t>(length), offset) == length, "pread");
    });
    return data;
  }

  // After this all ranks see all writes.
  void settle() {
    expect_success(MPI_File_sync(file_), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    expect_success(MPI_File_sync(file_), "sync");
  }

  void carry_out(const Step& step, int64_t offset, Memory& memory) {
    if (step.call != Call::kShared) return call(step, offset, memory);
    for (int turn = 0; turn < world_size; ++turn) {  // otherwise the order of the ranks is unknown
      if (turn == world_rank) call(step, offset, memory);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }

  void call(const Step& step, int64_t offset, Memory& memory) {
    MPI_Status status;
    if (step.form == Form::kNonblocking) {
      MPI_Request request = MPI_REQUEST_NULL;
      expect_success(nonblocking(step, offset, memory, &request), step.text());
      expect_success(MPI_Wait(&request, &status), step.text() + ", wait");
    } else if (step.form == Form::kSplit) {
      expect_success(split(step, offset, memory, &status), step.text());
    } else {
      expect_success(blocking(step, offset, memory, &status), step.text());
    }
    int bytes = -1;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    expect(bytes == memory.bytes(), step.text() + ": the status has " + std::to_string(bytes) + " bytes, expected " +
                                        std::to_string(memory.bytes()));
  }

  int blocking(const Step& step, int64_t offset, Memory& memory, MPI_Status* status) {
    void* at = memory.address();
    const int n = static_cast<int>(memory.count);
    const MPI_Datatype type = memory.type.type();
    if (step.call == Call::kShared) {
      return step.is_write ? MPI_File_write_shared(file_, at, n, type, status)
                           : MPI_File_read_shared(file_, at, n, type, status);
    }
    if (step.call == Call::kOrdered) {
      return step.is_write ? MPI_File_write_ordered(file_, at, n, type, status)
                           : MPI_File_read_ordered(file_, at, n, type, status);
    }
    if (step.call == Call::kAt && step.is_collective) {
      return step.is_write ? MPI_File_write_at_all(file_, offset, at, n, type, status)
                           : MPI_File_read_at_all(file_, offset, at, n, type, status);
    }
    if (step.call == Call::kAt) {
      return step.is_write ? MPI_File_write_at(file_, offset, at, n, type, status)
                           : MPI_File_read_at(file_, offset, at, n, type, status);
    }
    if (step.is_collective) {
      return step.is_write ? MPI_File_write_all(file_, at, n, type, status)
                           : MPI_File_read_all(file_, at, n, type, status);
    }
    return step.is_write ? MPI_File_write(file_, at, n, type, status) : MPI_File_read(file_, at, n, type, status);
  }

  int nonblocking(const Step& step, int64_t offset, Memory& memory, MPI_Request* request) {
    void* at = memory.address();
    const int n = static_cast<int>(memory.count);
    const MPI_Datatype type = memory.type.type();
    if (step.call == Call::kShared) {
      return step.is_write ? MPI_File_iwrite_shared(file_, at, n, type, request)
                           : MPI_File_iread_shared(file_, at, n, type, request);
    }
    if (step.call == Call::kAt && step.is_collective) {
      return step.is_write ? MPI_File_iwrite_at_all(file_, offset, at, n, type, request)
                           : MPI_File_iread_at_all(file_, offset, at, n, type, request);
    }
    if (step.call == Call::kAt) {
      return step.is_write ? MPI_File_iwrite_at(file_, offset, at, n, type, request)
                           : MPI_File_iread_at(file_, offset, at, n, type, request);
    }
    if (step.is_collective) {
      return step.is_write ? MPI_File_iwrite_all(file_, at, n, type, request)
                           : MPI_File_iread_all(file_, at, n, type, request);
    }
    return step.is_write ? MPI_File_iwrite(file_, at, n, type, request) : MPI_File_iread(file_, at, n, type, request);
  }

  int split(const Step& step, int64_t offset, Memory& memory, MPI_Status* status) {
    void* at = memory.address();
    const int n = static_cast<int>(memory.count);
    const MPI_Datatype type = memory.type.type();
    if (step.call == Call::kOrdered) {
      expect_success(step.is_write ? MPI_File_write_ordered_begin(file_, at, n, type)
                                   : MPI_File_read_ordered_begin(file_, at, n, type),
                     step.text());
      return step.is_write ? MPI_File_write_ordered_end(file_, at, status)
                           : MPI_File_read_ordered_end(file_, at, status);
    }
    if (step.call == Call::kAt) {
      expect_success(step.is_write ? MPI_File_write_at_all_begin(file_, offset, at, n, type)
                                   : MPI_File_read_at_all_begin(file_, offset, at, n, type),
                     step.text());
      return step.is_write ? MPI_File_write_at_all_end(file_, at, status) : MPI_File_read_at_all_end(file_, at, status);
    }
    expect_success(
        step.is_write ? MPI_File_write_all_begin(file_, at, n, type) : MPI_File_read_all_begin(file_, at, n, type),
        step.text());
    return step.is_write ? MPI_File_write_all_end(file_, at, status) : MPI_File_read_all_end(file_, at, status);
  }

  // Compares the data of each file with the other file.
  void compare_files(const std::string& after) const {
    const int files[] = {::open(name(false).c_str(), O_RDONLY), ::open(name(true).c_str(), O_RDONLY)};
    const int64_t sizes[] = {::lseek(files[0], 0, SEEK_END), ::lseek(files[1], 0, SEEK_END)};
    expect(sizes[0] == sizes[1], "after " + after + " the file has " + std::to_string(sizes[0]) + " bytes, expected " +
                                     std::to_string(sizes[1]));
    for (const int one : files) {
      for (int64_t begin = 0; (begin = ::lseek(one, begin, SEEK_DATA)) >= 0;) {
        const int64_t end = ::lseek(one, begin, SEEK_HOLE);
        compare(files, begin, end, after);
        begin = end;
      }
    }
    for (const int file : files) ::close(file);
  }

  static void compare(const int (&files)[2], int64_t begin, int64_t end, const std::string& after) {
    std::vector<char> found(1 << 16);
    std::vector<char> expected(found.size());
    for (; begin < end; begin += std::ssize(found)) {
      std::fill(found.begin(), found.end(), 0);
      std::fill(expected.begin(), expected.end(), 0);
      const size_t bytes = static_cast<size_t>(std::min<int64_t>(end - begin, std::ssize(found)));
      expect(::pread(files[0], found.data(), bytes, begin) >= 0, "pread of the file");
      expect(::pread(files[1], expected.data(), bytes, begin) >= 0, "pread of the reference");
      const auto [at, other] = std::mismatch(found.begin(), found.end(), expected.begin());
      if (at == found.end()) continue;
      expect(false,
             "after " + after + " byte " + std::to_string(begin + (at - found.begin())) + " of the file is wrong");
      return;
    }
  }

  uint64_t seed_;
  Random random_;
  std::string folder_;
  std::string text_;
  MPI_File file_ = MPI_FILE_NULL;
  int reference_ = -1;
  std::vector<int64_t> pointers_;
  int64_t shared_pointer_ = 0;
  uint64_t steps_ = 0;
};

int run(uint64_t seed, int64_t cases, const std::string& folder) {
  int64_t mismatches = 0;
  int64_t refused = 0;
  for (int64_t i = 0; i < cases; ++i) {
    wrong.clear();
    const uint64_t own_seed = seed + static_cast<uint64_t>(i);
    try {
      Case(own_seed, folder).run();
    } catch (const Refused&) {  // refused on all ranks; the file stays open
      ++refused;
    }
    int is_wrong = wrong.empty() ? 0 : 1;
    int are_wrong = 0;
    MPI_Allreduce(&is_wrong, &are_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    mismatches += are_wrong > 0 ? 1 : 0;
    if (is_wrong != 0)
      std::fprintf(stderr, "seed %" PRIu64 ", rank %d of %d: %s\n", own_seed, world_rank, world_size, wrong.c_str());
  }
  if (world_rank == 0) {
    std::printf("%" PRId64 " cases on %d ranks, %" PRId64 " mismatches, %" PRId64 " with types that MPI refused\n",
                cases, world_size, mismatches, refused);
  }
  return mismatches == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (argc < 3) {
    if (world_rank == 0) std::fprintf(stderr, "usage: %s SEED CASES [FOLDER]\n", argv[0]);
    MPI_Finalize();
    return 2;
  }
  const int failed =
      run(std::strtoull(argv[1], nullptr, 10), std::strtoll(argv[2], nullptr, 10), argc > 3 ? argv[3] : ".");
  MPI_Finalize();
  return failed;
}
