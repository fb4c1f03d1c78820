// ViewPaths: which views of a run somebody asks for, and where.

#ifndef TWINMMU_TOOLS_VIEWS_VIEW_PATHS_H_
#define TWINMMU_TOOLS_VIEWS_VIEW_PATHS_H_

#include <string>

namespace twinmmu {

// Empty: not asked for.
struct ViewPaths {
  std::string record;
  std::string html;
  std::string svg;
  std::string trace;
  std::string snapshot;
  std::string flame_graph;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_VIEW_PATHS_H_
