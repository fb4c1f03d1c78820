// What a process that means harm writes into the file of a multicast object that it shares.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api/driver_error.h"
#include "sim/host/team_file.h"
#include "sim/testing/team_machine.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

// Where things are in the file, in words. Not taken from the code: who forges has only the file.
constexpr uint64_t kMembers = 8;
constexpr uint64_t kEntries = 512;
constexpr uint64_t kEntryWords = 16;

// A machine with a complete team, and a descriptor of the object's file.
class ForgedTeamTest : public testing::Test {
 protected:
  ForgedTeamTest() {
    for (const DeviceOrdinal device : {kDevice0, kDevice1}) {
      EXPECT_THAT(machine_.multicast().AddDevice(machine_.object(), device), IsOk());
    }
    machine_.MapObject();
  }
  ~ForgedTeamTest() override { close(file_); }

  void Put(uint64_t word, uint64_t value) {
    ASSERT_EQ(pwrite(file_, &value, sizeof(value), static_cast<off_t>(8 * word)), 8);
  }
  uint64_t At(uint64_t word) const {
    uint64_t value = 0;
    EXPECT_EQ(pread(file_, &value, sizeof(value), static_cast<off_t>(8 * word)), 8);
    return value;
  }
  // Says that there is something new.
  void Announce() { Put(0, At(0) + 1); }
  // Takes a lock of the file as a process would that has it; `false`: gives it back.
  void Lock(uint64_t byte, bool lock) {
    struct flock how = {};
    how.l_type = lock ? F_WRLCK : F_UNLCK;
    how.l_start = static_cast<off_t>(byte);
    how.l_len = 1;
    ASSERT_EQ(fcntl(file_, F_OFD_SETLK, &how), 0);
  }
  // Entry 5, of a process that is there as member 9 with id 77.
  void Forge(const std::array<uint64_t, 13>& words) {
    Lock(1 + 9, true);
    Put(kMembers + 9, 77);
    for (uint64_t i = 0; i < words.size(); ++i) Put(kEntries + 5 * kEntryWords + i, words[i]);
    Put(2, 6);
    Announce();
  }
  // Stamp, member, its id, process, namespace, device, offset, size, memory offset, id, file,
  // descriptor: of memory that device 1 could have bound.
  std::array<uint64_t, 13> Good(int descriptor, uint64_t id) const {
    struct stat memory = {};
    EXPECT_EQ(fstat(descriptor, &memory), 0);
    struct stat space = {};
    EXPECT_EQ(stat("/proc/self/ns/pid", &space), 0);
    return {99,
            9,
            77,
            static_cast<uint64_t>(getpid()),
            space.st_ino,
            1,
            0,
            kGranule.value(),
            0,
            id,
            memory.st_dev,
            memory.st_ino,
            static_cast<uint64_t>(descriptor)};
  }
  // Calls that look at the team: each is right, or says in the driver's words why not.
  void Exercise(TeamMachine& machine) {
    for (const absl::Status& status :
         {machine.AddDevice(), machine.Bind(), machine.Unbind(), machine.SumOfAll(0).status()}) {
      EXPECT_TRUE(status.ok() || GetDriverError(status).has_value()) << status;
    }
  }

  TeamMachine machine_{0};
  const int file_ = machine_.CreateObject();
};

TEST_F(ForgedTeamTest, ADeviceThatIsNotThereIsNoneOfTheTeam) {
  Put(1, 0b111);
  Announce();
  for (const char* const when : {"at first", "again"}) {
    const absl::Status bound = machine_.Bind();
    EXPECT_THAT(bound, HasDriverCode(DriverCode::kOperatingSystem)) << when;
    EXPECT_THAT(std::string(bound.message()), HasSubstr("makes no sense")) << when;
  }
  Put(1, 0b11);
  EXPECT_THAT(machine_.Bind(), IsOk());
}

// Who holds the lock of the table and does not let go is waited for, but not without end.
TEST_F(ForgedTeamTest, ALockThatIsHeldIsAnError) {
  Lock(0, true);
  const absl::Status bound = machine_.Bind();
  EXPECT_THAT(bound, HasDriverCode(DriverCode::kOperatingSystem));
  EXPECT_THAT(std::string(bound.message()), HasSubstr("has the multicast object locked"));
  Lock(0, false);
  EXPECT_THAT(machine_.Bind(), IsOk());
}

// Memory of device 1 of another machine, that was exported.
class ForgedEntryTest : public ForgedTeamTest {
 protected:
  ForgedEntryTest() {
    AllocationProperties properties = Shareable();
    properties.location = Location::Device(kDevice1);
    memory_ = other_.Export(*other_.vmm().Create(kGranule, properties));
    EXPECT_EQ(pread(memory_, &id_, 8, static_cast<off_t>(kGranule.value()) + 16), 8);
  }
  ~ForgedEntryTest() override { close(memory_); }

