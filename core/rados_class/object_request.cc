#include "rados_class/object_request.h"

#include <string>

#include "base/bytes.h"
#include "base/error.h"

namespace swath {
namespace {

constexpr char kWhat[] = "request to the object class";
constexpr int64_t kMagic = 0x30736c6368746177;  // "wathcls0"
constexpr int64_t kOffsetMax = int64_t{1} << 61;

}  // namespace

std::vector<std::byte> ObjectRequest::to_bytes() const {
  ByteWriter body;
  for (const int64_t number : {stripes.unit, stripes.count, stripes.object_bytes, object, begin, end}) body.put(number);
  view.write(body);
  ByteWriter message;
  message.put(kMagic);
  message.put(kVersion);
  message.put(std::ssize(body.bytes()));
  message.put_raw(body.bytes());
  return message.take();
}

ObjectRequest ObjectRequest::read(std::span<const std::byte> message, std::span<const std::byte>& data) {
  constexpr size_t kHeadBytes = 3 * sizeof(int64_t);
  ByteReader head(kWhat, message.first(std::min(message.size(), kHeadBytes)));
  if (head.number() != kMagic) head.fail("it is none");
  if (head.number() != kVersion) head.fail("it is of another version");
  const int64_t rest = std::ssize(message) - static_cast<int64_t>(kHeadBytes);
  const int64_t body_bytes = head.number_in(0, std::min(rest, kViewBytesMax) + 1, "the number of its bytes");
  data = message.subspan(kHeadBytes + static_cast<size_t>(body_bytes));

  ByteReader body(kWhat, message.subspan(kHeadBytes, static_cast<size_t>(body_bytes)));
  ObjectRequest request;
  request.stripes.unit = body.number_in(1, StripeLayout::kObjectBytesMax + 1, "the stripe unit");
  request.stripes.count = body.number_in(1, StripeLayout::kCountMax + 1, "the stripe count");
  request.stripes.object_bytes = body.number_in(1, StripeLayout::kObjectBytesMax + 1, "the object size");
  const std::string wrong(request.stripes.refusal());
  if (!wrong.empty()) body.fail(wrong);
  request.object = body.number_in(0, kOffsetMax / request.stripes.object_bytes, "the object");
  request.begin = body.number_in(0, request.stripes.object_bytes + 1, "the begin");
  request.end = body.number_in(request.begin, request.stripes.object_bytes + 1, "the end");
  request.view = View::read(body);
  body.expect_end();
  request.view.check();
  if (!request.view.empty() && request.view.end() > kOffsetMax) body.fail("the view ends beyond what a file can hold");
  return request;
}

}  // namespace swath
