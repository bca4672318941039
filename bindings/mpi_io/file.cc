#include "mpi_io/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "comm/agreement.h"
#include "comm/mpi_comm.h"
#include "mpi_io/errors.h"
#include "mpi_io/file_name.h"
#include "mpi_io/handles.h"
#include "mpi_io/offsets.h"
#include "mpi_io/profiles.h"
#include "mpi_io/real.h"
#include "mpi_io/type_map.h"
#include "plan/alone.h"
#include "plan/profile_text.h"
#include "throttle/tokens.h"

namespace swath::mpi_io {
namespace {

// The name of a modelled disk's engine, whose data is never cached.
constexpr const char* kModelled = "modelled disk";

// Larger than any file, since a written file grows.
constexpr int64_t kBytesMost = int64_t{1} << 61;

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

std::string random_name() {
  std::random_device random;
  char name[60];
  std::snprintf(name, sizeof name, "swath-mpi-io-%08x%08x", random(), random());
  return name;
}

std::vector<std::byte> broadcast_bytes(Comm& comm, std::vector<std::byte> bytes) {
  int64_t size = std::ssize(bytes);
  comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  bytes.resize(static_cast<size_t>(size));
  comm.broadcast(bytes, 0);
  return bytes;
}

int64_t broadcast_number(Comm& comm, int64_t number) {
  comm.broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  return number;
}

// Settings of an open file that must be the same on all ranks: those of rank 0 count.
struct OpenSettings {
  std::string name;
  std::string profile;
  InfoPairs hints;
};

OpenSettings broadcast_settings(Comm& comm, const OpenSettings& mine) {
  ByteWriter writer;
  writer.put(std::string_view(mine.name));
  writer.put(std::string_view(mine.profile));
  writer.put(std::ssize(mine.hints));
  for (const auto& [key, value] : mine.hints) {
    writer.put(std::string_view(key));
    writer.put(std::string_view(value));
  }
  const auto bytes = broadcast_bytes(comm, writer.take());
  ByteReader reader("hints", bytes);
  OpenSettings settings;
  settings.name = reader.text();
  settings.profile = reader.text();
  for (int64_t left = reader.number(); left > 0; --left) {
    const std::string key = reader.text();
    settings.hints.emplace_back(key, reader.text());
  }
  return settings;
}

FileOptions options_of(const std::string& path, const Hints& hints, bool other_writers) {
  FileOptions options;
  options.engine.other_writers = other_writers;
  if (const char* engine = std::getenv("SWATH_MPI_IO_ENGINE"); engine != nullptr) options.engine.engine = engine;
  if (hints.streams()) {
    struct stat status = {};
    const std::string device = ::stat(path.c_str(), &status) == 0 ? std::to_string(status.st_dev) : path;
    options.tokens = NodeTokens::open("mpi-io job " + std::to_string(::getppid()), "device " + device);
    options.throttle.reads = options.throttle.writes = StreamLimit::fixed(*hints.streams());
  }
  return options;
}

// Null: nothing was measured, and the default profile is used.
std::shared_ptr<const Profile> measured_profile(const std::string& text) {
  return text.empty() ? nullptr : std::make_shared<const Profile>(parse_profile(text));
}

std::unique_ptr<Array> array_of_bytes(std::shared_ptr<Comm> comm, std::shared_ptr<File> file, const std::string& name,
                                      const std::shared_ptr<const Profile>& profile) {
  const Shape shape{kBytesMost};
  Array::Options options;
  options.form = std::make_shared<const ArrayForm>(name, shape, 1,
                                                   std::make_shared<const Layout>(Layout::ordered(shape, 1, 0, {0})));
  options.name = file->path();
  if (profile != nullptr) options.learning = std::make_shared<Learning>(profile, false);
  return std::make_unique<Array>(std::move(comm), std::move(file), options);
}

void check_whence(const std::string& call, int whence) {
  if (whence == MPI_SEEK_SET || whence == MPI_SEEK_CUR || whence == MPI_SEEK_END) return;
  throw refused(MPI_ERR_ARG,
                call + ": whence " + std::to_string(whence) + ": expected MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END");
}

// The target of a seek.
int64_t sought(const std::string& call, int64_t from, int64_t etypes) {
  int64_t position = 0;
  if (__builtin_add_overflow(from, etypes, &position)) {
    throw refused(MPI_ERR_ARG, call + ": " + std::to_string(etypes) + " etypes from " + std::to_string(from) +
                                   " on is beyond any file");
  }
  if (position < 0) {
    throw refused(MPI_ERR_ARG,
                  call + ": position " + std::to_string(position) + " is before the beginning of the view");
  }
  return position;
}

// Datatypes and progress need MPI_COMM_WORLD and MPI_COMM_SELF, which do not exist without MPI_Init.
bool mpi_is_running_on_all(MPI_Comm ranks) {
  int is_running = mpi_is_running() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &is_running, 1, MPI_INT, MPI_MIN, ranks);
  return is_running != 0;
}

bool serves_without_mpi(const Comm& comm) {
  const auto* mpi = dynamic_cast<const MpiComm*>(&comm);
  return mpi == nullptr || mpi->serves_without_mpi();
}

// "collective write".
MeetingRanks meeting_ranks(const Comm& comm) {
  std::vector<int> ranks_of(static_cast<size_t>(comm.node_count()));
  for (int rank = 0; rank < comm.size(); ++rank) ++ranks_of[static_cast<size_t>(comm.node_of(rank))];
  return {*std::max_element(ranks_of.begin(), ranks_of.end()), comm.node_count()};
}

}  // namespace

