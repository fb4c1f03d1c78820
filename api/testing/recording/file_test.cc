#include "api/testing/recording/file.h"

#include <fstream>
#include <string>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

std::string Path(const std::string& name) { return testing::TempDir() + name; }

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Section ASection(int number, int lines) {
  Section section;
  section.begin = Json{{"section", "s" + std::to_string(number)}};
  for (int i = 0; i < lines; ++i) {
    section.lines.push_back(Json{{"call", "GetDeviceCount"}, {"value", number * 1000 + i}});
  }
  section.end = Json{{"end", "s" + std::to_string(number)}};
  return section;
}

void WriteSections(const std::string& path) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto writer, RecordingWriter::Create(path));
  ASSERT_THAT(writer->Write(Json{{"recording", 1}, {"backend", "test"}}), IsOk());
  ASSERT_THAT(writer->Write(ASection(1, 3)), IsOk());
  ASSERT_THAT(writer->Write(ASection(2, 4000)), IsOk());
  ASSERT_THAT(writer->Close(), IsOk());
}

void ExpectSections(const std::string& path) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto reader, RecordingReader::Open(path));
  EXPECT_EQ(reader->header().at("backend"), "test");
  for (const auto& [number, lines] : {std::pair(1, 3), std::pair(2, 4000)}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const auto section, reader->Next());
    ASSERT_TRUE(section.has_value());
    const Section expected = ASection(number, lines);
    EXPECT_EQ(section->begin, expected.begin);
    EXPECT_TRUE(section->lines == expected.lines);
    EXPECT_EQ(section->end, expected.end);
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto nothing, reader->Next());
  EXPECT_FALSE(nothing.has_value());
}

TEST(RecordingFileTest, SectionsComeBack) {
  WriteSections(Path("plain.jsonl"));
  ExpectSections(Path("plain.jsonl"));
}

TEST(RecordingFileTest, PackedSectionsComeBackAndAreSmall) {
  WriteSections(Path("plain2.jsonl"));
  WriteSections(Path("packed.jsonl.zst"));
  ExpectSections(Path("packed.jsonl.zst"));
  EXPECT_LT(20 * ReadText(Path("packed.jsonl.zst")).size(), ReadText(Path("plain2.jsonl")).size());
}

TEST(RecordingFileTest, AnOldFileStaysUntilTheNewOneIsWhole) {
  const std::string path = Path("old.jsonl");
  WriteText(path, "old");
  {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const auto given_up, RecordingWriter::Create(path));
    ASSERT_THAT(given_up->Write(Json{{"recording", 1}}), IsOk());
  }
  EXPECT_EQ(ReadText(path), "old");
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto writer, RecordingWriter::Create(path));
  ASSERT_THAT(writer->Write(Json{{"recording", 1}}), IsOk());
  EXPECT_EQ(ReadText(path), "old");
  ASSERT_THAT(writer->Close(), IsOk());
  EXPECT_EQ(ReadText(path), "{\"recording\":1}\n");
}

TEST(RecordingFileTest, AFullDiskIsAnError) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto writer, RecordingWriter::Create("/dev/full"));
  writer->Write(Json{{"recording", 1}}).IgnoreError();  // may be kept in memory
  EXPECT_THAT(std::string(writer->Close().message()), HasSubstr("cannot write /dev/full"));
}

TEST(RecordingFileTest, ACutFileSaysSo) {
  WriteSections(Path("whole.jsonl.zst"));
  const std::string text = ReadText(Path("whole.jsonl.zst"));
  WriteText(Path("cut.jsonl.zst"), text.substr(0, text.size() - 10));
  absl::Status status;
  auto reader = RecordingReader::Open(Path("cut.jsonl.zst"));
  status = reader.status();
  while (status.ok()) {
    const auto section = (*reader)->Next();
    status = section.status();
    if (status.ok() && !section->has_value()) break;
  }
  EXPECT_THAT(std::string(status.message()), HasSubstr("cut.jsonl.zst: the file ends too early"));
}

TEST(RecordingFileTest, WhatIsNoRecordingIsRefusedWithTheLine) {
  const auto error_of = [](const std::string& text) {
    WriteText(Path("wrong.jsonl"), text);
    auto reader = RecordingReader::Open(Path("wrong.jsonl"));
    if (!reader.ok()) return std::string(reader.status().message());
    const auto section = (*reader)->Next();
    return std::string(section.status().message());
  };
  const std::string header = "{\"recording\":1}\n";
  EXPECT_THAT(error_of(""), HasSubstr("line 1 is not {\"recording\": 1"));
  EXPECT_THAT(error_of("{\"recording\":2}\n"), HasSubstr("or a newer one"));
  EXPECT_THAT(error_of("hello\n"), HasSubstr("line 1 is not a JSON object: hello"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), HasSubstr("(it is nested more than 64 deep)"));
  EXPECT_THAT(error_of("{\"recording\":1e400}\n"), HasSubstr("number overflow"));
  EXPECT_THAT(error_of(header + "{\"call\":\"Map\"}\n"), HasSubstr("line 2: a call before"));
  EXPECT_THAT(error_of(header + "{\"section\":\"a\"}\n[1]\n"), HasSubstr("line 3 is not a JSON"));
  EXPECT_THAT(error_of(header + "{\"section\":\"a\"}\n{\"section\":\"b\"}\n"),
              HasSubstr("line 3: a section begins in another"));
  EXPECT_EQ(RecordingReader::Open(Path("absent.jsonl")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(RecordingWriter::Create("/proc/nope/x.jsonl").status().message()),
              HasSubstr("cannot write /proc/nope/x.jsonl"));
}

// As where a process died while it recorded.
TEST(RecordingFileTest, ASectionWithoutEndIsTheLast) {
  WriteText(Path("dead.jsonl"),
            "{\"recording\":1}\n{\"section\":\"a\"}\n{\"call\":\"GetDeviceCount\"}\n");
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto reader, RecordingReader::Open(Path("dead.jsonl")));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto section, reader->Next());
  ASSERT_TRUE(section.has_value());
  EXPECT_EQ(section->lines.size(), 1u);
  EXPECT_TRUE(section->end.is_null());
}

}  // namespace
}  // namespace twinmmu
