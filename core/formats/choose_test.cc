#include "formats/choose.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace swath::formats {
namespace {

std::vector<Variable> variables(const std::vector<std::string>& names) {
  std::vector<Variable> found;
  for (const std::string& name : names) found.push_back({.path = name});
  return found;
}

std::string refusal(const std::vector<Variable>& there, const std::optional<std::string>& wanted) {
  try {
    choose_variable("a.nc", there, wanted);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kArgument);
    return error.what();
  }
  return "none";
}

TEST(ChooseTest, AVariableIsMeantByItsNameWithOrWithoutSlashes) {
  EXPECT_EQ(choose_variable("a.nc", variables({"t", "ocean/t"}), "/ocean/t/"), "ocean/t");
  EXPECT_EQ(refusal(variables({"t", "p"}), "x"), "a.nc: there is no variable 'x'; there are t, p");
  EXPECT_EQ(refusal(variables({}), "x"), "a.nc: there is no variable 'x'; there are none");
}

TEST(ChooseTest, NoneMeansTheOnlyOneThatDescribesNoOther) {
  std::vector<Variable> there = variables({"time", "t"});
  EXPECT_EQ(refusal(there, std::nullopt), "a.nc: name one of its variables with variable=; there are time, t");
  there[0].is_coordinate = true;
  EXPECT_EQ(choose_variable("a.nc", there, std::nullopt), "t");
  there[1].is_coordinate = true;
  EXPECT_EQ(refusal(there, std::nullopt), "a.nc: name one of its variables with variable=; there are time, t");
}

TEST(ChooseTest, SimilarNamesComeFirstAndTheOthersAreCounted) {
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back("qq" + std::to_string(i));
  names.emplace_back("temperature");
  const std::string text = refusal(variables(names), "temprature");
  EXPECT_TRUE(text.starts_with("a.nc: there is no variable 'temprature'; there are temperature, qq0, qq1, ")) << text;
  EXPECT_TRUE(text.ends_with("qq18 and 11 more")) << text;
}

// The expected names are those of difflib.get_close_matches(wanted, names, cutoff=0.4) in Python 3.11.
TEST(ChooseTest, NamesAreAsSimilarAsPythonFindsThem) {
  const std::vector<std::string> names = {"ape", "apple", "peach", "puppy"};
  EXPECT_EQ(similar_names("appel", names), (std::vector<std::string>{"apple", "ape", "puppy"}));
  EXPECT_EQ(similar_names("größe", {"grösse", "gross", "x"}), (std::vector<std::string>{"grösse", "gross"}));
  EXPECT_EQ(similar_names("ab", {"ba", "ab", "aab"}), (std::vector<std::string>{"ab", "aab", "ba"}));
}

TEST(ChooseTest, VariablesThatDescribeOthersAreNamedByAttributesOfCf) {
  std::set<std::string> names;
  add_described_by({{"coordinates", "lat lon"}, {"bounds", "time_bnds"}, {"units", "K"}}, names);
  EXPECT_EQ(names, (std::set<std::string>{"lat", "lon", "time_bnds"}));
}

}  // namespace
}  // namespace swath::formats
