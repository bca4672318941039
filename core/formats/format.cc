#include "formats/format.h"

#include "base/error.h"

namespace swath::formats {

bool FormatFile::may_delay(const NewArray& /*array*/) { return false; }

std::vector<int64_t> FormatFile::place_chunks(const std::string& variable, const Shape& /*shape*/,
                                              std::span<const NewChunk> /*chunks*/) {
  throw Error(ErrorKind::kUnsupported, variable + ": this format keeps no table of its chunks");
}

void FormatFile::written(Room /*room*/, const std::string& /*variable*/) {}

}  // namespace swath::formats
