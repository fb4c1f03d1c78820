// The files of tools/new_test/template, as text of this program.

#ifndef TWINMMU_TOOLS_NEW_TEST_TEMPLATES_H_
#define TWINMMU_TOOLS_NEW_TEST_TEMPLATES_H_

#include <vector>

namespace twinmmu {

struct Template {
  const char* name;  // "cmake_lists.template"
  const char* text;
};

const std::vector<Template>& Templates();

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_NEW_TEST_TEMPLATES_H_
