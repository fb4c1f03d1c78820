// Writes a view of a run that never happened: made_view NAME FILE.html or FILE.svg.

#include <cstdio>
#include <fstream>
#include <string>

#include "tools/views/drawing/drawing.h"
#include "tools/views/page/page.h"
#include "tools/views/testing/made_runs.h"

namespace {

template <typename View>
bool Write(const std::string& run, const std::string& path) {
  View view(run);
  if (!twinmmu::MakeRun(run, view)) return false;
  std::ofstream file(path, std::ios::binary);
  file << view.Finish();
  file.close();
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc == 3 ? argv[2] : "";
  const std::string end = path.substr(path.rfind('.') + 1);
  if (end == "html" && Write<twinmmu::Page>(argv[1], path)) return 0;
  if (end == "svg" && Write<twinmmu::Drawing>(argv[1], path)) return 0;
  std::fputs("Usage: made_view RUN FILE.html|FILE.svg, of a run in made_runs.h\n", stderr);
  return 2;
}