void OfAllRanks::combine(const OfAllRanks& other) {
  for (const size_t direction : {size_t{0}, size_t{1}})
    alone_is_cheaper[direction] &= other.alone_is_cheaper[direction];
  views_are_contiguous &= other.views_are_contiguous;
}

// ---- opening and closing --------------------------------------------------------------------------------------------

ServedFile::ServedFile(const Opening& opening, std::shared_ptr<Comm> comm, std::string shared_pointer_name)
    : handle_(opening.file),
      path_(without_file_system(opening.path)),
      access_mode_(opening.access_mode),
      comm_(std::move(comm)),
      serves_without_mpi_(mpi_io::serves_without_mpi(*comm_)),
      shared_pointer_(std::move(shared_pointer_name), serves_without_mpi_ ? "" : folder_of(path_)) {}

ServedFile::Opened ServedFile::open(const Opening& opening) {
  if ((opening.access_mode & MPI_MODE_SEQUENTIAL) != 0) return {nullptr, "it is opened with MPI_MODE_SEQUENTIAL"};
  if (!mpi_is_running_on_all(opening.ranks)) return {nullptr, "MPI was started by sessions only, without MPI_Init"};
  int ranks = 0;
  MPI_Comm_size(opening.ranks, &ranks);
  std::shared_ptr<Comm> comm;
  if (ranks == 1) {
    comm = make_solo_comm();
  } else {
    comm = std::make_shared<MpiComm>(opening.ranks);
  }
  const OpenSettings settings = broadcast_settings(
      *comm, {random_name(), profile_text_of(without_file_system(opening.path)), known_hints(opening.info)});
  const std::shared_ptr<ServedFile> file(new ServedFile(opening, comm, settings.name));
  file->hints_.take(settings.hints);
  std::shared_ptr<const Profile> profile;
  OfAllRanks mine;
  const auto failure = failure_in([&] {
    profile = measured_profile(settings.profile);
    file->open_files();
    const bool is_cached = !file->own_file_->engine_name().starts_with(kModelled);
    const Profile& prices = profile == nullptr ? default_profile() : *profile;
    for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
      mine.alone_is_cheaper[static_cast<size_t>(direction)] =
          is_cheaper_alone(prices, direction, meeting_ranks(*comm), is_cached);
    }
    file->report_.set_medium(is_cached || !prices.device.known() ? prices.cache : prices.device);
  });
  try {
    file->of_all_ = file->meet(failure, mine);
  } catch (const Error& error) {
    return {nullptr, error.what()};
  }
  const std::string identity = file->path_ + " (" + settings.name + ")";
  file->collective_ = array_of_bytes(comm, file->file_, identity, profile);
  file->own_ = array_of_bytes(make_solo_comm(), file->own_file_, identity, profile);
  file->atomic_ = array_of_bytes(make_solo_comm(), file->atomic_file_, identity, profile);
  if (profile == nullptr) file->report_.note("priced by stated defaults: `swath calibrate` measures this machine");
  if ((opening.access_mode & MPI_MODE_APPEND) != 0) {
    const int64_t end = broadcast_number(*comm, comm->rank() == 0 ? file->file_->size() : 0);
    file->position_ = end;
    file->shared_pointer_.set(end);
  }
  return {file, ""};
}

