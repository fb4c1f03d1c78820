// Attributes of nodes that launch kernels, and objects that graphs keep.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/captures/node_world.h"

namespace twinmmu::abi {
namespace {

using Object = struct CUuserObject_st*;

union AttributeValue {
  alignas(8) char pad[64];
  int number;
  unsigned char domains[2];
  unsigned cluster[3];
};

constexpr Function<CUresult(CUgraphNode, int, AttributeValue*)> get_attribute(
    "cuGraphKernelNodeGetAttribute");
constexpr Function<CUresult(CUgraphNode, int, const AttributeValue*)> set_attribute(
    "cuGraphKernelNodeSetAttribute");
constexpr Function<CUresult(CUgraphNode, CUgraphNode)> copy_attributes(
    "cuGraphKernelNodeCopyAttributes");
constexpr Function<CUresult(Object*, void*, CUhostFn, unsigned, unsigned)> create_object(
    "cuUserObjectCreate");
constexpr Function<CUresult(Object, unsigned)> retain_object("cuUserObjectRetain");
constexpr Function<CUresult(Object, unsigned)> release_object("cuUserObjectRelease");
constexpr Function<CUresult(CUgraph, Object, unsigned, unsigned)> retain_in_graph(
    "cuGraphRetainUserObject");
constexpr Function<CUresult(CUgraph, Object, unsigned)> release_in_graph(
    "cuGraphReleaseUserObject");

void CountObject(void* destroyed) { ++*static_cast<std::atomic<int>*>(destroyed); }

void UseAttributes(ProgramWorld& world) {
  constexpr int kCooperative = 2;
  constexpr int kClusterDimension = 4;
  constexpr int kPriority = 8;
  constexpr int kDomainMap = 9;
  const NodeGraph* const graph = AnyGraph(world);
  const NodeOfGraph* const node = AnyNodeOf(world, graph);
  const NodeOfGraph* const other = AnyNodeOf(world, graph);
  if (node == nullptr) return;
  if (world.OneIn(4)) {
    const bool are_kernels =
        node->type == CU_GRAPH_NODE_TYPE_KERNEL && other->type == CU_GRAPH_NODE_TYPE_KERNEL;
    if (other == node || (!are_kernels && !world.OneIn(8))) return;
    world.Say(copy_attributes(node->handle, other->handle), "cuGraphKernelNodeCopyAttributes",
              node->name, other->name);
    return;
  }
  const int attribute = world.Of({kCooperative, kCooperative, kClusterDimension, kPriority,
                                  kPriority, kDomainMap, 3, 7, 11, 12, 18});
  // Nobody says that a driver looks at the type first.
  if (node->type != CU_GRAPH_NODE_TYPE_KERNEL) return;
  AttributeValue value = {};
  if (world.OneIn(2) || attribute == kDomainMap) {
    if (!world.Say(get_attribute(node->handle, attribute, &value), "cuGraphKernelNodeGetAttribute",
                   node->name, attribute)) {
      return;
    }
    if (attribute == kClusterDimension) {
      return world.Gave(value.cluster[0], value.cluster[1], value.cluster[2]);
    }
    if (attribute == kDomainMap) return world.Gave(int(value.domains[0]), int(value.domains[1]));
    return world.Gave(value.number);
  }
  value.number = attribute == kPriority ? world.Of({0, -1, -3, -5, -20, 3}) : int(world.Below(2));
  if (attribute == kClusterDimension) value.cluster[0] = value.cluster[1] = value.cluster[2] = 1;
  world.Say(set_attribute(node->handle, attribute, &value), "cuGraphKernelNodeSetAttribute",
            node->name, attribute, value.number);
}

void CreateObject(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  if (nodes.objects.size() > 3) return;
  UserObject object;
  object.references = world.OneIn(12) ? 0 : world.Of({1u, 1u, 2u, 3u});
  const unsigned int flags = world.OneIn(8) ? world.Of({0u, 2u}) : 1u;
  if (!world.Say(create_object(&object.handle, &nodes.objects_destroyed, CountObject,
                               object.references, flags),
                 "cuUserObjectCreate", object.references, flags)) {
    return;
  }
  object.name = "u" + std::to_string(++nodes.objects_made);
  world.Gave(object.name);
  nodes.objects.push_back(object);
}

// Never more than the graph holds: a driver takes that away from the object all the same, and then
// uses objects that are gone.
void ReleaseIn(ProgramWorld& world, NodeGraph* graph, const UserObject& object,
               unsigned int count) {
  unsigned int& held = graph->held[object.name];
  if (held == 0 && count != 0) return;
  count = std::min(count, held);
  if (world.Say(release_in_graph(graph->handle, object.handle, count), "cuGraphReleaseUserObject",
                graph->name, object.name, count)) {
    held -= count;
  }
}

// Never more references than are ours, and no object without one, which may be gone.
void UseObject(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  if (nodes.objects.empty()) return;
  const size_t which = world.Below(nodes.objects.size());
  UserObject& object = nodes.objects[which];
  NodeGraph* const graph = AnyGraph(world);
  const unsigned int count = world.OneIn(8) ? 0 : 1 + unsigned(world.Below(object.references));
  const size_t what = world.Below(graph == nullptr ? 2 : 5);
  switch (what) {
    case 0:
      if (world.Say(retain_object(object.handle, count), "cuUserObjectRetain", object.name,
                    count)) {
        object.references += count;
      }
      return;
    case 1:
      if (world.Say(release_object(object.handle, count), "cuUserObjectRelease", object.name,
                    count)) {
        object.references -= count;
        world.Gave(nodes.objects_destroyed.load());
      }
      break;
    case 2:
    case 3: {
      const unsigned int flags = world.Of({0u, 0u, 1u, 1u, 2u});
      if (world.Say(retain_in_graph(graph->handle, object.handle, count, flags),
                    "cuGraphRetainUserObject", graph->name, object.name, count, flags)) {
        if (flags == 1) object.references -= count;
        graph->has_objects = true;
        graph->held[object.name] += count;
      }
      break;
    }
    default:
      ReleaseIn(world, graph, object, count);
  }
  if (object.references == 0) nodes.objects.erase(nodes.objects.begin() + long(which));
}

}  // namespace

RandomSteps NodeObjectSteps() { return {{24, UseAttributes}, {6, CreateObject}, {16, UseObject}}; }

}  // namespace twinmmu::abi
