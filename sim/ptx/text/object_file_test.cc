#include "sim/ptx/text/object_file.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::ptx {
namespace {

using ::testing::ElementsAre;

template <typename Value>
std::string BytesOf(const Value& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string FatBinary(const std::string& payload) {
  const uint64_t bytes = payload.size();
  return std::string("\x50\xed\x55\xba\x01\x00\x10\x00", 8) + BytesOf(bytes) + payload;
}

// With a section of that name and content, and that of the names.
std::string Object(const std::string& name, const std::string& content) {
  const std::string names = absl::StrCat(std::string(1, '\0'), name, std::string(1, '\0'));
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof(header);
  header.e_shnum = 2;
  header.e_shstrndx = 1;
  Elf64_Shdr sections[2] = {};
  sections[0].sh_name = 1;
  sections[0].sh_offset = sizeof(header) + sizeof(sections);
  sections[0].sh_size = content.size();
  sections[1].sh_offset = sections[0].sh_offset + content.size();
  sections[1].sh_size = names.size();
  return absl::StrCat(BytesOf(header), BytesOf(sections), content, names);
}

std::string Member(const std::string& name, const std::string& content) {
  std::string header(60, ' ');
  header.replace(0, name.size(), name);
  const std::string size = absl::StrCat(content.size());
  header.replace(48, size.size(), size);
  header.replace(58, 2, "`\n");
  return absl::StrCat(header, content, content.size() % 2 == 0 ? "" : "\n");
}

TEST(ObjectFileTest, AnObjectHasTheFatBinariesOfItsSection) {
  const std::string first = FatBinary("one");
  const std::string second = FatBinary("second");
  const std::string object =
      Object("__nv_relfatbin", first + std::string(5, '\0') + second + std::string(2, '\0'));
  const auto found = FatBinariesInObject(object);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ElementsAre(first, second));
}

TEST(ObjectFileTest, AnObjectOfAnotherCompilerHasNone) {
  for (const char* name : {".text", "__nv_relfatbins", "__nv_relfat"}) {
    const std::string object = Object(name, FatBinary("one"));
    EXPECT_EQ(FatBinariesInObject(object).status().code(), absl::StatusCode::kNotFound) << name;
  }
}

TEST(ObjectFileTest, ALibraryHasThoseOfItsObjects) {
  const std::string first = FatBinary("one");
  const std::string second = FatBinary("second");
  const std::string library = absl::StrCat("!<arch>\n", Member("/", "abc"), Member("//", "names"),
                                           Member("a.o/", Object("__nv_relfatbin", first)),
                                           Member("b.o/", Object(".text", "x")),
                                           Member("/12", Object("__nv_relfatbin", second)));
  const auto found = FatBinariesInLibrary(library);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ElementsAre(first, second));
}

TEST(ObjectFileTest, WhatIsCutOffIsDamagedOrHasNone) {
  const std::string object = Object("__nv_relfatbin", FatBinary("one"));
  const std::string library = absl::StrCat("!<arch>\n", Member("a.o/", object));
  ASSERT_TRUE(FatBinariesInObject(object).ok());
  ASSERT_TRUE(FatBinariesInLibrary(library).ok());
  for (size_t size = 0; size + 2 < object.size(); ++size) {
    EXPECT_FALSE(FatBinariesInObject(object.substr(0, size)).ok()) << size;
  }
  for (size_t size = 0; size + 2 < library.size(); ++size) {
    EXPECT_FALSE(FatBinariesInLibrary(library.substr(0, size)).ok()) << size;
  }
}

TEST(ObjectFileTest, OneIsNotTheOther) {
  const std::string object = Object("__nv_relfatbin", FatBinary("one"));
  EXPECT_EQ(FatBinariesInLibrary(object).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FatBinariesInObject("!<arch>\n").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FatBinariesInObject(FatBinary("one")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace twinmmu::ptx
