// Descriptors that another simulator did not export, or not so: whatever they hold, they are
// refused with a reason, or name memory that this machine could have made.

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/host/memory_label.h"
#include "sim/testing/sharing_machine.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kSize = SharingMachine::kSize;
constexpr int kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// A label that the reference machine could have written.
MemoryLabel GoodLabel() {
  return {7, kSize,   Shareable(), SharingTraits::Of(Profile::ReferenceH200(2), Location()),
          0, Bytes(0)};
}

// Closes a descriptor.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~File() { close(descriptor_); }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// A memory file that somebody else made.
File Forge(Bytes length, const MemoryLabel& label, int seals = kAllSeals) {
  File file(memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(length.value())), 0);
  EXPECT_THAT(WriteLabel(file.get(), label), IsOk());
  if (label.size + kLabelRoom != length) {
    EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(length.value())), 0);
  }
  EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}
File Forge(const MemoryLabel& label) { return Forge(label.size + kLabelRoom, label); }

class ForeignMemoryTest : public testing::Test {
 protected:
  // The driver's code, and in words to whoever reads them.
  void ExpectRefused(const File& file, const std::string& reason) {
    const auto refused = machine_.Import(file.get());
    EXPECT_THAT(refused, HasDriverCode(DriverCode::kUnknown));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(reason));
    const auto diagnostics = machine_.simulator().diagnostics();
    ASSERT_FALSE(diagnostics.empty());
    EXPECT_EQ(diagnostics.back().kind, DiagnosticKind::kImportOfForeignDescriptor);
    EXPECT_THAT(diagnostics.back().message, HasSubstr(reason));
    EXPECT_EQ(machine_.free(), free_);
  }

  SharingMachine machine_;
  const Bytes free_ = machine_.free();
};

// The tests below change one thing each in what is good.
TEST_F(ForeignMemoryTest, TakesWhatIsRight) {
  const File file = Forge(GoodLabel());
  EXPECT_THAT(machine_.Import(file.get()), IsOk());
}

TEST_F(ForeignMemoryTest, ImportsFromAnotherSimulatorOfTheProcess) {
  SharingMachine exporter;
  const AllocationHandle handle = exporter.Create();
  const AddressRange theirs = exporter.Map(handle);
  const AddressRange ours = machine_.Map(machine_.Take(exporter.Export(handle)));
  exporter.Write(theirs, 11);
  EXPECT_EQ(machine_.Read(ours), 11u);
}

// Two addresses of an import are aliases, of which its machine knows.
TEST_F(ForeignMemoryTest, ImportsMapTwice) {
  SharingMachine exporter;
  const int descriptor = exporter.Export(exporter.Create());
  const AddressRange first = machine_.Map(*machine_.Import(descriptor));
  const AddressRange second = machine_.Map(machine_.Take(descriptor));
  machine_.Write(first, 12);
  EXPECT_EQ(machine_.Read(second), 12u);
}

TEST_F(ForeignMemoryTest, RefusesOtherFiles) {
  ExpectRefused(File(open("/dev/null", O_RDWR | O_CLOEXEC)), "not a memory file");
  ExpectRefused(File(memfd_create("foreign", MFD_CLOEXEC)), "not sealed");
  ExpectRefused(File(open("/proc/self/exe", O_PATH | O_CLOEXEC)), "");
  ExpectRefused(File(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), "not a memory file");
  ExpectRefused(File(eventfd(0, EFD_CLOEXEC)), "not a memory file");
}

// What a wrong peer may send by mistake: the ends of how it talks to others.
TEST_F(ForeignMemoryTest, RefusesPipesAndSockets) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  for (const int end : ends) ExpectRefused(File(end), "not a memory file");
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  for (const int end : ends) ExpectRefused(File(end), "not a memory file");
}

// Of such a file somebody could take the memory away while it is used.
TEST_F(ForeignMemoryTest, RefusesAFileThatCouldShrink) {
  for (const int seals : {0, F_SEAL_GROW | F_SEAL_SHRINK, F_SEAL_GROW | F_SEAL_SEAL}) {
    ExpectRefused(Forge(kSize + kLabelRoom, GoodLabel(), seals), "not sealed");
  }
}

TEST_F(ForeignMemoryTest, RefusesADescriptorThatCannotWrite) {
  const File file = Forge(GoodLabel());
  const std::string path = absl::StrCat("/proc/self/fd/", file.get());
  ExpectRefused(File(open(path.c_str(), O_RDONLY | O_CLOEXEC)), "does not allow to write");
}

TEST_F(ForeignMemoryTest, RefusesMemoryOfAnotherMachine) {
  const std::pair<std::string, void (*)(Profile&)> kChanges[] = {
      {"driver version 12040", [](Profile& other) { other.driver_version = 12040; }},
      {"minimum granularity 64 KiB", [](Profile& other) { other.minimum_granularity = KiB(64); }},
      {"recommended granularity 4 MiB",
       [](Profile& other) { other.recommended_granularity = MiB(4); }},
      {"reservations 4 MiB", [](Profile& other) { other.reservation_granularity = MiB(4); }},
      {"memory at that place 80 GiB", [](Profile& other) { other.devices[0].memory = GiB(80); }},
      {"device of another name", [](Profile& other) { other.devices[0].name = "other"; }},
  };
  for (const auto& [reason, change] : kChanges) {
    Profile profile = Profile::ReferenceH200(2);
    change(profile);
    SharingMachine exporter(profile);
    ExpectRefused(File(exporter.Export(exporter.Create())), reason);
  }
}

