// What the person in front of the program should know while it waits, and not only when it fails.
#pragma once

#include <functional>
#include <string>

namespace swath {

// Any thread may call it, with no lock of the core held. Empty, as at first: nobody is told.
void set_notice_handler(std::function<void(const std::string&)> handler);

void notify(const std::string& text);

}  // namespace swath