void ServedFile::open_files() {
  const OpenMode mode = is_read_only() ? OpenMode::kRead : OpenMode::kReadWrite;
  file_ = File::open(path_, mode, options_of(path_, hints_, true));
  own_file_ = File::open(path_, mode, options_of(path_, hints_, true));
  atomic_file_ = File::open(path_, mode, options_of(path_, hints_, false));
}

void ServedFile::close() {
  collective_jobs_.finish();
  own_jobs_.finish();
  const auto failure = failure_in([&] { meet(std::nullopt); });
  for (const std::string& hint : hints_.ignored()) report_.note("hint " + hint + " is ignored");
  const bool is_wanted = broadcast_number(*comm_, report_is_wanted() ? 1 : 0) != 0;
  if (is_wanted) report_.tell(*comm_, path_);
  own_->close();
  atomic_->close();
  collective_->close();  // all ranks are here: none uses the shared pointer any more
  if (comm_->rank() == 0) shared_pointer_.remove();
  if (auto* const mpi = dynamic_cast<MpiComm*>(comm_.get())) mpi->close();
  if (failure) throw Error(*failure);
}

void ServedFile::finish_together() {
  collective_jobs_.finish();
  meet(std::nullopt);
}

void ServedFile::sync() {
  collective_jobs_.finish();
  own_jobs_.finish();
  // One rank of each node syncs for all its ranks; after this meeting, every rank's writes are in the file.
  const auto failure = failure_in([&] { meet(std::nullopt); });
  collective_->sync();
  if (failure) throw Error(*failure);
}

// The error of this rank for the next meeting.
std::optional<Error> ServedFile::with_pending(const std::optional<Error>& failure) {
  auto pending = std::exchange(pending_error_, std::nullopt);
  return failure ? failure : pending;
}

OfAllRanks ServedFile::meet(const std::optional<Error>& failure, const OfAllRanks& mine) {
  return agree_on(*comm_, {}, with_pending(failure), mine);
}

void ServedFile::preallocate(int64_t bytes) {
  collective_jobs_.finish();
  const std::string call = "preallocate " + path_;
  const auto failure = failure_in([&] {
    if (is_read_only()) throw refused(MPI_ERR_READ_ONLY, call + ": the file was opened with MPI_MODE_RDONLY");
    if (bytes < 0) throw refused(MPI_ERR_ARG, call + ": " + std::to_string(bytes) + " bytes: expected 0 or more");
  });
  agree_same(*comm_, call + "\nsize=" + std::to_string(bytes), with_pending(failure));
  agree(*comm_, failure_in([&] {
    if (comm_->rank() == 0) own_file_->engine().lease()->allocate(bytes);
  }));
}

