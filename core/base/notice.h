// Notices to the user while the program waits, before anything has failed.
#pragma once

#include <functional>
#include <string>

namespace swath {

// Any thread may call the handler, without a lock of the core. Empty (the default): no notices.
void set_notice_handler(std::function<void(const std::string&)> handler);

void notify(const std::string& text);

// For programs without a handler. Prints the line on stderr by one call: lines of other processes stay whole.
void print_error_line(const std::string& line);

}  // namespace swath
