// An error as MPI's callers get it: a code, and the text that says what happened.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace swath::mpi_io {

class MpiError : public std::exception {
 public:
  // `code`: an error code or class of the MPI that this is built for.
  MpiError(int code, std::string text) : code_(code), text_(std::move(text)) {}

  int code() const { return code_; }
  const std::string& text() const { return text_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  int code_;
  std::string text_;
};

}  // namespace swath::mpi_io
