// Finds the OSD of an object of a pool. librados does not report where it places objects, so the monitor is queried,
// from time to time, for one object of each placement group.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "store/background.h"
#include "store/rados/library.h"

namespace swath {

class RadosPlacement {
 public:
  RadosPlacement(rados_t cluster, std::string pool);

  // The known OSD, without a wait; unknown or outdated ones are queried in the background.
  std::optional<int> known_osd_of(const std::string& object);
  // The same, but queries an unknown one now. Nullopt if the cluster does not answer.
  std::optional<int> osd_of(const std::string& object);
  // Queries the monitor; used for messages.
  std::optional<int> ask(const std::string& object);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct KnownServer {
    int osd;
    Time asked_at;
  };

  // The placement group of an object; nullopt if the number of groups is unknown, or if the pool uses another hash.
  std::optional<uint32_t> group_of(const std::string& object) const;
  std::optional<uint32_t> ask_for_groups() const;
  void ask_in_background(const std::string& object, uint32_t group);
  void ask_for_all_wanted();

  const rados_t cluster_;
  const std::string pool_;

  mutable std::mutex mutex_;  // guards the members below
  std::optional<uint32_t> groups_;
  Time groups_asked_at_;
  bool is_hashed_otherwise_ = false;
  std::map<uint32_t, KnownServer> known_;
  std::map<uint32_t, std::string> wanted_;  // groups to query, each with one of its objects
  bool is_asking_ = false;
  bool is_closing_ = false;

  // Last, so that its thread ends before what it uses.
  struct Asker {
    explicit Asker(RadosPlacement& of) : owner(of) {}
    ~Asker();
    Asker(const Asker&) = delete;
    Asker& operator=(const Asker&) = delete;
    RadosPlacement& owner;
    Background background;
  } asker_{*this};
};

}  // namespace swath
