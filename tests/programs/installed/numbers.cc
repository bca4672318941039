// A program outside of Swath's tree: makes a file of one array, reads it, and prints its contents.
#include <cstdio>
#include <numeric>
#include <swath/swath.hpp>
#include <vector>

int main(int, char** argument) {
  const std::shared_ptr<swath::Comm> comm = swath::make_solo_comm();
  const swath::Shape shape{3, 4};
  const auto all = swath::Decomposition::alone(swath::select_all(shape));
  std::vector<double> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0.5);
  auto made = swath::create(comm, argument[1], {.shape = shape, .type = swath::formats::type_of<double>()},
                            {.overwrite = true});
  made->write(all, numbers);
  made.close();

  auto opened = swath::open(comm, argument[1]);
  std::vector<double> found(12);
  opened->read(all, found);
  std::vector<int> wrong(12);
  try {
    opened->read(all, wrong);
  } catch (const swath::Error& error) {
    std::printf("%s\n", error.what());
  }
  opened.close();
  std::printf("%s of %s\n", found == numbers ? "right" : "wrong", swath::to_string(shape).c_str());
}
