#include "formats/hdf5/calls.h"

#include <cctype>
#include <cstdlib>
#include <string_view>

namespace swath::formats::hdf5 {
namespace {

// The number in "errno = 11" of an HDF5 message; 0 if there is none.
int os_error_in(std::string_view words) {
  size_t at = words.find("errno");
  if (at == std::string_view::npos) return 0;
  at += 5;
  while (at < words.size() && (words[at] == ' ' || words[at] == '=')) ++at;
  return static_cast<int>(std::strtol(std::string(words.substr(at, 9)).c_str(), nullptr, 10));
}

struct Words {
  std::string called;  // the message of the function that was called
  std::string reason;  // the message of the function that failed
};

Words words_of_last_error() {
  Words words;
  const auto keep_last = [](unsigned, const H5E_error2_t* error, void* kept) {
    static_cast<std::string*>(kept)->assign(error->desc == nullptr ? "" : error->desc);
    return 0;
  };
  library().H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_last, &words.called);
  library().H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_last, &words.reason);
  return words;
}

}  // namespace

Session::Session() {
  found_.H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
  found_.H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Session::~Session() { found_.H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_); }

void fail_call() {
  const auto [called, reason] = words_of_last_error();
  library().H5Eclear2(H5E_DEFAULT);
  if (called.empty()) throw CallError("HDF5 gives no reason", 0);
  std::string message = called;
  for (char& letter : message) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  message[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(message[0])));
  throw CallError(message + " (" + reason + ")", os_error_in(reason));
}

std::string taken_text(char* text) {
  if (text == nullptr) return "";
  std::string taken = text;
  library().H5free_memory(text);
  return taken;
}

}  // namespace swath::formats::hdf5
