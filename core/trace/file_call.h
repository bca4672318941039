// Traces a call on a whole file ("open", "sync", "close") from its constructor to its destructor.
#pragma once

#include <string>

namespace swath::trace {

class FileCall {
 public:
  // `name`: a string literal. `detail`: for example the mode of an open; may be empty.
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
