// An error for MPI's callers: a code and a text.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace swath::mpi_io {

class MpiError : public std::exception {
 public:
  // `code`: an error code or class of the MPI that this was built for.
  MpiError(int code, std::string text) : code_(code), text_(std::move(text)) {}

  int code() const { return code_; }
  const std::string& text() const { return text_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  int code_;
  std::string text_;
};

}  // namespace swath::mpi_io