void ServedFile::set_atomicity(bool atomic) {
  collective_jobs_.finish();
  own_jobs_.finish();
  const auto failure = failure_in([&] { meet(std::nullopt); });
  is_atomic_ = atomic;
  if (failure) throw Error(*failure);
}

void ServedFile::set_hints(MPI_Info info) {
  collective_jobs_.finish();
  own_jobs_.finish();
  hints_.take(broadcast_settings(*comm_, {"", "", known_hints(info)}).hints);
}

// ---- the view, and pointers -----------------------------------------------------------------------------------------

std::shared_ptr<const FileView> ServedFile::view() const {
  const std::lock_guard guard(mutex_);
  return view_;
}

void ServedFile::set_view(const std::function<FileView()>& make) {
  collective_jobs_.finish();
  std::shared_ptr<const FileView> now;
  const auto failure = failure_in([&] { now = std::make_shared<const FileView>(make()); });
  if (hints_.set_view_meets()) {
    OfAllRanks mine = of_all_;
    mine.views_are_contiguous = !failure && now->is_contiguous();
    of_all_ = meet(failure, mine);
  } else {
    if (failure) throw Error(*failure);
    of_all_.views_are_contiguous = 0;  // since this rank does not know the others' views
    last_direction_.reset();
  }
  const std::lock_guard guard(mutex_);
  view_.swap(now);
  position_ = 0;
  shared_pointer_.set(0);
}

int64_t ServedFile::position() const {
  const std::lock_guard guard(mutex_);
  return position_;
}

// The first etype of the view that is wholly beyond the end of the file.
int64_t ServedFile::end_in_etypes() const {
  const auto view = this->view();
  if (!view->is_ascending()) {
    throw refused(MPI_ERR_UNSUPPORTED_OPERATION, "seek: the view's file type does not ascend: it has no end");
  }
  const int64_t bytes = view->bytes_before(own_file_->size());
  return (bytes + view->etype_bytes() - 1) / view->etype_bytes();
}

void ServedFile::seek(int64_t etypes, int whence) {
  const int64_t end = whence == MPI_SEEK_END ? end_in_etypes() : 0;
  const std::lock_guard guard(mutex_);
  check_whence("seek", whence);
  position_ = sought("seek", whence == MPI_SEEK_CUR ? position_ : end, etypes);
}

void ServedFile::seek_shared(int64_t etypes, int whence) {
  collective_jobs_.finish();
  comm_->barrier();  // earlier calls of other ranks have moved the pointer and the end
  int64_t from = 0;
  const auto failure = failure_in([&] {
    check_whence("seek_shared", whence);
    if (comm_->rank() == 0 && whence == MPI_SEEK_CUR) from = shared_pointer_.value();
    if (comm_->rank() == 0 && whence == MPI_SEEK_END) from = end_in_etypes();
    if (comm_->rank() == 0) static_cast<void>(sought("seek_shared", from, etypes));
  });
  agree_same(*comm_,
             "seek_shared " + path_ + "\noffset=" + std::to_string(etypes) + "\nwhence=" + std::to_string(whence),
             with_pending(failure));
  shared_pointer_.set(etypes + broadcast_number(*comm_, from));
  comm_->barrier();  // no rank continues before the pointer is set
}

// ---- what a call moves ----------------------------------------------------------------------------------------------

void ServedFile::check_may(const DataCall& call) const {
  if (call.direction == Direction::kRead && (access_mode_ & MPI_MODE_WRONLY) != 0) {
    throw refused(MPI_ERR_ACCESS, "read " + path_ + ": the file was opened with MPI_MODE_WRONLY");
  }
  if (call.direction == Direction::kWrite && is_read_only()) {
    throw refused(MPI_ERR_READ_ONLY, "write " + path_ + ": the file was opened with MPI_MODE_RDONLY");
  }
  if (call.count < 0) throw refused(MPI_ERR_COUNT, path_ + ": count " + std::to_string(call.count) + " is negative");
}

