#include "store/rados/structured.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "layout/as_view.h"
#include "layout/copy.h"
#include "rados_class/cut_requests.h"
#include "rados_class/object_request.h"
#include "store/open_file.h"
#include "store/rados/library.h"

namespace swath {
namespace {

constexpr char kClass[] = "swath";

// The data bytes of regions in one object, and their memory.
struct Gathered {
  std::shared_ptr<const Regions> packed;  // the same positions, contiguous in a message
  std::byte* memory;
  std::vector<std::pair<int64_t, int64_t>> parts;  // positions [first, last)
};

void copy_to_message(const Gathered& gathered, std::byte* message) {
  for (const auto& [first, last] : gathered.parts) {
    scatter_to_window(*gathered.packed, first, last, {message, first}, gathered.memory);
    message += last - first;
  }
}

void copy_from_message(const Gathered& gathered, const std::byte* message) {
  for (const auto& [first, last] : gathered.parts) {
    gather_from_window(*gathered.packed, first, last, {message, first}, gathered.memory);
    message += last - first;
  }
}

class StructuredRead final : public RadosOperation {
 public:
  StructuredRead(const RadosFile& file, const ObjectRequest& request, Gathered gathered, int64_t bytes, Flight& flight)
      : RadosOperation(file, Direction::kRead, request.object, flight),
        message_(request.to_bytes()),
        gathered_(std::move(gathered)),
        answer_(std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes))),
        op_(librados().create_read_op()) {
    bytes_ = bytes;
    offset_ = request.view.begin();
    librados().read_op_exec_user_buf(op_, kClass, "read", reinterpret_cast<const char*>(message_.data()),
                                     message_.size(), reinterpret_cast<char*>(answer_.get()),
                                     static_cast<size_t>(bytes), &got_, &result_);
  }
  ~StructuredRead() override { librados().release_read_op(op_); }

 private:
  int submit(rados_completion_t completion) override {
    return librados().aio_read_op_operate(op_, pool_->io(), completion, name_.c_str(), 0);
  }

  int take(int result) override {
    if (result == -ENOENT) {
      std::memset(answer_.get(), 0, static_cast<size_t>(bytes_));
      has_holes_ = true;
    } else if (result < 0) {
      return result;
    } else if (result_ < 0 || static_cast<int64_t>(got_) != bytes_) {
      return result_ < 0 ? result_ : -EIO;
    }
    copy_from_message(gathered_, answer_.get());
    moved_ = bytes_;
    return 0;
  }

  const std::vector<std::byte> message_;
  const Gathered gathered_;
  const std::unique_ptr<std::byte[]> answer_;
  size_t got_ = 0;
  int result_ = 0;
  rados_read_op_t op_;
};

class StructuredWrite final : public RadosOperation {
 public:
  StructuredWrite(const RadosFile& file, const ObjectRequest& request, const Gathered& gathered, int64_t bytes,
                  Flight& flight)
      : RadosOperation(file, Direction::kWrite, request.object, flight), op_(librados().create_write_op()) {
    bytes_ = bytes;
    offset_ = request.view.begin();
    std::vector<std::byte> message = request.to_bytes();
    const size_t described = message.size();
    message.resize(described + static_cast<size_t>(bytes));
    copy_to_message(gathered, &message[described]);
    // librados has a copy when this returns.
    librados().write_op_exec(op_, kClass, "write", reinterpret_cast<const char*>(message.data()), message.size(),
                             nullptr);
  }
  ~StructuredWrite() override { librados().release_write_op(op_); }

 private:
  int submit(rados_completion_t completion) override {
    return librados().aio_write_op_operate(op_, pool_->io(), completion, name_.c_str(), nullptr, 0);
  }
  int take(int result) override {
    if (result >= 0) moved_ = bytes_;
    return std::min(result, 0);
  }

  rados_write_op_t op_;
};

}  // namespace

std::string class_refusal(const RadosFile& file) {
  const auto pool = file.pool();
  const std::string object = file.object(0);
  std::array<char, 32> answer{};
  const int result =
      librados().exec(pool->io(), object.c_str(), kClass, "probe", nullptr, 0, answer.data(), answer.size() - 1);
  const std::string instead = "; lists of ranges are sent instead of descriptions (docs/rados.md: the object class)";
  if (result == -EOPNOTSUPP) return "the OSDs have no object class swath, or the pool lets no class read" + instead;
  if (result == -EPERM) return "the OSDs may not run the object class swath (osd_class_load_list)" + instead;
  if (result < 0) return "the object class swath cannot be asked: " + system_message(-result) + instead;
  const std::string version(answer.data(), static_cast<size_t>(result));
  if (version == std::to_string(ObjectRequest::kVersion)) return "";
  return "the OSDs' object class swath takes requests of version " + version + ", this Swath sends version " +
         std::to_string(ObjectRequest::kVersion) + instead;
}

SliceMemory memory_of(const StructuredTransfer& structured, const Slice& slice) {
  const FileImage& image = structured.image;
  if (image.bytes != nullptr) return {image.bytes, image.offset};
  return {structured.addresses[slice.part], std::nullopt};
}

bool begin_structured(const RadosFile& file, Direction direction, const Slice& slice, const SliceMemory& memory,
                      Flight& flight) {
  ViewRegions regions;
  try {
    regions = as_view(slice.regions);
  } catch (const Error&) {
    return false;  // too deep
  }
  const Nest& nest = regions.file().nest;
  if (!can_be_described(nest)) return false;
  // The view's positions count from its own first byte, the nest's positions from the nest's first byte.
  const int64_t skipped = regions.file().first;
  const ViewRegions all = memory.image_offset
                              ? ViewRegions(View::all(nest), nest.shifted(-*memory.image_offset), 0)
                              : ViewRegions(View::all(nest), regions.memory(), regions.memory_first() - skipped);
  const auto packed = std::make_shared<const Regions>(all.packed_in_file());
  const int64_t element_bytes = slice.regions.element_bytes();
  RequestCuts cuts(file.stripes(), nest);
  cuts.visit(slice.first * element_bytes + skipped, slice.last * element_bytes + skipped, [&](const RequestCut& cut) {
    const ObjectRequest request{.stripes = file.stripes(),
                                .object = cut.object,
                                .begin = cut.begin,
                                .end = cut.end,
                                .view = part_of(nest, cut.parts.front().first, cut.parts.back().second)};
    const Gathered gathered{packed, memory.address, cut.parts};
    if (direction == Direction::kRead) {
      flight.begin(std::make_unique<StructuredRead>(file, request, gathered, cut.bytes, flight));
    } else {
      flight.begin(std::make_unique<StructuredWrite>(file, request, gathered, cut.bytes, flight));
    }
  });
  return true;
}

}  // namespace swath
