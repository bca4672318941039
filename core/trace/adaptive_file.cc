#include "trace/adaptive_file.h"

#include <memory>
#include <utility>

#include "base/hash.h"
#include "trace/event.h"
#include "trace/trace.h"

namespace swath::trace {
namespace {

class AdaptiveFile final : public Definition {
 public:
  AdaptiveFile(uint64_t key, std::string identity, std::string means)
      : Definition("swath_adaptive_file", key), identity_(std::move(identity)), means_(std::move(means)) {}

 private:
  void write_arguments(JsonObject& arguments) const override {
    arguments.put("identity", identity_);
    arguments.put("means", means_);
  }

  const std::string identity_;
  const std::string means_;
};

}  // namespace

void add_adaptive_file(const std::string& identity, const std::string& means) noexcept {
  if (!is_active()) return;
  const uint64_t key = hash_text("adaptive file " + means + " " + identity);
  if (needs_definition(key)) add(std::make_unique<AdaptiveFile>(key, identity, means));
}

}  // namespace swath::trace
