// The functions that a backend serves: tables of MPI's functions with ours, one for each source with such functions
// (init.cc, calls_*.cc). backend.cc lists the tables.
#pragma once

#include <mpi.h>

#include <span>

#include "mpi_io/large_count.h"

namespace swath::mpi_io {

struct Served {
  const char* name;  // "MPI_File_open"; the stub asks for PMPI_File_open by the same name
  void* function;
};

template <typename Function>
Served served_as(const char* name, Function function) {
  return {name, reinterpret_cast<void*>(function)};
}

// SWATH_SERVED(File_open, open_file): `open_file` must be of MPI_File_open's type.
#define SWATH_SERVED(name, function) ::swath::mpi_io::served_as<decltype(&PMPI_##name)>("MPI_" #name, function)

// SWATH_SERVED_LARGE(File_read, read_large): `read_large` must be of MPI_File_read_c's type, even if this MPI lacks it.
#define SWATH_SERVED_LARGE(name, function) \
  ::swath::mpi_io::served_as<::swath::mpi_io::LargeCount<decltype(&PMPI_##name)>>("MPI_" #name "_c", function)

std::span<const Served> served_init();   // init.cc
std::span<const Served> served_files();  // calls_file.cc
std::span<const Served> served_data();   // calls_data.cc
std::span<const Served> served_waits();  // calls_waits.cc

// The functions of a program that is traced and not served.
std::span<const Served> traced_calls();  // traced_calls.cc

}  // namespace swath::mpi_io