DataTransfer ServedFile::transfer_of(const DataCall& call) const {
  constexpr uintptr_t kNoAddress = 4096;  // addresses in the first page are invalid
  check_may(call);
  const auto type = type_map_of(call.type);
  DataTransfer transfer;
  transfer.direction = call.direction;
  transfer.view = view();
  if (call.count == 0 || type->size() == 0) return transfer;
  transfer.address = static_cast<std::byte*>(call.buffer);
  if (type->is_contiguous()) {
    transfer.bytes = checked_product(type->size(), call.count);
  } else {
    const Nest memory = repeated(*type, call.count);
    transfer.bytes = memory.bytes();
    // MPI_BOTTOM is null, so offsets relative to it are addresses.
    transfer.address += memory.low();
    if (memory.runs() > 1) transfer.scattered = memory.shifted(-memory.low());
  }
  if (reinterpret_cast<uintptr_t>(transfer.address) < kNoAddress) {
    throw refused(MPI_ERR_BUFFER, path_ + ": the buffer is a null pointer, but " + std::to_string(transfer.bytes) +
                                      " bytes are wanted");
  }
  if (transfer.bytes % transfer.view->etype_bytes() != 0) {
    throw refused(MPI_ERR_IO, path_ + ": " + std::to_string(transfer.bytes) +
                                  " bytes are no whole number of the view's etypes, of " +
                                  std::to_string(transfer.view->etype_bytes()) + " bytes each");
  }
  return transfer;
}

int64_t ServedFile::etypes_of(const DataTransfer& transfer) const {
  return transfer.bytes / transfer.view->etype_bytes();
}

// The first data byte of an etype of the view.
int64_t ServedFile::byte_of(const DataTransfer& transfer, int64_t etype) const {
  int64_t byte = 0;
  if (__builtin_mul_overflow(etype, transfer.view->etype_bytes(), &byte) || byte > kBytesMost) {
    throw refused(MPI_ERR_ARG, path_ + ": offset " + std::to_string(etype) + " is beyond any file");
  }
  return byte;
}

DataTransfer ServedFile::at(const DataCall& call, int64_t offset) const {
  if (offset < 0) throw refused(MPI_ERR_ARG, path_ + ": offset " + std::to_string(offset) + " is negative");
  DataTransfer transfer = transfer_of(call);
  transfer.first = byte_of(transfer, offset);
  return transfer;
}

DataTransfer ServedFile::at_pointer(const DataCall& call) {
  DataTransfer transfer = transfer_of(call);
  const std::lock_guard guard(mutex_);
  transfer.first = byte_of(transfer, position_);
  position_ += etypes_of(transfer);
  return transfer;
}

DataTransfer ServedFile::at_shared_pointer(const DataCall& call) {
  DataTransfer transfer = transfer_of(call);
  transfer.first = byte_of(transfer, shared_pointer_.advance(etypes_of(transfer)));
  return transfer;
}

DataTransfer ServedFile::in_order(const DataCall& call) {
  DataTransfer transfer;
  const auto failure = failure_in([&] { transfer = transfer_of(call); });
  meet(failure);
  const int64_t mine = etypes_of(transfer);
  std::vector<int64_t> all(static_cast<size_t>(comm_->size()));
  comm_->allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  int64_t before = 0;
  int64_t total = 0;
  for (int rank = 0; rank < comm_->size(); ++rank) {
    if (rank == comm_->rank()) before = total;
    total += all[static_cast<size_t>(rank)];
  }
  int64_t begin = 0;
  agree(*comm_, failure_in([&] {
    if (comm_->rank() != 0) return;
    begin = shared_pointer_.advance(total);
    static_cast<void>(byte_of(transfer, begin));
  }));
  begin = broadcast_number(*comm_, begin);
  transfer.first = (begin + before) * transfer.view->etype_bytes();
  return transfer;
}

}  // namespace swath::mpi_io
