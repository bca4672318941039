#include "mpi_io/hints.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <string_view>

#include "base/error.h"

namespace swath::mpi_io {
namespace {

constexpr const char* kOwn = "swath_";
constexpr std::array kOfRomio = {"romio_cb_read", "romio_cb_write", "romio_ds_read",      "romio_ds_write",
                                 "cb_nodes",      "cb_buffer_size", "ind_rd_buffer_size", "ind_wr_buffer_size"};

constexpr std::array<std::string_view, 3> kContiguous{"automatic", "alone", "together"};  // Hints::Contiguous

bool is_of_rank(const std::string& key) { return key.starts_with("romio_ds_") || key.starts_with("ind_"); }

std::optional<int64_t> size_of(const std::string& value) {
  int64_t size = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
  if (error != std::errc() || end != value.data() + value.size() || size < 1) return std::nullopt;
  return size;
}

bool is_tuning(const std::string& name) {
  Tuning tuning;
  AskedTuning asked;
  try {
    apply({{name, 1}}, tuning, asked);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

InfoPairs known_hints(MPI_Info info) {
  InfoPairs pairs;
  if (info == MPI_INFO_NULL) return pairs;
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {};
    if (MPI_Info_get_nthkey(info, i, key) != MPI_SUCCESS) continue;
    const bool is_known =
        std::string(key).starts_with(kOwn) ||
        std::any_of(kOfRomio.begin(), kOfRomio.end(), [&](const char* name) { return name == std::string(key); });
    if (!is_known) continue;
    std::array<char, 256> value{};
    int is_set = 0;
    MPI_Info_get(info, key, static_cast<int>(value.size()) - 1, value.data(), &is_set);
    if (is_set != 0) pairs.emplace_back(key, value.data());
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void Hints::take(const InfoPairs& pairs) {
  for (const auto& [key, value] : pairs) {
    if (take_one(key, value, true)) {
      taken_[key] = value;
    } else {
      ignored_.insert(key + "=" + value);
    }
  }
}

void Hints::take_of_rank(const InfoPairs& pairs) {
  for (const auto& [key, value] : pairs) {
    const auto known = taken_.find(key);
    if (known != taken_.end() && known->second == value) continue;
    if (!is_of_rank(key)) {
      ignored_.insert(key + "=" + value + ", which MPI_File_set_view says,");
    } else if (take_one(key, value, false)) {
      taken_[key] = value;
    } else {
      ignored_.insert(key + "=" + value);
    }
  }
}

bool Hints::take_one(const std::string& key, const std::string& value, bool is_of_all) {
  const auto size = size_of(value);
  const auto take_sieve_bytes = [&](size_t direction) {
    own_sieve_bytes_[direction] = *size;
    if (is_of_all) sieve_bytes_[direction] = *size;
  };
  const auto for_direction = [&](const char* reading) {
    return static_cast<size_t>(key == reading ? Direction::kRead : Direction::kWrite);
  };
  if (key == "swath_method") {
    try {
      const Method method = parse_method(value);
      for (Collective& one : collective_) one = {method, true};
      own_method_.fill(method == Method::kTwoPhase ? Method::kAuto : method);
      method_ = value;
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  if (key == "swath_contiguous") {
    const auto* const known = std::find(kContiguous.begin(), kContiguous.end(), value);
    if (known == kContiguous.end()) return false;
    contiguous_ = static_cast<Contiguous>(known - kContiguous.begin());
    return true;
  }
  if (key == "swath_set_view") {
    if (value != "barrier" && value != "local") return false;
    set_view_meets_ = value == "barrier";
    return true;
  }
  if (key == "romio_cb_read" || key == "romio_cb_write") {
    Collective& one = collective_[for_direction("romio_cb_read")];
    if (value == "enable") one = {Method::kTwoPhase, true};
    if (value == "disable") one = {Method::kAuto, false};
    if (value == "automatic") one = {};
    return value == "enable" || value == "disable" || value == "automatic";
  }
  if (key == "romio_ds_read" || key == "romio_ds_write") {
    Method& method = own_method_[for_direction("romio_ds_read")];
    if (value == "enable") method = Method::kSieve;
    if (value == "disable") method = Method::kList;
    if (value == "automatic") method = Method::kAuto;
    return value == "enable" || value == "disable" || value == "automatic";
  }
  if (!size) return false;
  if (key == "swath_streams") {
    streams_ = static_cast<int>(std::min<int64_t>(*size, INT_MAX));
  } else if (key == "cb_nodes") {
    sizes_["aggregators"] = *size;
  } else if (key == "cb_buffer_size") {
    sizes_["window_bytes"] = *size;
  } else if (key == "ind_rd_buffer_size" || key == "ind_wr_buffer_size") {
    take_sieve_bytes(for_direction("ind_rd_buffer_size"));
  } else {
    const std::string name = key.substr(std::min(key.size(), std::string(kOwn).size()));
    if (!is_tuning(name)) return false;
    sizes_[name] = *size;
    if (name == "sieve_bytes") {
      for (const size_t direction : {size_t{0}, size_t{1}}) take_sieve_bytes(direction);
    }
  }
  return true;
}

// If a hint sets the method of collective operations, ranks meet.
bool Hints::goes_alone(Direction direction, bool is_cheaper) const {
  if (contiguous_ != Contiguous::kAutomatic) return contiguous_ == Contiguous::kAlone;
  return is_cheaper && collective_method(direction) == Method::kAuto;
}

TuningSettings Hints::collective_tuning(Direction direction) const {
  return tuning(sieve_bytes_[static_cast<size_t>(direction)]);
}

TuningSettings Hints::own_tuning(Direction direction) const {
  return tuning(own_sieve_bytes_[static_cast<size_t>(direction)]);
}

TuningSettings Hints::tuning(int64_t sieve_bytes) const {
  std::map<std::string, int64_t> sizes = sizes_;
  if (sieve_bytes > 0) sizes["sieve_bytes"] = sieve_bytes;
  return {sizes.begin(), sizes.end()};
}

InfoPairs Hints::in_force() const {
  InfoPairs pairs{{"swath_method", method_}};
  for (const auto& [name, size] : sizes_) pairs.emplace_back(kOwn + name, std::to_string(size));
  pairs.emplace_back("swath_contiguous", kContiguous[static_cast<size_t>(contiguous_)]);
  pairs.emplace_back("swath_set_view", set_view_meets_ ? "barrier" : "local");
  if (streams_) pairs.emplace_back("swath_streams", std::to_string(*streams_));
  const auto said = [](bool together, Method method) {
    if (!together) return "disable";
    return method == Method::kTwoPhase ? "enable" : "automatic";
  };
  const auto said_of_sieving = [](Method method) {
    if (method == Method::kSieve) return "enable";
    return method == Method::kAuto ? "automatic" : "disable";
  };
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    const std::string name = direction == Direction::kRead ? "read" : "write";
    pairs.emplace_back("romio_cb_" + name, said(together(direction), collective_method(direction)));
    pairs.emplace_back("romio_ds_" + name, said_of_sieving(own_method(direction)));
  }
  return pairs;
}

}  // namespace swath::mpi_io
