#include "array/shared_engine.h"

#include <exception>
#include <utility>

namespace swath {
namespace {

constexpr size_t kIdleMost = 16;

}  // namespace

SharedEngine::SharedEngine(Make make) : make_(std::move(make)) { give_back(make_(), make_solo_comm()); }

SharedEngine::Lease SharedEngine::lease() {
  Idles& idles = idles_.get();
  {
    const std::lock_guard guard(idles.mutex);
    if (!idles.list.empty()) {
      Idle first = std::move(idles.list.front());
      idles.list.erase(idles.list.begin());
      return {*this, std::move(first.engine), std::move(first.alone)};
    }
  }
  return {*this, make_(), make_solo_comm()};
}

// One engine keeps the stream of the open file; further engines are streams only while they are used.
void SharedEngine::give_back(std::unique_ptr<Engine> engine, std::unique_ptr<Comm> alone) {
  Idles& idles = idles_.get();
  const std::lock_guard guard(idles.mutex);
  if (idles.list.size() == kIdleMost) return;
  const bool rests = !idles.list.empty() && !idles.list.front().rests;
  if (rests) engine->rest();
  idles.list.insert(rests ? idles.list.end() : idles.list.begin(), Idle{std::move(engine), std::move(alone), rests});
}

SharedEngine::Lease::Lease(SharedEngine& owner, std::unique_ptr<Engine> engine, std::unique_ptr<Comm> alone)
    : owner_(&owner), engine_(std::move(engine)), alone_(std::move(alone)), exceptions_(std::uncaught_exceptions()) {}

SharedEngine::Lease::Lease(Lease&& other) noexcept = default;

SharedEngine::Lease::~Lease() {
  if (engine_ == nullptr || std::uncaught_exceptions() > exceptions_) return;
  owner_->give_back(std::move(engine_), std::move(alone_));
}

}  // namespace swath
