// Shows what somebody's file holds, of any format, and statistics of one variable, of which each rank reads a block.
//   describe FILE [VARIABLE]                 this process alone
//   mpiexec -n 4 describe_mpi FILE [VARIABLE]
#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <swath/swath.hpp>
#include <variant>
#include <vector>

#include "example_ranks.h"

using namespace swath;

struct Statistics {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  int64_t count = 0;
};

std::string text_of(const formats::AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* numbers = std::get_if<formats::NumbersValue>(&value)) {
    return std::to_string(element_count(numbers->shape)) + " x " + numbers->type.words();
  }
  return "(another value)";
}

void show(const formats::Contents& contents) {
  std::printf("format %s %s\n", contents.format().c_str(), contents.version().c_str());
  for (const formats::Group& group : contents.groups()) {
    std::printf("group /%s\n", group.path.c_str());
    for (const auto& [name, value] : group.attributes.entries()) {
      std::printf("  :%s = %s\n", name.c_str(), text_of(value).c_str());
    }
    for (const formats::Dimension& dimension : group.dimensions) {
      std::printf("  dimension %s = %lld%s\n", dimension.name.c_str(), static_cast<long long>(dimension.length),
                  dimension.is_unlimited ? ", unlimited" : "");
    }
  }
  for (const formats::Variable& variable : contents.variables()) {
    std::printf("variable %s %s %s%s\n", variable.path.c_str(), to_string(variable.shape).c_str(),
                variable.type ? variable.type->words().c_str() : "of a type without words",
                variable.unsupported.empty() ? "" : (", not readable: " + variable.unsupported).c_str());
    for (const auto& [name, value] : variable.attributes.entries()) {
      std::printf("  :%s = %s\n", name.c_str(), text_of(value).c_str());
    }
  }
}

// Reads this rank's block of numbers of one type.
template <typename Number>
Statistics statistics_of(FileArray& array, const Distribution& whose, const Comm& comm) {
  std::vector<Number> mine(static_cast<size_t>(element_count(whose.local_shape(array.shape(), comm.rank()))));
  array.read(Decomposition::distributed(whose, select_all(array.shape()), comm.size()), mine);
  Statistics found;
  for (const Number number : mine) {
    const auto value = static_cast<double>(number);
    found.smallest = std::min(found.smallest, value);
    found.largest = std::max(found.largest, value);
    found.sum += value;
    ++found.count;
  }
  return found;
}

Statistics statistics_of(FileArray& array, const Comm& comm) {
  const size_t dimensions = array.shape().size();
  const Distribution whose = example::blocks(dimensions, dimensions == 0 ? 1 : comm.size());
  const std::string type = array.type().words();
  const auto is_of = [&]<typename Number>(Number) {
    return array.type().in_byte_order(false) == formats::type_of<Number>().in_byte_order(false);
  };
  if (is_of(float{})) return statistics_of<float>(array, whose, comm);
  if (is_of(double{})) return statistics_of<double>(array, whose, comm);
  if (is_of(int8_t{})) return statistics_of<int8_t>(array, whose, comm);
  if (is_of(uint8_t{})) return statistics_of<uint8_t>(array, whose, comm);
  if (is_of(int16_t{})) return statistics_of<int16_t>(array, whose, comm);
  if (is_of(uint16_t{})) return statistics_of<uint16_t>(array, whose, comm);
  if (is_of(int32_t{})) return statistics_of<int32_t>(array, whose, comm);
  if (is_of(uint32_t{})) return statistics_of<uint32_t>(array, whose, comm);
  if (is_of(int64_t{})) return statistics_of<int64_t>(array, whose, comm);
  if (is_of(uint64_t{})) return statistics_of<uint64_t>(array, whose, comm);
  fail_argument(array.path() + ": no statistics of elements of type " + type);
}

Statistics of_all_ranks(const Statistics& mine, Comm& comm) {
  std::vector<Statistics> each(static_cast<size_t>(comm.size()));
  comm.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(each)));
  Statistics all;
  for (const Statistics& one : each) {
    all.smallest = std::min(all.smallest, one.smallest);
    all.largest = std::max(all.largest, one.largest);
    all.sum += one.sum;
    all.count += one.count;
  }
  return all;
}

void work(const std::shared_ptr<Comm>& comm, const std::vector<std::string>& arguments) {
  const auto file = open_file(comm, arguments[0]);
  if (comm->rank() == 0) show(file->contents());
  if (arguments.size() > 1) {
    const Statistics all = of_all_ranks(statistics_of(*file->array(arguments[1]), *comm), *comm);
    if (comm->rank() == 0) {
      std::printf("%s: %lld elements, smallest %.17g, largest %.17g, mean %.17g\n", arguments[1].c_str(),
                  static_cast<long long>(all.count), all.smallest, all.largest,
                  all.sum / static_cast<double>(all.count));
    }
  }
  file->close();
}

int main(int count, char** arguments) { return example::run(count, arguments, "FILE [VARIABLE]", work); }
