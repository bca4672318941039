// Measures the time to decode a datatype, and the memory of the result, compared with the linked MPI's own handling:
//
//   swath_mpi_io_decode_bench [FOLDER]
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "mpi_io/type_map.h"

namespace swath::mpi_io {
namespace {

double seconds_of(const std::function<void()>& what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The median of five runs, each with a new type, in microseconds.
void measure(const char* name, const std::string& folder, const std::function<void(MPI_Datatype*)>& make) {
  std::vector<double> commits;
  std::vector<double> decodes;
  std::vector<double> lookups;
  std::vector<double> views;
  int64_t bytes = 0;
  for (int i = 0; i < 5; ++i) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    make(&type);
    commits.push_back(seconds_of([&] { MPI_Type_commit(&type); }));
    decodes.push_back(seconds_of([&] { bytes = type_map_of(type)->nest.memory_bytes(); }));
    lookups.push_back(seconds_of([&] { type_map_of(type); }));
    MPI_File file = MPI_FILE_NULL;
    MPI_File_open(MPI_COMM_SELF, (folder + "/decode_bench").c_str(),
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    views.push_back(seconds_of([&] { MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL); }));
    MPI_File_close(&file);
    MPI_Type_free(&type);
  }
  const auto median = [](std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + 2, values.end());
    return 1e6 * values[2];
  };
  std::printf(
      "%-32s decoded %10.1f us, found again %6.2f us, keeps %9lld bytes; MPI: commit %10.1f us, set_view %10.1f us\n",
      name, median(decodes), median(lookups), static_cast<long long>(bytes), median(commits), median(views));
}

void run(const std::string& folder) {
  measure("vector(4,000,000, 1, 2, double)", folder,
          [](MPI_Datatype* type) { MPI_Type_vector(4'000'000, 1, 2, MPI_DOUBLE, type); });
  std::vector<MPI_Aint> places(1'000'000);
  const std::vector<int> lengths(places.size(), 8);
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<MPI_Aint>(24 * i);
  const auto hindexed = [&](MPI_Datatype* type) {
    MPI_Type_create_hindexed(static_cast<int>(places.size()), lengths.data(), places.data(), MPI_BYTE, type);
  };
  measure("hindexed(1,000,000), regular", folder, hindexed);
  for (size_t i = 0; i < places.size(); ++i) places[i] += static_cast<MPI_Aint>(i * i % 13);
  measure("hindexed(1,000,000), irregular", folder, hindexed);
  measure("subarray of 3 dimensions", folder, [](MPI_Datatype* type) {
    const int sizes[] = {64, 128, 256};
    const int subsizes[] = {16, 32, 64};
    const int starts[] = {8, 4, 2};
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, type);
  });
}

}  // namespace
}  // namespace swath::mpi_io

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  swath::mpi_io::run(argc > 1 ? argv[1] : "/tmp");
  MPI_Finalize();
  return 0;
}