  // One more that imports the object, and has bound what is its own.
  std::unique_ptr<TeamMachine> Importer() {
    for (uint64_t word = kEntries; word < kEntries + 16 * kEntryWords; ++word) Put(word, 0);
    Put(1, 0b11);
    Put(2, 0);
    Announce();
    auto machine = std::make_unique<TeamMachine>(0);
    machine->TakeObject(dup(file_));
    EXPECT_THAT(machine->Bind(), IsOk());
    machine->MapObject();
    return machine;
  }

  TeamMachine other_{1};
  int memory_ = -1;
  uint64_t id_ = 0;
};

// Each word of an entry that is wrong is noticed; no address leads to other memory.
TEST_F(ForgedEntryTest, LeadsToWhatItSaysOrNowhere) {
  const struct {
    size_t word;
    uint64_t value;
    const char* what;
  } kWrong[] = {{1, 64, "makes no sense"},
                {3, 0, "makes no sense"},
                {3, ~uint64_t{0}, "makes no sense"},
                {4, 1, "another namespace"},
                {5, 2, "makes no sense"},
                {6, 1 << 30, "makes no sense"},
                {7, 0, "makes no sense"},
                {7, ~uint64_t{0}, "makes no sense"},
                {8, 4, "makes no sense"},
                {8, 1 << 21, "not what was bound"},
                {8, ~uint64_t{0} << 12, "not what was bound"},
                {9, 5, "not what was bound"},
                {10, 5, "not there"},
                {11, 5, "not there"},
                {12, 1, "not there"},
                {12, ~uint64_t{0}, "no descriptor"}};
  for (const auto& [word, value, what] : kWrong) {
    SCOPED_TRACE(testing::Message() << "word " << word << " is " << value);
    const auto machine = Importer();
    auto entry = Good(memory_, id_);
    entry[word] = value;
    Forge(entry);
    const absl::Status fault = machine->SumOfAll(0).status();
    EXPECT_THAT(fault, HasDriverCode(DriverCode::kIllegalAddress));
    EXPECT_THAT(std::string(fault.message()), HasSubstr(what));
  }
  const auto machine = Importer();
  Forge(Good(memory_, id_));
  EXPECT_THAT(machine->SumOfAll(0), IsOkAndHolds(0u));
}

// A file of the right size that says nothing of memory.
TEST_F(ForgedEntryTest, AFileThatIsNoMemoryIsNotReached) {
  const int file = memfd_create("other", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>((kGranule + KiB(64)).value())), 0);
  const auto machine = Importer();
  Forge(Good(file, id_));
  const absl::Status fault = machine->SumOfAll(0).status();
  EXPECT_THAT(fault, HasDriverCode(DriverCode::kIllegalAddress));
  EXPECT_THAT(std::string(fault.message()), HasSubstr("not what was bound"));
  close(file);
}

// Words that could mean something, and others, in all places where something is looked for.
TEST_F(ForgedEntryTest, RandomWordsDoNoHarm) {
  std::mt19937_64 random(25);
  const auto good = Good(memory_, id_);
  for (int round = 0; round < 300; ++round) {
    const auto machine = Importer();
    Forge(good);
    const uint64_t numbers[] = {0,
                                1,
                                2,
                                9,
                                77,
                                1024,
                                4096,
                                kGranule.value(),
                                random(),
                                ~uint64_t{0},
                                uint64_t{1} << 63,
                                static_cast<uint64_t>(file_)};
    for (uint64_t left = 1 + random() % 12; left > 0; --left) {
      const uint64_t places[] = {random() % 4, kMembers + random() % 12,
                                 kEntries + random() % (8 * kEntryWords)};
      const uint64_t value =
          random() % 3 == 0 ? good[random() % good.size()] : numbers[random() % std::size(numbers)];
      Put(places[random() % 3], value);
    }
    if (random() % 2 == 0) Announce();
    Exercise(*machine);
  }
}

// Bytes that were never a table.
TEST_F(ForgedEntryTest, RandomBytesDoNoHarm) {
  std::mt19937_64 random(26);
  for (int round = 0; round < 30; ++round) {
    const auto machine = Importer();
    std::vector<uint64_t> words(TeamFile::kSize.value() / 8);
    for (uint64_t& word : words) word = random();
    ASSERT_GT(pwrite(file_, words.data(), 8 * words.size(), 0), 0);
    Exercise(*machine);
    const std::vector<uint64_t> zeros(words.size());
    ASSERT_GT(pwrite(file_, zeros.data(), 8 * zeros.size(), 0), 0);
  }
}

}  // namespace
}  // namespace twinmmu
