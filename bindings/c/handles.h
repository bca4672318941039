// The structures behind the handles of C.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "files/data_file.h"
#include "files/file_array.h"
#include "space/distribution.h"
#include "swath/swath.h"

struct swath_array {
  std::shared_ptr<swath::FileArray> array;
  swath_file* file = nullptr;
  std::unique_ptr<swath_file> own_file;  // the file, if both were opened together
};

struct swath_file {
  std::shared_ptr<swath::Comm> comm;
  std::shared_ptr<swath::DataFile> file;
  std::string method = "auto";                       // default method of its arrays
  bool is_of_array = false;                          // true: closed together with its array
  std::vector<std::unique_ptr<swath_array>> arrays;  // handles of its arrays
};

struct swath_distribution {
  swath::Distribution distribution;
};

struct swath_request {
  std::shared_ptr<swath::FileArray> array;
  swath::StartedMove started;
};