TEST_F(ForeignMemoryTest, RefusesMemoryOfADeviceThatIsNotHere) {
  SharingMachine exporter(Profile::ReferenceH200(3));
  AllocationProperties properties = Shareable();
  properties.location = Location::Device(DeviceOrdinal(2));
  ExpectRefused(File(exporter.Export(*exporter.vmm().Create(kSize, properties))),
                "memory of device 2, which is not here");
}

// The strict machine says INVALID_VALUE, as the documentation has it.
TEST_F(ForeignMemoryTest, TheCodeIsAQuirk) {
  SharingMachine strict(*Profile::Named("strict"));
  const File file = Forge(GoodLabel());
  EXPECT_THAT(strict.Import(file.get()), HasDriverCode(DriverCode::kInvalidValue));
}

TEST_F(ForeignMemoryTest, RefusesWhatNobodyExported) {
  const File file(memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), static_cast<off_t>((kSize + kLabelRoom).value())), 0);
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, kAllSeals), 0);
  ExpectRefused(file, "nothing says that it was exported");
}

TEST_F(ForeignMemoryTest, RefusesALabelThatDoesNotFit) {
  ExpectRefused(Forge(kSize + kLabelRoom - kGranule, GoodLabel()), "nothing says");
  ExpectRefused(Forge(kSize, GoodLabel()), "nothing says");
  ExpectRefused(Forge(Bytes(0), GoodLabel()), "nothing says");
  MemoryLabel label = GoodLabel();
  label.size = kSize + KiB(4);
  ExpectRefused(Forge(label), "this machine has no");
  label.size = TiB(1);
  ExpectRefused(Forge(label), "this machine has no");
  label = GoodLabel();
  label.properties.location = Location::HostNuma(3);
  ExpectRefused(Forge(label), "another machine");
  label.properties.location = {static_cast<LocationType>(9), -4};
  ExpectRefused(Forge(label), "another machine");
  label = GoodLabel();
  label.properties.usage = 0x8001;
  ExpectRefused(Forge(label), "this machine has no");
  label = GoodLabel();
  label.properties.compression = static_cast<CompressionType>(77);
  ExpectRefused(Forge(label), "this machine has no");
}

// A byte of the label that is changed is noticed, wherever it is.
TEST_F(ForeignMemoryTest, NoticesEachChangedByte) {
  constexpr int kLabelBytes = 20 * 8;
  for (int at = 0; at < kLabelBytes; ++at) {
    const File file = Forge(GoodLabel());
    const off_t where = static_cast<off_t>(kSize.value()) + at;
    char byte = 0;
    ASSERT_EQ(pread(file.get(), &byte, 1, where), 1);
    byte = static_cast<char>(byte ^ 0x40);
    ASSERT_EQ(pwrite(file.get(), &byte, 1, where), 1);
    EXPECT_THAT(machine_.Import(file.get()), HasDriverCode(DriverCode::kUnknown)) << at;
  }
}

// One who makes right sums over random fields gets nothing but an error, or memory that is as it
// says.
TEST_F(ForeignMemoryTest, RandomLabelsDoNoHarm) {
  std::mt19937_64 random(8);
  const auto pick = [&](auto& field, auto usual) {
    const uint64_t numbers[] = {0, 1, 3, 8, 255, ~uint64_t{0}, random(), uint64_t{1} << 63};
    field =
        random() % 4 != 0
            ? usual
            : static_cast<std::decay_t<decltype(usual)>>(numbers[random() % std::size(numbers)]);
  };
  int taken = 0;
  for (int i = 0; i < 2000; ++i) {
    MemoryLabel label = GoodLabel();
    AllocationProperties& p = label.properties;
    pick(p.type, AllocationType::kPinned);
    pick(p.requested_handle_types, HandleType::kPosixFileDescriptor);
    pick(p.location.type, LocationType::kDevice);
    pick(p.location.id, 0);
    pick(p.compression, CompressionType::kNone);
    pick(p.gpu_direct_rdma, uint8_t{0});
    pick(p.usage, uint16_t{0});
    pick(label.traits.driver_version, 13000);
    const File file = Forge(label);
    const auto handle = machine_.Import(file.get());
    if (!handle.ok()) continue;
    ++taken;
    const AddressRange range = machine_.Map(*handle);
    machine_.Write(range, 13);
    machine_.Drop(range, *handle);
  }
  EXPECT_GT(taken, 0);
  EXPECT_EQ(machine_.free(), free_);
}

// Bytes that were never a label.
TEST_F(ForeignMemoryTest, RandomBytesDoNoHarm) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 500; ++i) {
    const File file = Forge(GoodLabel());
    for (int word = 0; word < 20; ++word) {
      if (random() % 3 == 0) continue;
      const uint64_t value = random();
      ASSERT_EQ(pwrite(file.get(), &value, 8, static_cast<off_t>(kSize.value()) + 8 * word), 8);
    }
    EXPECT_THAT(machine_.Import(file.get()), HasDriverCode(DriverCode::kUnknown));
  }
}

}  // namespace
}  // namespace twinmmu
