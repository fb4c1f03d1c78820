// What a report tells of a process, to that process and to another one, however it ended.

#include "sim/libcuda/report/report.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/base/caller.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/report/sites.h"

namespace twinmmu::libcuda {

// Lets a matcher name what it looks for.
bool operator==(const CallTotal& a, const CallTotal& b) {
  return a.call == b.call && a.calls == b.calls && a.failures == b.failures;
}
std::ostream& operator<<(std::ostream& out, const CallTotal& total) {
  return out << total.call << " " << total.calls << " " << total.failures;
}

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kCalls[] = {"cuMemMap", "cuMemUnmap", "cuMemAddressReserve", "cuMemCreate"};
enum : size_t { kMap, kUnmap, kReserve, kCreate };

constexpr DeviceAddress kWindow(0x7000'0000'0000);
constexpr AllocationHandle kHandle(0x1'0000'0001);

AddressRange Range(uint64_t granule, uint64_t granules = 1) {
  return AddressRange{kWindow + MiB(2 * granule), MiB(2 * granules), Bytes(0)};
}

Diagnostic Wrong(DiagnosticKind kind) {
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.severity = InfoOf(kind).severity;
  diagnostic.call = "cuMemUnmap";
  diagnostic.message = "it was gone";
  return diagnostic;
}

// Code that has an address of its own.
[[gnu::noinline]] const void* HereNow() { return __builtin_return_address(0); }

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    std::string pattern = ::testing::TempDir() + "/reportXXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  static ReportOptions Options() {
    ReportOptions options;
    options.calls = kCalls;
    return options;
  }
  ReportOptions InFolder() const {
    ReportOptions options = Options();
    options.folder = folder_;
    return options;
  }
  static ProcessReport Read(const Report& report) {
    EXPECT_NE(report.memory(), nullptr);
    return ReadReport(report.memory()->data(), report.memory()->layout().size()).value();
  }
  // The files of the folder, by name.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    DIR* const folder = opendir(folder_.c_str());
    while (const dirent* entry = readdir(folder)) {
      if (entry->d_name[0] != '.') files.push_back(folder_ + "/" + entry->d_name);
    }
    closedir(folder);
    std::sort(files.begin(), files.end());
    return files;
  }
  static absl::StatusOr<ProcessReport> ReadFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info = {};
    fstat(file, &info);
    const auto size = static_cast<size_t>(info.st_size);
    void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    absl::StatusOr<ProcessReport> report = ReadReport(static_cast<const char*>(memory), size);
    munmap(memory, size);
    return report;
  }
  // What a child leaves that runs body(report), and ends as that says.
  ProcessReport Left(const std::function<void(Report&)>& body, int* status = nullptr) {
    const pid_t child = fork();
    if (child == 0) {
      Report report(InFolder(), Profile::ReferenceH200());
      report.SetWindow(kWindow);
      body(report);
      _exit(0);
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    if (status != nullptr) *status = ended;
    EXPECT_THAT(Files(), SizeIs(1));
    const absl::StatusOr<ProcessReport> read = ReadFile(Files().front());
    EXPECT_THAT(read, IsOk());
    unlink(Files().front().c_str());
    return *read;
  }

  std::string folder_;
};

TEST_F(ReportTest, CountsCallsAndFailures) {
  Report report(Options(), Profile::ReferenceH200());
  for (int i = 0; i < 5; ++i) {
    ReportedCall call(report, kMap, HereNow());
    if (i < 3) call.Succeed();
  }
  ReportedCall(report, kCreate, HereNow()).Succeed();
  const ProcessReport read = Read(report);
  EXPECT_THAT(read.calls, ElementsAre(CallTotal{"cuMemMap", 5, 2}, CallTotal{"cuMemCreate", 1, 0}));
  EXPECT_EQ(read.pid, getpid());
  EXPECT_EQ(read.parent, getppid());
  EXPECT_THAT(read.program, EndsWith("report_test"));
  EXPECT_THAT(read.running, IsEmpty());
  EXPECT_FALSE(read.finished);
  EXPECT_EQ(read.lost_objects, 0u);
  EXPECT_EQ(read.lost_records, 0u);
}

