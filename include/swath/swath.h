// What a C++ program includes: open arrays, and the ranks that read and write them together.
//
//   Array      open_raw(), create_raw(); execute(), start(), explain(), sync(), close()      array/
//   Operation  which elements go to which rank, in which direction, how                      plan/operation.h
//   Comm       make_solo_comm(); MpiComm (comm/mpi_comm.h, of the library swath_mpi)         comm/
//   Error      what is thrown, on all ranks alike                                            base/error.h
#pragma once

#include "array/array.h"
#include "array/raw_array.h"
#include "base/error.h"
#include "comm/comm.h"
#include "method/local_memory.h"
#include "plan/explain.h"
#include "plan/operation.h"
#include "space/decomposition.h"
