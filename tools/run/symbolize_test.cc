// Places get their names, from addr2line where there is one, and else from the file itself.

#include "tools/run/symbolize.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {

// With a name that is known; and an address in it.
[[gnu::noinline]] const void* PlaceInThisFunction() { return __builtin_return_address(0); }

[[gnu::noinline]] uint64_t OffsetOfThisCall() {
  const void* const address = PlaceInThisFunction();
  Dl_info info;
  link_map* map = nullptr;
  dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
  return reinterpret_cast<uintptr_t>(address) - map->l_addr;
}

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ThisProgram() {
  char path[PATH_MAX] = {};
  return realpath("/proc/self/exe", path);
}

// PATH is a folder with such an addr2line; with none if the script is empty.
class SymbolizeTest : public ::testing::Test {
 protected:
  SymbolizeTest() : folder_(::testing::TempDir() + "/symbolizeXXXXXX"), path_(getenv("PATH")) {
    if (mkdtemp(folder_.data()) == nullptr) ADD_FAILURE() << "no folder " << folder_;
  }
  ~SymbolizeTest() override { setenv("PATH", path_.c_str(), 1); }

  void UseAddr2line(const std::string& script) {
    const std::string program = folder_ + "/addr2line";
    if (!script.empty()) {
      std::ofstream(program) << "#!/bin/bash\n" << script;
      chmod(program.c_str(), 0755);
    }
    setenv("PATH", folder_.c_str(), 1);
  }
  static libcuda::Site SiteIn(const std::string& module, uint64_t offset) {
    libcuda::Site site;
    site.address = 1;
    site.module = module;
    site.offset = offset;
    return site;
  }

  std::string folder_;
  const std::string path_;
};

TEST_F(SymbolizeTest, FindsTheFunctionInTheSymbolTable) {
  EXPECT_EQ(FunctionAt(ThisProgram(), OffsetOfThisCall()), "twinmmu::OffsetOfThisCall()");
  EXPECT_EQ(FunctionAt(ThisProgram(), 0), "");
  EXPECT_EQ(FunctionAt("/nonexistent", 100), "");
  EXPECT_EQ(FunctionAt("/proc/self/cmdline", 100), "");
}

// A file that is cut off, or whose bytes are anything, is no harm.
TEST_F(SymbolizeTest, ReadsAnyFile) {
  std::stringstream whole;
  whole << std::ifstream(ThisProgram(), std::ios::binary).rdbuf();
  const std::string bytes = whole.str();
  const std::string path = folder_ + "/file";
  for (int i = 1; i < 20; ++i) {
    std::string broken = bytes.substr(0, bytes.size() / 20 * static_cast<size_t>(i));
    std::ofstream(path, std::ios::binary) << broken;
    FunctionAt(path, OffsetOfThisCall());
  }
  for (size_t place = 0x20; place < 0x40; ++place) {
    std::string broken = bytes;
    broken[place] = static_cast<char>(broken[place] ^ 0xff);
    std::ofstream(path, std::ios::binary) << broken;
    FunctionAt(path, OffsetOfThisCall());
  }
}

// Ten thousand tables of symbols, each as large as the file.
TEST_F(SymbolizeTest, LooksAtNoMoreSymbolsThanTheFileHas) {
  constexpr uint16_t kTables = 10'000;
  constexpr size_t kSize = size_t{16} << 20;
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof(header);
  header.e_shnum = kTables;
  Elf64_Shdr table = {};
  table.sh_type = SHT_SYMTAB;
  table.sh_size = kSize;
  std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
  for (int i = 0; i < kTables; ++i)
    file.append(reinterpret_cast<const char*>(&table), sizeof(table));
  file.resize(kSize);
  const std::string path = folder_ + "/tables";
  std::ofstream(path, std::ios::binary) << file;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(FunctionAt(path, 1), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(SymbolizeTest, TakesLinesFromAddr2line) {
  UseAddr2line(R"sh(
    [[ $1 == -aCfie && $2 == /opt/libpool.so && $3 == 0x1233 && $4 == 0xff && $# == 4 ]] || exit 1
    echo 0x1233; echo "Pool::Grow(int)"; echo "/src/pool.cc:42 (discriminator 3)"
    echo 0xff; echo "??"; echo "??:0"
  )sh");
  libcuda::Site known = SiteIn("/opt/libpool.so", 0x1234);
  libcuda::Site unknown = SiteIn("/opt/libpool.so", 0x100);
  unknown.symbol = "exported+0x10";
  Symbolize({&known, &unknown});
  EXPECT_EQ(known.symbol, "Pool::Grow(int)");
  EXPECT_EQ(known.source, "/src/pool.cc:42");
  EXPECT_EQ(unknown.symbol, "exported+0x10");
  EXPECT_EQ(unknown.source, "");
}

// What is inlined is the program's own, unless it is a template of the toolkit.
TEST_F(SymbolizeTest, TakesTheLineOfTheProgram) {
  UseAddr2line(R"sh(
    echo 0x1233; echo "cudaError cudaMalloc<int>(int**, unsigned long)"
    echo "/usr/local/cuda/include/cuda_runtime.h:679"
    echo "Pool::Grow(int)"; echo "/src/pool.cc:42"; echo main; echo "/src/main.cc:7"
    echo 0xff; echo "cudaError cudaMalloc<int>(int**, unsigned long)"
    echo "/usr/local/cuda/include/cuda_runtime.h:679"
  )sh");
  libcuda::Site inlined = SiteIn("/opt/libpool.so", 0x1234);
  libcuda::Site itself = SiteIn("/opt/libpool.so", 0x100);
  Symbolize({&inlined, &itself});
  EXPECT_EQ(inlined.symbol, "Pool::Grow(int)");
  EXPECT_EQ(inlined.source, "/src/pool.cc:42");
  EXPECT_EQ(itself.source, "/usr/local/cuda/include/cuda_runtime.h:679");
}

// A function without a line: the line is left out.
TEST_F(SymbolizeTest, TakesFunctionsWithoutLines) {
  UseAddr2line("echo 0x1233; echo main; echo ??:?");
  libcuda::Site site = SiteIn("/opt/libpool.so", 0x1234);
  Symbolize({&site});
  EXPECT_EQ(site.symbol, "main");
  EXPECT_EQ(site.source, "");
}

// Missing, failing, or writing something else.
TEST_F(SymbolizeTest, DoesWithoutAddr2line) {
  for (const char* script : {"", "exit 1", "echo oops", "kill -9 $$"}) {
    UseAddr2line(script);
    libcuda::Site site = SiteIn(ThisProgram(), OffsetOfThisCall());
    libcuda::Site nowhere;
    Symbolize({&site, &nowhere});
    EXPECT_EQ(site.symbol, "twinmmu::OffsetOfThisCall()") << script;
    EXPECT_EQ(site.source, "");
    EXPECT_EQ(nowhere.symbol, "");
  }
}

}  // namespace
}  // namespace twinmmu
