#include "cli/table.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

Table jobs() {
  using enum Column::Align;
  Table table({{.title = "NAME", .cut = true},
               {.title = "OWNER", .spare = 2},
               {.title = "QUEUE", .spare = 1},
               {.title = "ITEMS", .align = right}});
  table.add({"a-job-with-a-long-name", "somebody", "night", "1,000"});
  table.add({"b", "", "default", "7"});
  return table;
}

TEST(Table, ColumnsAreAsWideAsWhatStandsInThem) {
  EXPECT_EQ(jobs().text(0),
            "NAME                    OWNER     QUEUE    ITEMS\n"
            "a-job-with-a-long-name  somebody  night    1,000\n"
            "b                       -         default      7\n");
}

TEST(Table, NamesAreCutBeforeColumnsGo) {
  EXPECT_EQ(jobs().text(40),
            "NAME           OWNER     QUEUE    ITEMS\n"
            "a-job-with-a…  somebody  night    1,000\n"
            "b              -         default      7\n");
}

TEST(Table, WhatMattersLeastGoesFirst) {
  EXPECT_EQ(jobs().text(30),
            "NAME           QUEUE    ITEMS\n"
            "a-job-with-a…  night    1,000\n"
            "b              default      7\n");
  EXPECT_EQ(jobs().text(20),
            "NAME          ITEMS\n"
            "a-job-with-…  1,000\n"
            "b                 7\n");
}

TEST(Table, NothingThatATerminalWouldActOnIsShown) {
  Table table({{.title = "NAME"}, {.title = "DETAIL"}});
  table.add({"x\033[31m", "one\ntwo"});
  EXPECT_EQ(table.text(0), "NAME  DETAIL\nx     one two\n");
}

}  // namespace
}  // namespace drover
