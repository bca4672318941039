// How far the variables of a file are that grow along an unlimited dimension. Pure: the same on all ranks.
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
  // All variables of a file are as long as their dimensions: what nobody has written of one that was left behind reads
  // as the fill value, and counts as written.
  explicit Records(const formats::Contents& contents);

  bool follows(const std::string& variable) const { return growing_.contains(variable); }
  // Rows that all ranks have written of a variable.
  int64_t rows(const std::string& variable) const { return growing_.at(variable).rows; }
  // The path of the dimension that a variable grows along, "ocean/time"; ":ocean/t" where it has no name.
  const std::string& dimension_of(const std::string& variable) const { return growing_.at(variable).dimension; }
  // Rows of a dimension that every reader sees.
  bool is_empty() const { return growing_.empty(); }
  int64_t length(const std::string& dimension) const { return lengths_.at(dimension).seen; }

  // Counts the rows of a variable, too, and of all others that have its first dimension.
  void follow(const formats::Contents& contents, const std::string& variable);
  // The same of a new variable: append writes the first record that is not synced yet.
  void begin(const formats::Contents& contents, const std::string& variable);
  // All variables are as long as their dimensions, for every reader.
  void synced();
  // A variable that has so many rows was written to: none of them is filled any more.
  void has_rows(const std::string& variable, int64_t rows);
  // A variable has so many rows: the new length of its dimension, where that grows.
  std::optional<int64_t> wrote(const std::string& variable, int64_t rows);
  // The same without a look at the dimension: rows are taken back, or were filled.
  void set_rows(const std::string& variable, int64_t rows);
  void set_length(const std::string& dimension, int64_t rows) { lengths_.at(dimension).seen = rows; }
  // The dimensions of which some variable has rows that others, or readers, have not, and how many.
  std::vector<std::pair<std::string, int64_t>> unfinished() const;
  // The variables that grow along a dimension.
  std::vector<std::string> along(const std::string& dimension) const;
  // Those of them that have fewer rows.
  std::vector<std::string> behind(const std::string& dimension, int64_t rows) const;

 private:
  struct Growing {
    std::string dimension;
    int64_t rows = 0;
  };
  struct Length {
    int64_t seen = 0;    // by every reader
    int64_t synced = 0;  // when the file was opened, or synced last: what is appended since belongs to the same records
    std::map<int64_t, int64_t> variables;  // how many have so many rows
  };

  void add(const std::string& variable, const std::string& dimension, int64_t length);

  std::map<std::string, Growing> growing_;  // by variable
  std::map<std::string, Length> lengths_;   // by dimension
};

}  // namespace swath
