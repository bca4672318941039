// What the handles of C stand for.
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
  std::unique_ptr<swath_file> own_file;  // of one that was opened together with it
};

struct swath_file {
  std::shared_ptr<swath::Comm> comm;
  std::shared_ptr<swath::DataFile> file;
  std::string method = "auto";                       // of its arrays
  bool is_of_array = false;                          // it is closed with the array
  std::vector<std::unique_ptr<swath_array>> arrays;  // that belong to it
};

struct swath_distribution {
  swath::Distribution distribution;
};

struct swath_request {
  std::shared_ptr<swath::FileArray> array;
  swath::StartedMove started;
};
