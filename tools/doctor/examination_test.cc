#include "tools/doctor/examination.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A machine of files, on which everything works that needs no GPU.
class ExaminationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    host_.root = ::testing::TempDir() + "/" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(host_.root);
    fs::create_directories(host_.root + "/dev/shm");
    fs::create_directories(host_.root + "/tmp");
    host_.variable = [this](const char* name) { return variables_[name]; };
    host_.free_bytes = [this](const std::string&) { return free_bytes_; };
    host_.allows_code = [](const std::string&) { return true; };
    host_.simulate = host_.load_library = host_.take_descriptor = [] { return absl::OkStatus(); };
    host_.driver = []() -> absl::StatusOr<DriverFacts> {
      return absl::FailedPreconditionError("no driver: libcuda.so.1 was not found");
    };
  }

  void MakeFile(const std::string& path, const std::string& text = "") {
    fs::create_directories(fs::path(host_.root + path).parent_path());
    std::ofstream(host_.root + path) << text;
  }

  void HaveDriver(const DriverFacts& facts) {
    host_.driver = [facts]() -> absl::StatusOr<DriverFacts> { return facts; };
    MakeFile("/dev/nvidiactl");
    MakeFile("/dev/nvidia0");
  }

  static Health HealthOf(const Examination& examination, const std::string& command) {
    for (const Ability& ability : examination.abilities) {
      if (ability.command == command) return ability.health;
    }
    ADD_FAILURE() << "there is no " << command;
    return Health::kMissing;
  }

  Host host_;
  std::map<std::string, std::string> variables_;
  uint64_t free_bytes_ = uint64_t{1} << 30;
};

// A machine without a GPU lacks nothing that the simulator needs, and says what lacks a GPU.
TEST_F(ExaminationTest, AMachineWithoutAGpuRunsTheSimulator) {
  const Examination examination = Examine(host_);
  EXPECT_TRUE(examination.simulator_works());
  EXPECT_EQ(HealthOf(examination, "run"), Health::kGood);
  EXPECT_EQ(HealthOf(examination, "everything with --backend=cuda"), Health::kMissing);
  EXPECT_THAT(examination.Of("driver").detail, HasSubstr("libcuda.so.1 was not found"));
}

// With a driver and its device files, --backend=cuda works.
TEST_F(ExaminationTest, ADriverWithItsDevicesWorks) {
  HaveDriver({"libcuda.so.1", 13000, 70, 70, absl::OkStatus(), {"NVIDIA H200"}});
  const Examination examination = Examine(host_);
  EXPECT_EQ(examination.Of("driver").health, Health::kGood);
  EXPECT_THAT(examination.Of("driver").detail, HasSubstr("CUDA 13.0, 1 device (NVIDIA H200)"));
  EXPECT_EQ(HealthOf(examination, "everything with --backend=cuda"), Health::kGood);
}

// A driver that cannot be initialised is there, and of no use.
TEST_F(ExaminationTest, ADriverThatDoesNotStartIsOfNoUse) {
  HaveDriver({"libcuda.so.1", 0, 70, 70, absl::FailedPreconditionError("NO_DEVICE"), {}});
  const Examination examination = Examine(host_);
  EXPECT_EQ(examination.Of("driver").health, Health::kMissing);
  EXPECT_THAT(examination.Of("driver").detail, HasSubstr("NO_DEVICE"));
}

// An old driver works but for the functions that it lacks.
TEST_F(ExaminationTest, AnOldDriverIsLimited) {
  HaveDriver({"libcuda.so.1", 11000, 70, 60, absl::OkStatus(), {"NVIDIA A100"}});
  EXPECT_EQ(HealthOf(Examine(host_), "everything with --backend=cuda"), Health::kLimited);
}

// What the simulator itself needs decides, and nothing else.
TEST_F(ExaminationTest, TheSimulatorDecides) {
  host_.simulate = [] { return absl::ResourceExhaustedError("no window of addresses"); };
  const Examination examination = Examine(host_);
  EXPECT_FALSE(examination.simulator_works());
  EXPECT_EQ(HealthOf(examination, "replay"), Health::kMissing);
  EXPECT_THAT(examination.Of("simulator").advice, HasSubstr("ulimit -v"));
}

// A small /dev/shm, as a container has it, does not stop `run`.
TEST_F(ExaminationTest, ASmallSharedMemoryIsALimit) {
  free_bytes_ = 1 << 20;
  const Examination examination = Examine(host_);
  EXPECT_EQ(examination.Of("/dev/shm").health, Health::kLimited);
  EXPECT_THAT(examination.Of("/dev/shm").advice, HasSubstr("--shm-size"));
  EXPECT_EQ(HealthOf(examination, "run"), Health::kLimited);
}

// Where no folder allows code, `run` cannot place the library.
TEST_F(ExaminationTest, WithoutAFolderForCodeNothingRuns) {
  host_.allows_code = [](const std::string&) { return false; };
  EXPECT_EQ(HealthOf(Examine(host_), "run"), Health::kMissing);
}

// TMPDIR goes before the usual folders.
TEST_F(ExaminationTest, TmpdirGoesFirst) {
  variables_["TMPDIR"] = "/scratch";
  fs::create_directories(host_.root + "/scratch");
  EXPECT_THAT(Examine(host_).Of("temporary folder").detail, HasSubstr("/scratch"));
}

// Channels of IMEX count where they may be opened.
TEST_F(ExaminationTest, FindsImexChannels) {
  EXPECT_EQ(Examine(host_).Of("IMEX channels").health, Health::kMissing);
  MakeFile("/dev/nvidia-caps-imex-channels/channel0");
  const Examination examination = Examine(host_);
  EXPECT_EQ(examination.Of("IMEX channels").health, Health::kGood);
  EXPECT_EQ(examination.Of("IMEX channels").detail, "channel0");
}

// What Yama forbids between processes is told, with the way that needs no permission.
TEST_F(ExaminationTest, YamaLimitsPidfd) {
  MakeFile("/proc/sys/kernel/yama/ptrace_scope", "3\n");
  const Examination examination = Examine(host_);
  EXPECT_EQ(examination.Of("pidfd_getfd").health, Health::kLimited);
  EXPECT_THAT(examination.Of("pidfd_getfd").advice, HasSubstr("SendShareableHandle"));
}

// A limit of addresses is named with its size.
TEST_F(ExaminationTest, NamesTheLimitOfAddresses) {
  host_.address_space = uint64_t{4} << 30;
  EXPECT_THAT(Examine(host_).Of("address space").detail, HasSubstr("4 GiB"));
}

// The toolkit is found where its variables point.
TEST_F(ExaminationTest, FindsTheToolkit) {
  variables_["CUDA_HOME"] = "/opt/cuda";
  MakeFile("/opt/cuda/bin/nvcc");
  fs::permissions(host_.root + "/opt/cuda/bin/nvcc", fs::perms::owner_all);
  EXPECT_EQ(Examine(host_).Of("CUDA toolkit").detail, "/opt/cuda/bin/nvcc");
}

// Whatever is not good comes with advice, and what is good without.
TEST_F(ExaminationTest, GivesAdviceExactlyWhereItIsNeeded) {
  for (const Finding& finding : Examine(host_).findings) {
    EXPECT_EQ(finding.advice.empty(), finding.health == Health::kGood) << finding.what;
  }
}

}  // namespace
}  // namespace twinmmu
