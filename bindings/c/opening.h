// Opens and creates files and arrays for any kind of ranks. Collective; all ranks throw the same error.
#pragma once

#include <memory>

#include "arguments.h"
#include "comm/comm.h"
#include "swath/swath.h"

namespace swath::c_interface {

void open_file(const std::shared_ptr<Comm>& comm, const char* path, const char* mode, const swath_options* options,
               swath_file** file);
void create_file(const std::shared_ptr<Comm>& comm, const char* path, const swath_options* options, swath_file** file);

struct ArrayToOpen {
  const char* path = nullptr;
  const char* variable = nullptr;
  const char* mode = nullptr;
  const swath_options* options = nullptr;
  // For a raw file: shape and type of its elements.
  bool is_raw = false;
  NewArrayArguments raw = {};
};
void open_array(const std::shared_ptr<Comm>& comm, const ArrayToOpen& wanted, swath_array** array);
void create_array(const std::shared_ptr<Comm>& comm, const char* path, const NewArrayArguments& arguments,
                  const swath_options* options, swath_array** array);

}  // namespace swath::c_interface
