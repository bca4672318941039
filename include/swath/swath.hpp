// The header for C++ programs: files of any format, their arrays, and the ranks that read and write them together.
//
//   open_file(), create_file()   a DataFile: its arrays, dimensions, attributes and records      files/data_file.h
//   open(), create()             one array and its file, closed together                         files/one_array_file.h
//   FileArray                    read(), write(), append(), explain()                            files/file_array.h
//   Decomposition, Distribution  which rank has which elements                                        space/
//   formats::Contents, NewArray  the contents of a file, and new arrays                       formats/
//   Comm                         make_solo_comm(); make_mpi_comm() of <swath/swath_mpi.hpp>    comm/
//   Error                        the exception, the same on all ranks                              base/error.h
#pragma once

#if __cplusplus < 202002L
#error "swath.hpp needs C++20 (-std=c++20); swath.h is for C and for older C++"
#endif

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "comm/comm.h"
#include "files/data_file.h"
#include "files/file_array.h"
#include "files/one_array_file.h"
#include "formats/contents.h"
#include "formats/new_array.h"
#include "space/decomposition.h"

namespace swath {

// Collective: see DataFile::open().
inline std::shared_ptr<DataFile> open_file(std::shared_ptr<Comm> comm, const std::string& path,
                                           OpenMode mode = OpenMode::kRead, const DataFileOptions& options = {}) {
  return DataFile::open(std::move(comm), path, mode, options);
}

// Collective: see DataFile::create().
inline std::shared_ptr<DataFile> create_file(std::shared_ptr<Comm> comm, const std::string& path,
                                             const NewFileOptions& create = {}, const DataFileOptions& options = {}) {
  return DataFile::create(std::move(comm), path, create, options);
}

}  // namespace swath
