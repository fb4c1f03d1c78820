// Attributes of kernel nodes.

#include <cstring>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/graph_objects.h"

namespace twinmmu::abi {
namespace {

constexpr int kWords = 16;
constexpr unsigned int kBlocks = 4;

void Set(Trial& trial, const OwnGraph& graph, CUgraphNode node, int attribute, const int* words) {
  trial.Answer(Call("cuGraphKernelNodeSetAttribute", node, attribute, words));
  int told[kWords] = {};
  const CUresult result = Call("cuGraphKernelNodeGetAttribute", node, attribute, told);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) {
    if (told[0] == words[0]) {
      trial.Add("kept");
    } else {
      trial.Tell(told[0]);
    }
  }
  trial.Answer(graph.Instantiated());
}
void SetAny(Trial& trial) {
  const OwnGraph graph;
  const CUgraphNode node = graph.AddKernel(kBlocks);
  int attribute = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  const int words[kWords] = {};
  trial.Any(FIELD(attribute));
  Set(trial, graph, node, attribute, words);
}
template <int kAttribute>
void SetOne(Trial& trial) {
  const OwnGraph graph;
  const CUgraphNode node = graph.AddKernel(kBlocks);
  int words[kWords] = {};
  if (kAttribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) words[0] = words[1] = words[2] = 1;
  trial.Any(FIELD(words[0]));
  trial.Any(FIELD(words[1]));
  trial.Any(FIELD(words[2]));
  Set(trial, graph, node, kAttribute, words);
}

}  // namespace

std::vector<Case> NodeAttributeCases() {
  return {{"cuGraphKernelNodeSetAttribute/any", SetAny},
          {"cuGraphKernelNodeSetAttribute/cooperative", SetOne<2>},
          {"cuGraphKernelNodeSetAttribute/synchronization", SetOne<3>},
          {"cuGraphKernelNodeSetAttribute/cluster", SetOne<4>},
          {"cuGraphKernelNodeSetAttribute/cluster-policy", SetOne<5>},
          {"cuGraphKernelNodeSetAttribute/programmatic", SetOne<6>},
          {"cuGraphKernelNodeSetAttribute/priority", SetOne<8>},
          {"cuGraphKernelNodeSetAttribute/domain-map", SetOne<9>},
          {"cuGraphKernelNodeSetAttribute/domain", SetOne<10>},
          {"cuGraphKernelNodeSetAttribute/preferred-cluster", SetOne<11>},
          {"cuGraphKernelNodeSetAttribute/updatable", SetOne<13>},
          {"cuGraphKernelNodeSetAttribute/carveout", SetOne<14>}};
}

}  // namespace twinmmu::abi
