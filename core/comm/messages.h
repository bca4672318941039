// Checks and helpers for buffers and messages, for every implementation of Comm.
#pragma once

#include <cstddef>
#include <span>

#include "comm/comm.h"

namespace swath {

// Copies the smaller number of bytes of the two; an empty span may hold no address.
void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to);

// Throws kInternal unless every message names a rank of [0, size), at most one a pair, and those to oneself match.
void check_messages(int rank, int size, std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives);

// Throws kInternal unless all.size() == size * mine.size().
void check_allgather(int size, std::span<const std::byte> mine, std::span<std::byte> all);

// Throws kInternal unless a record of a reduction has at most kRecordBytesMax.
void check_record(std::span<const std::byte> record);

// Throws kInternal unless 0 <= root < size.
void check_root(int size, int root);

// Throws kInternal unless bytes >= 0.
void check_window_bytes(int64_t bytes);

// The bytes sent to (received from) a peer; empty if there is no message.
std::span<const std::byte> message_to(std::span<const SendMessage> sends, int peer);
std::span<std::byte> message_from(std::span<const ReceiveMessage> receives, int peer);

}  // namespace swath
