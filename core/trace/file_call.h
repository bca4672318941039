// A call on a file as a whole, from its making to its end: "open", "sync", "close".
#pragma once

#include <string>

namespace swath::trace {

class FileCall {
 public:
  // `name`: a literal. `detail`: more about the call, such as its mode; empty: nothing.
  FileCall(const char* name, const std::string& path, const char* detail = "");
  ~FileCall();
  FileCall(const FileCall&) = delete;
  FileCall& operator=(const FileCall&) = delete;

 private:
  const char* const name_;
  std::string path_;  // empty: not traced
  const char* const detail_;
  const double began_;
  const int errors_before_;
};

}  // namespace swath::trace