// More threads than there are rows at once; then more, one after the other.
TEST_F(ReportTest, CountsTheCallsOfAllThreads) {
  Report report(Options(), Profile::ReferenceH200());
  constexpr int kThreads = 300;
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2; ++round) {
        for (int n = 0; n < 100; ++n) ReportedCall(report, kMap, HereNow());
        if (round == 0) ++ready;
        while (ready < kThreads) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 300; ++i)
    std::thread([&] { ReportedCall(report, kMap, HereNow()).Succeed(); }).join();
  EXPECT_THAT(Read(report).calls, ElementsAre(CallTotal{"cuMemMap", 60300, 60000}));
}

TEST_F(ReportTest, TellsWhatIsReservedAndWhere) {
  Report report(Options(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  report.Begin(kReserve, HereNow());
  report.AddReservation(Range(1, 4));
  report.AddReservation(Range(7, 2));
  const Report::Reservation found = report.FindReservation(Range(7).base);
  report.RemoveReservation(Range(7).base, found);
  report.End(false);
  const ProcessReport read = Read(report);
  ASSERT_THAT(read.alive, SizeIs(1));
  EXPECT_EQ(read.alive[0].kind, DiagnosticKind::kLeakedReservation);
  EXPECT_EQ(read.alive[0].range, Range(1, 4));
  EXPECT_EQ(read.alive[0].count, 1u);
  EXPECT_EQ(read.alive[0].size, MiB(8));
  EXPECT_EQ(read.alive[0].place.call, "cuMemAddressReserve");
  EXPECT_THAT(read.alive[0].place.site.module, EndsWith("report_test"));
}

// Freed by one thread; before that one tells of it, another thread gets the same addresses.
TEST_F(ReportTest, KeepsAReservationThatCameInBetween) {
  Report report(Options(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  report.Begin(kReserve, HereNow());
  report.AddReservation(Range(1, 4));
  const Report::Reservation found = report.FindReservation(Range(1).base);
  report.AddReservation(Range(1, 4));
  report.RemoveReservation(Range(1).base, found);
  EXPECT_THAT(Read(report).alive, SizeIs(1));
  report.RemoveReservation(Range(1).base, report.FindReservation(Range(1).base));
  EXPECT_THAT(Read(report).alive, IsEmpty());
  EXPECT_EQ(report.FindReservation(Range(1).base), 0u);
}

// Those that begin in the range go, as cuMemUnmap takes it.
TEST_F(ReportTest, TellsWhatIsMapped) {
  Report report(Options(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  report.Begin(kMap, HereNow());
  const auto mapped = [&] {
    const ProcessReport read = Read(report);
    return read.alive.empty() ? 0 : read.alive[0].count;
  };
  for (uint64_t granule = 0; granule < 20; granule += 2) {
    report.AddMapping(Range(granule, 2), kHandle);
  }
  EXPECT_EQ(mapped(), 10u);
  report.RemoveMappings(Range(4, 6));
  EXPECT_EQ(mapped(), 7u);
  report.RemoveMappings({Range(10).base, Bytes(~uint64_t{0}), Bytes(0)});  // wraps
  report.RemoveMappings({kWindow - MiB(2), MiB(2), Bytes(0)});
  EXPECT_EQ(mapped(), 7u);
  report.RemoveMappings(
      {DeviceAddress(~uint64_t{0}), Range(2).base - DeviceAddress(~uint64_t{0}), Bytes(0)});
  EXPECT_EQ(mapped(), 6u);
  report.RemoveMappings({Range(10).base, TiB(100), Bytes(0)});
  EXPECT_EQ(mapped(), 1u);
  const ProcessReport read = Read(report);
  EXPECT_EQ(read.alive[0].kind, DiagnosticKind::kLeakedMapping);
  EXPECT_EQ(read.alive[0].range, Range(2, 2));
  EXPECT_EQ(read.alive[0].handle, kHandle);
  EXPECT_EQ(read.alive[0].place.call, "cuMemMap");
}

TEST_F(ReportTest, TellsWhatIsAllocated) {
  Report report(Options(), Profile::ReferenceH200());
  report.Begin(kCreate, HereNow());
  const AllocationHandle later(0x2'0000'0001);  // in the place of the first one
  report.AddAllocation(kHandle, MiB(4));
  report.AddReference(kHandle);
  report.RemoveReference(kHandle);
  ASSERT_THAT(Read(report).alive, SizeIs(1));
  EXPECT_EQ(Read(report).alive[0].references, 1u);
  EXPECT_EQ(Read(report).alive[0].retained.call, "cuMemCreate");
  report.RemoveReference(kHandle);
  EXPECT_THAT(Read(report).alive, IsEmpty());
  report.RemoveReference(kHandle);
  report.AddAllocation(later, MiB(6));
  report.RemoveReference(kHandle);
  const ProcessReport read = Read(report);
  ASSERT_THAT(read.alive, SizeIs(1));
  EXPECT_EQ(read.alive[0].kind, DiagnosticKind::kLeakedAllocation);
  EXPECT_EQ(read.alive[0].handle, later);
  EXPECT_EQ(read.alive[0].size, MiB(6));
  EXPECT_EQ(read.alive[0].references, 1u);
  EXPECT_EQ(read.alive[0].retained.call, "");
}

// With the place where it was made, as of memory.
TEST_F(ReportTest, TellsMulticastObjectsFromMemory) {
  Report report(Options(), Profile::ReferenceH200());
  report.Begin(kCreate, HereNow());
  report.AddAllocation(kHandle, MiB(4), AllocationKind::kMulticastObject);
  const ProcessReport read = Read(report);
  ASSERT_THAT(read.alive, SizeIs(1));
  EXPECT_EQ(read.alive[0].kind, DiagnosticKind::kLeakedMulticastObject);
  EXPECT_EQ(read.alive[0].handle, kHandle);
  EXPECT_EQ(read.alive[0].place.call, "cuMemCreate");
  EXPECT_NE(read.alive[0].place.site.address, 0u);
}

TEST_F(ReportTest, TellsWhatElseIsAlive) {
  Report report(Options(), Profile::ReferenceH200());
  report.Begin(kCreate, HereNow());
  for (const ObjectKind kind :
       {ObjectKind::kMemory, ObjectKind::kHostMemory, ObjectKind::kRegisteredMemory,
        ObjectKind::kStream, ObjectKind::kEvent, ObjectKind::kContext, ObjectKind::kArray,
        ObjectKind::kMipmappedArray, ObjectKind::kPool}) {
    report.AddObject(kind, 0x1000, Bytes(512), 1);
    report.AddObject(kind, 0x2000);
    report.RemoveObject(kind, 0x2000);
    report.RemoveObject(kind, 0x3000);
  }
  std::vector<std::pair<DiagnosticKind, uint64_t>> alive;
  for (const LiveObjects& objects : Read(report).alive) {
    alive.emplace_back(objects.kind, objects.count);
    EXPECT_EQ(objects.value, 0x1000u);
    EXPECT_EQ(objects.device, 1);
    EXPECT_EQ(objects.range, (AddressRange{DeviceAddress(0x1000), Bytes(512), Bytes(0)}));
  }
  EXPECT_THAT(
      alive, ElementsAre(
                 Pair(DiagnosticKind::kLeakedMemory, 1), Pair(DiagnosticKind::kLeakedHostMemory, 2),
                 Pair(DiagnosticKind::kLeakedStream, 1), Pair(DiagnosticKind::kLeakedEvent, 1),
                 Pair(DiagnosticKind::kLeakedContext, 1), Pair(DiagnosticKind::kLeakedArray, 2),
                 Pair(DiagnosticKind::kLeakedPool, 1)));
}

// A slot is used again; and what was added again in between stays.
TEST_F(ReportTest, RemovesTheOldestOfTheSameValue) {
  Report report(Options(), Profile::ReferenceH200());
  report.Begin(kCreate, HereNow());
  for (int i = 0; i < 1000; ++i) {
    report.AddObject(ObjectKind::kMemory, 0x1000, Bytes(i + 1));
    if (i > 0) report.RemoveObject(ObjectKind::kMemory, 0x1000);
  }
  const ProcessReport read = Read(report);
  ASSERT_THAT(read.alive, SizeIs(1));
  EXPECT_EQ(read.alive[0].size, Bytes(1000));
  EXPECT_EQ(report.memory()->header()->objects, 2u);
}

// Two places are two groups.
TEST_F(ReportTest, GroupsWhatIsAliveByPlace) {
  Report report(Options(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  for (uint64_t granule = 0; granule < 100; ++granule) {
    report.Begin(kMap, HereNow());
    report.AddMapping(Range(granule), kHandle);
  }
  report.Begin(kMap, HereNow());
  report.AddMapping(Range(500), kHandle);
  const ProcessReport read = Read(report);
  ASSERT_THAT(read.alive, SizeIs(2));
  EXPECT_EQ(read.alive[0].count, 100u);
  EXPECT_EQ(read.alive[0].size, MiB(200));
  EXPECT_EQ(read.alive[1].count, 1u);
  EXPECT_NE(read.alive[0].place.site.offset, read.alive[1].place.site.offset);
}

TEST_F(ReportTest, KeepsWhatIsWrongByKindAndPlace) {
  Report report(Options(), Profile::ReferenceH200());
  for (int i = 0; i < 1000; ++i) {
    report.Begin(kUnmap, HereNow());
    report.Add(Wrong(DiagnosticKind::kDoubleUnmap));
  }
  report.Begin(kUnmap, HereNow());
  report.Add(Wrong(DiagnosticKind::kDoubleRelease));
  report.Count(DiagnosticKind::kDoubleRelease);
  const ProcessReport read = Read(report);
  ASSERT_THAT(read.diagnostics, SizeIs(2));
  EXPECT_EQ(read.diagnostics[0].kind, DiagnosticKind::kDoubleUnmap);
  EXPECT_EQ(read.diagnostics[0].severity, Severity::kWarning);
  EXPECT_EQ(read.diagnostics[0].count, 256u);
  EXPECT_EQ(read.diagnostics[0].words, ToString(Wrong(DiagnosticKind::kDoubleUnmap)));
  EXPECT_THAT(read.diagnostics[0].json, HasSubstr("\"message\":\"it was gone\""));
  EXPECT_EQ(read.diagnostics[0].place.call, "cuMemUnmap");
  EXPECT_THAT(read.counts, ElementsAre(Pair(DiagnosticKind::kDoubleRelease, 2),
                                       Pair(DiagnosticKind::kDoubleUnmap, 1000)));
}

// From where earlier calls were made is kept as far as the diagnostic knows it.
TEST_F(ReportTest, KeepsThePlacesOfEarlierCalls) {
  Report report(Options(), Profile::ReferenceH200());
  report.Begin(kMap, HereNow());
  const void* const mapped_at = Report::Caller();
  report.Begin(kUnmap, HereNow());
  Diagnostic diagnostic = Wrong(DiagnosticKind::kDoubleUnmap);
  diagnostic.history = {{3, "cuMemMap mapped it", mapped_at}, {4, "cuMemUnmap unmapped it"}};
  report.Add(diagnostic);
  ProcessReport read = Read(report);
  ASSERT_THAT(read.diagnostics, SizeIs(1));
  ASSERT_THAT(read.diagnostics[0].history, SizeIs(1));
  EXPECT_EQ(read.diagnostics[0].history[3].address, reinterpret_cast<uintptr_t>(mapped_at));
  EXPECT_NE(read.diagnostics[0].history[3].module, "");
  EXPECT_THAT(SitesOf(read), Contains(&read.diagnostics[0].history[3]));
}

// As one wrapper calls them, or a loop over pointers to functions.
TEST_F(ReportTest, TellsFunctionsOfTheRuntimeApartThatAreCalledFromOneAddress) {
  Report report(Options(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  const void* const here = HereNow();
  std::vector<const void*> places;
  for (const char* function : {"getpid", "getppid", "getuid"}) {
    runtime_call = {here, static_cast<char*>(dlsym(RTLD_DEFAULT, function)) + 1};
    report.Begin(kUnmap, here);
    places.push_back(caller_of_call);
    EXPECT_EQ(Report::Caller(), here);
  }
  Diagnostic diagnostic = Wrong(DiagnosticKind::kDoubleUnmap);
  diagnostic.history = {{3, "cuMemMap mapped it", places[0]}, {4, "again", places[1]}};
  report.Add(diagnostic);
  const ProcessReport read = Read(report);
  runtime_call = {};
  ASSERT_THAT(read.diagnostics, SizeIs(1));
  ReportedDiagnostic told = read.diagnostics[0];
  EXPECT_EQ(told.history[3].function, "getpid");
  EXPECT_EQ(told.history[4].function, "getppid");
  EXPECT_EQ(told.place.site.function, "getuid");
  ASSERT_THAT(read.running, SizeIs(1));
  EXPECT_EQ(read.running[0].site.function, "getuid");
  for (const Site& site : {told.history[3], told.history[4], told.place.site}) {
    EXPECT_EQ(site.address, reinterpret_cast<uintptr_t>(here));
  }
}

// But where the program called the driver itself before.
TEST_F(ReportTest, TellsAFunctionOfTheRuntimeOfItsOwnCallsOnly) {
  Report report(Options(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  report.Begin(kMap, HereNow());
  const void* const direct = caller_of_call;
  runtime_call = {HereNow(), static_cast<char*>(dlsym(RTLD_DEFAULT, "getpid")) + 1};
  const std::string words = DescribePlace(direct);
  const std::string of_runtime = DescribePlace(PlaceOfCall(runtime_call));
  runtime_call = {};
  EXPECT_THAT(words, testing::Not(HasSubstr("getpid")));
  EXPECT_THAT(of_runtime, HasSubstr("getpid"));
}

TEST_F(ReportTest, APlaceIsInTheProgramOrInALibrary) {
  Dl_info info = {};
  const void* const in_library = dlsym(RTLD_DEFAULT, "getpid");
  ASSERT_NE(dladdr(in_library, &info), 0);
  char library[PATH_MAX] = "";
  char program[PATH_MAX] = "";
  ASSERT_NE(realpath(info.dli_fname, library), nullptr);
  ASSERT_NE(realpath("/proc/self/exe", program), nullptr);
  EXPECT_THAT(DescribePlace(in_library), StartsWith(std::string(library) + "\n"));
  EXPECT_THAT(DescribePlace(HereNow()), StartsWith(std::string(program) + "\n"));
}

// A history that is too long is left out; the rest is kept.
TEST_F(ReportTest, KeepsADiagnosticWithoutItsHistoryWhereThatIsTooLong) {
  Report report(Options(), Profile::ReferenceH200());
  report.Begin(kUnmap, HereNow());
  Diagnostic diagnostic = Wrong(DiagnosticKind::kDoubleUnmap);
  diagnostic.history.assign(10000, HistoryEntry{7, "cuMemMap mapped it"});
  report.Add(diagnostic);
  const ProcessReport read = Read(report);
  ASSERT_THAT(read.diagnostics, SizeIs(1));
  EXPECT_EQ(read.diagnostics[0].words, ToString(Wrong(DiagnosticKind::kDoubleUnmap)));
}

TEST_F(ReportTest, TellsOfInjectedFailuresAndWarnings) {
  ReportOptions options = Options();
  options.warnings = {"Look out.", "Mind the gap."};
  Report report(options, Profile::ReferenceH200());
  report.Begin(kMap, HereNow());
  for (uint64_t i = 1; i <= 5000; ++i) {
    report.Add(InjectedFailure{kMap, i, DriverCode::kOutOfMemory, "cuMemMap:every=1:2"});
  }
  const ProcessReport read = Read(report);
  EXPECT_EQ(read.failure_count, 5000u);
  ASSERT_GE(read.failures.size(), 1000u);
  EXPECT_EQ(read.failures[2].number, 3u);
  EXPECT_EQ(read.failures[2].code, DriverCode::kOutOfMemory);
  EXPECT_EQ(read.failures[2].rule, "cuMemMap:every=1:2");
  EXPECT_EQ(read.failures[2].place.call, "cuMemMap");
  EXPECT_THAT(read.warnings, ElementsAre("Look out.", "Mind the gap."));
}

// --- Other processes

// The parent reads what the child left, whether it returned or not.
TEST_F(ReportTest, SurvivesTheProcess) {
  const ProcessReport read = Left([](Report& report) {
    report.Begin(kMap, HereNow());
    report.AddMapping(Range(3), kHandle);
    report.Add(Wrong(DiagnosticKind::kDoubleUnmap));
    report.End(false);
    report.Finish();
  });
  EXPECT_TRUE(read.finished);
  EXPECT_NE(read.pid, getpid());
  EXPECT_EQ(read.parent, getpid());
  EXPECT_THAT(read.calls, ElementsAre(CallTotal{"cuMemMap", 1, 0}));
  EXPECT_THAT(read.diagnostics, SizeIs(1));
  ASSERT_THAT(read.alive, SizeIs(1));
  EXPECT_EQ(read.alive[0].range, Range(3));
}

// Killed in the middle of a loop of calls, at any instruction: what is there is whole, and what was
// there before the loop is all there.
TEST_F(ReportTest, SurvivesKill) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      Report report(InFolder(), Profile::ReferenceH200());
      report.SetWindow(kWindow);
      report.Begin(kReserve, HereNow());
      report.AddReservation(Range(0, 64));
      report.End(false);
      if (write(pipe_ends[1], "x", 1) != 1) _exit(1);
      for (uint64_t i = 0;; ++i) {
        report.Begin(kMap, HereNow());
        report.AddMapping(Range(i % 64), AllocationHandle(1 + i % 64));
        report.AddObject(ObjectKind::kMemory, 0x1000 + i % 64, Bytes(64));
        report.Add(Wrong(DiagnosticKind::kDoubleUnmap));
        report.End(true);
        report.Begin(kUnmap, HereNow());
        report.RemoveMappings(Range(i % 64));
        report.RemoveObject(ObjectKind::kMemory, 0x1000 + i % 64);
        report.End(false);
      }
    }
    char byte = 0;
    EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
    usleep(static_cast<useconds_t>(attempt * 300));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    ASSERT_THAT(Files(), SizeIs(1));
    const absl::StatusOr<ProcessReport> left = ReadFile(Files().front());
    unlink(Files().front().c_str());
    ASSERT_THAT(left, IsOk());
    EXPECT_FALSE(left->finished);
    uint64_t reservations = 0;
    for (const LiveObjects& objects : left->alive) {
      EXPECT_EQ(objects.count, 1u);
      if (objects.kind == DiagnosticKind::kLeakedReservation) ++reservations;
      if (objects.kind == DiagnosticKind::kLeakedMapping) {
        const uint64_t granule = (objects.range->base - kWindow) / MiB(2);
        EXPECT_EQ(objects.handle, AllocationHandle(1 + granule));
        EXPECT_EQ(objects.size, MiB(2));
      }
      if (objects.kind == DiagnosticKind::kLeakedMemory) {
        EXPECT_GE(objects.value, 0x1000u);
        EXPECT_EQ(objects.size, Bytes(64));
      }
    }
    EXPECT_EQ(reservations, 1u);
    EXPECT_LE(left->alive.size(), 3u);
    for (const ReportedDiagnostic& diagnostic : left->diagnostics) {
      EXPECT_EQ(diagnostic.words, ToString(Wrong(DiagnosticKind::kDoubleUnmap)));
    }
    ASSERT_GE(left->calls.size(), 1u);
    EXPECT_LE(left->running.size(), 1u);
  }
}

// The call in which a process died is known, and where it was made.
TEST_F(ReportTest, TellsWhichCallWasRunning) {
  int status = 0;
  const ProcessReport read = Left(
      [](Report& report) {
        report.Begin(kMap, HereNow());
        report.AddMapping(Range(0), kHandle);
        kill(getpid(), SIGKILL);
      },
      &status);
  EXPECT_TRUE(WIFSIGNALED(status));
  ASSERT_THAT(read.running, SizeIs(1));
  EXPECT_EQ(read.running[0].call, "cuMemMap");
  EXPECT_EQ(read.running[0].site.offset, read.alive[0].place.site.offset);
}

// A child made by fork has a report of its own, and leaves that of its parent alone.
TEST_F(ReportTest, BeginsAnewAfterFork) {
  Report report(InFolder(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  report.Begin(kMap, HereNow());
  report.AddMapping(Range(0), kHandle);
  report.End(false);
  const pid_t child = fork();
  if (child == 0) {
    report.AfterFork();
    report.SetWindow(kWindow);
    report.Begin(kCreate, HereNow());
    report.AddMapping(Range(7), kHandle);
    report.End(false);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  ASSERT_THAT(Files(), SizeIs(2));
  for (const std::string& file : Files()) {
    const absl::StatusOr<ProcessReport> read = ReadFile(file);
    ASSERT_THAT(read, IsOk());
    const bool of_child = read->pid == child;
    EXPECT_THAT(read->calls, ElementsAre(CallTotal{of_child ? "cuMemCreate" : "cuMemMap", 1, 0}));
    ASSERT_THAT(read->alive, SizeIs(1));
    EXPECT_EQ(read->alive[0].range, Range(of_child ? 7 : 0));
  }
}

// Without a call there is no file, in a child of a process that made some either.
TEST_F(ReportTest, BeginsWithTheFirstCall) {
  Report report(InFolder(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  report.AddMapping(Range(0), kHandle);
  report.Finish();
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_EQ(report.memory(), nullptr);
}

// A folder that is gone: the report is there for the process itself.
TEST_F(ReportTest, DoesWithoutAFile) {
  ReportOptions options = Options();
  options.folder = folder_ + "/none";
  Report report(options, Profile::ReferenceH200());
  { const ReportedCall call(report, kMap, HereNow()); }
  EXPECT_THAT(Read(report).calls, SizeIs(1));
}

// A process may close what it did not open; and may not be allowed large files.
TEST_F(ReportTest, SurvivesClosedDescriptorsAndLimits) {
  const ProcessReport read = Left([](Report& report) {
    report.Begin(kMap, HereNow());
    for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
    for (uint64_t granule = 0; granule < 100'000; ++granule) {
      report.AddMapping(Range(granule), kHandle);
    }
    report.End(false);
  });
  ASSERT_THAT(read.alive, SizeIs(1));
  EXPECT_EQ(read.alive[0].count, 100'000u);
  EXPECT_EQ(read.lost_objects, 0u);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit small = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &small);
    Report report(InFolder(), Profile::ReferenceH200());
    report.Begin(kMap, HereNow());
    _exit(report.memory() != nullptr ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(Files(), IsEmpty());
}

// A host without room for more: counted, not a signal. The file is taken away as a host would be
// full: it cannot be opened anew.
TEST_F(ReportTest, CountsWhatFindsNoRoom) {
  Report report(InFolder(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  report.Begin(kMap, HereNow());
  report.AddMapping(Range(0), kHandle);
  unlink(Files().front().c_str());
  report.AddMapping(Range(1), kHandle);
  for (uint64_t granule = 0; granule < 10; ++granule) {
    report.AddMapping(Range(1'000'000 + granule), kHandle);
  }
  report.AddMapping({kWindow - MiB(2), MiB(2), Bytes(0)}, kHandle);
  report.RemoveMappings({kWindow, TiB(16), Bytes(0)});
  const ProcessReport read = Read(report);
  EXPECT_EQ(read.lost_objects, 11u);
  EXPECT_THAT(read.alive, IsEmpty());
}

TEST_F(ReportTest, CountsAllocationsForWhichThereIsNoSlot) {
  Report report(Options(), Profile::ReferenceH200());
  report.Begin(kCreate, HereNow());
  report.AddAllocation(AllocationHandle(kAllocations), MiB(2));
  EXPECT_EQ(Read(report).lost_objects, 0u);
  report.AddAllocation(AllocationHandle(kAllocations + 1), MiB(2));
  EXPECT_EQ(Read(report).lost_objects, 1u);
  EXPECT_THAT(Read(report).alive, SizeIs(1));
}

// At the end of a process that no tool watches: JSON Lines behind what is in the file.
TEST_F(ReportTest, WritesAFileAtTheEnd) {
  ReportOptions options = Options();
  options.file = folder_ + "/report.jsonl";
  std::ofstream(options.file) << "before\n";
  Report report(options, Profile::ReferenceH200());
  ReportedCall(report, kMap, HereNow()).Succeed();
  ::testing::internal::CaptureStderr();
  report.Finish();
  report.Finish();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("cuMemMap"));
  std::stringstream text;
  text << std::ifstream(options.file).rdbuf();
  EXPECT_THAT(text.str(), StartsWith("before\n{\"type\":\"process\""));
  EXPECT_THAT(text.str(), EndsWith("{\"type\":\"calls\",\"pid\":" + std::to_string(getpid()) +
                                   ",\"call\":\"cuMemMap\",\"calls\":1,\"failures\":0}\n"));
}

TEST_F(ReportTest, SaysThatItCannotWriteItsFile) {
  ReportOptions options = Options();
  options.file = folder_ + "/none/report.jsonl";
  Report report(options, Profile::ReferenceH200());
  { const ReportedCall call(report, kMap, HereNow()); }
  ::testing::internal::CaptureStderr();
  report.Finish();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("cannot write " + options.file + ": No such file"));
}

// --- The reader

TEST_F(ReportTest, IsNotReadOutOfAnythingElse) {
  const std::string nothing(4 * kChunk, '\0');
  EXPECT_THAT(ReadReport(nothing.data(), nothing.size()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadReport(nothing.data(), 100), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ReportTest, IsReadUpToARecordThatEndsBehindTheLog) {
  Report report(InFolder(), Profile::ReferenceH200());
  report.Begin(kMap, HereNow());
  report.Add(Wrong(DiagnosticKind::kDoubleUnmap));
  EXPECT_THAT(ReadFile(Files().front())->diagnostics, SizeIs(1));
  // Its record stands behind those of the program, the calls and the place.
  const ReportMemory& memory = *report.memory();
  const char* const log = memory.data() + memory.layout().log();
  const char* at = log;
  while (reinterpret_cast<const Record*>(at)->type.load() != RecordType::kDiagnostic) {
    ASSERT_NE(reinterpret_cast<const Record*>(at)->size.load(), 0u);
    at += reinterpret_cast<const Record*>(at)->size.load();
  }
  const auto size = static_cast<uint32_t>(kLogSize - static_cast<uint64_t>(at - log) + 8);
  const int file = open(Files().front().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(pwrite(file, &size, sizeof(size), at - memory.data()), ssize_t{sizeof(size)});
  close(file);
  EXPECT_THAT(ReadFile(Files().front())->diagnostics, IsEmpty());
}

// A program may write anywhere: whatever stands in the memory, the reader ends and stays in it.
TEST_F(ReportTest, IsReadWhateverStandsInIt) {
  Report report(InFolder(), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  report.Begin(kMap, HereNow());
  for (uint64_t granule = 0; granule < 1000; ++granule) report.AddMapping(Range(granule), kHandle);
  report.AddAllocation(kHandle, MiB(2));
  report.AddObject(ObjectKind::kMemory, 1);
  report.Add(Wrong(DiagnosticKind::kDoubleUnmap));
  const std::string path = Files().front();
  const ReportLayout& layout = report.memory()->layout();
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  uint64_t random = 1;
  for (int round = 0; round < 2000; ++round) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t starts[] = {sizeof(uint64_t), kChunk,           layout.row(0),
                               layout.log(),     layout.object(0), layout.allocation(0),
                               layout.mapping(0)};
    const uint64_t place = starts[random >> 60 & 7 ? (random >> 33) % 7 : 0];
    const uint64_t value = (random >> 50 & 1) != 0 ? random : ~uint64_t{0};
    const auto at = static_cast<off_t>(place + (random >> 20 & 0x3f8));
    ASSERT_EQ(pwrite(file, &value, sizeof(value), at), static_cast<ssize_t>(sizeof(value)));
    (void)ReadFile(path);
  }
  close(file);
}

}  // namespace
}  // namespace twinmmu::libcuda
