// Cliques: which devices reach each other, and how. [CUDA 13.4]

#include <array>
#include <vector>

#include "conformance/abi/later/later_driver.h"

namespace twinmmu::abi {
namespace {

struct Clique {
  int type = -1;
  unsigned int id = ~0u;
};

const Function<CUresult(size_t*, CUdevice)> get_count("cuDeviceGetCliqueCount");
const Function<CUresult(Clique*, size_t*, CUdevice)> get_info("cuDeviceGetCliqueInfo");
const Function<CUresult(CUuuid*, CUdevice)> get_cluster("cuDeviceGetFabricClusterUuid");

using CliqueTest = LaterDriverTest<13040, 128>;  // handles for the fabric

std::vector<Clique> CliquesOf(CUdevice device) {
  size_t count = 0;
  EXPECT_EQ(get_count(&count, device), CUDA_SUCCESS);
  EXPECT_GT(count, 0u);
  std::vector<Clique> cliques(count + 1);
  count = cliques.size();
  EXPECT_EQ(get_info(cliques.data(), &count, device), CUDA_SUCCESS);
  EXPECT_EQ(count + 1, cliques.size());
  EXPECT_EQ(cliques.back().type, -1) << "nothing is written behind them";
  cliques.resize(count);
  return cliques;
}

TEST_F(CliqueTest, ADeviceIsInACliqueOfEachTypeThatItHas) {
  int before = -1;
  for (const Clique& clique : CliquesOf(0)) {
    EXPECT_GT(clique.type, before);
    EXPECT_LE(clique.type, 3);
    before = clique.type;
  }
}

TEST_F(CliqueTest, PeersAreInTheSame) {
  if (DeviceCount() < 2) GTEST_SKIP() << "there is one device";
  int peers = 0;
  ASSERT_EQ(cuDeviceCanAccessPeer(&peers, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(CliquesOf(0)[0].id == CliquesOf(1)[0].id, peers == 1);
}

TEST_F(CliqueTest, AsManyAreToldAsThereIsRoomFor) {
  Clique cliques[2];
  size_t count = 1;
  EXPECT_EQ(get_info(cliques, &count, 0), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_NE(cliques[0].type, -1);
  EXPECT_EQ(cliques[1].type, -1);
}

TEST_F(CliqueTest, DevicesThatDoNotExistAreRefused) {
  Clique clique;
  CUuuid cluster = {};
  size_t count = 1;
  for (const CUdevice device : {-1, DeviceCount()}) {
    EXPECT_EQ(get_count(&count, device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(get_info(&clique, &count, device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(get_cluster(&cluster, device), CUDA_ERROR_INVALID_DEVICE);
  }
  EXPECT_EQ(get_count(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_info(nullptr, &count, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_cluster(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CliqueTest, DevicesOfAMachineAreInOneCluster) {
  std::array<char, 16> first;
  std::array<char, 16> last;
  first.fill('f');
  last.fill('l');
  EXPECT_EQ(get_cluster(reinterpret_cast<CUuuid*>(first.data()), 0), CUDA_SUCCESS);
  EXPECT_EQ(get_cluster(reinterpret_cast<CUuuid*>(last.data()), DeviceCount() - 1), CUDA_SUCCESS);
  EXPECT_EQ(first, last);
}

}  // namespace
}  // namespace twinmmu::abi
