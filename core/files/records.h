// Counts the rows of variables that grow along unlimited dimensions. No communication: the counts are the same on all
// ranks.
//
//     Records records(contents);               // t and u along time, which has 5 rows
//     records.wrote("t", 6);                   // nothing: u has not written its sixth yet
//     records.wrote("u", 6);                   // 6: time has six rows now
//     records.begin(contents, "v");            // a new variable along time is 6 long; append writes its row 5 first
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/contents.h"

namespace swath {

class Records {
 public:
  // At opening, every variable counts as long as its dimension: rows that were never written read as the fill value.
  explicit Records(const formats::Contents& contents);

  bool follows(const std::string& variable) const { return growing_.contains(variable); }
  // The rows of a variable that are written completely, by all ranks.
  int64_t rows(const std::string& variable) const { return growing_.at(variable).rows; }
  // The path of the dimension that a variable grows along, "ocean/time"; ":ocean/t" if it has no name.
  const std::string& dimension_of(const std::string& variable) const { return growing_.at(variable).dimension; }
  // True if no variable grows.
  bool is_empty() const { return growing_.empty(); }
  int64_t length(const std::string& dimension) const { return lengths_.at(dimension).seen; }

  // Also counts the rows of this variable, and of all variables with the same first dimension.
  void follow(const formats::Contents& contents, const std::string& variable);
  // The same for a new variable: its first append writes the first record that is not synced yet.
  void begin(const formats::Contents& contents, const std::string& variable);
  // To be called at a sync: every reader sees the current lengths from now on.
  void synced();
  // To be called when a variable with `rows` rows was written to: none of these rows may be filled later.
  void has_rows(const std::string& variable, int64_t rows);
  // To be called when a variable got `rows` rows. Returns the new length of its dimension if that has grown.
  std::optional<int64_t> wrote(const std::string& variable, int64_t rows);
  // Sets the rows of a variable without checking its dimension: rows were removed, or filled.
  void set_rows(const std::string& variable, int64_t rows);
  void set_length(const std::string& dimension, int64_t rows) { lengths_.at(dimension).seen = rows; }
  // Dimensions of which some variable has rows that other variables or readers do not have, and their new lengths.
  std::vector<std::pair<std::string, int64_t>> unfinished() const;
  // The variables with this first dimension.
  std::vector<std::string> along(const std::string& dimension) const;
  // Those that have fewer than `rows` rows.
  std::vector<std::string> behind(const std::string& dimension, int64_t rows) const;

 private:
  struct Growing {
    std::string dimension;
    int64_t rows = 0;
  };
  struct Length {
    int64_t seen = 0;                      // rows that every reader sees
    int64_t synced = 0;                    // rows at the last sync, or at opening
    std::map<int64_t, int64_t> variables;  // number of variables by number of rows
  };

  void add(const std::string& variable, const std::string& dimension, int64_t length);

  std::map<std::string, Growing> growing_;  // by variable
  std::map<std::string, Length> lengths_;   // by dimension
};

}  // namespace swath
