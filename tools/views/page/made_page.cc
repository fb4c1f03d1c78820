// Writes the page of a run that never happened: made_page NAME FILE.

#include <cstdio>
#include <fstream>
#include <string>

#include "tools/views/page/page.h"
#include "tools/views/testing/made_runs.h"

int main(int argc, char** argv) {
  twinmmu::Page page(argc > 1 ? argv[1] : "");
  if (argc != 3 || !twinmmu::MakeRun(argv[1], page)) {
    std::fputs("Usage: made_page growth|fragmentation|sleep|crash|many|hostile|empty FILE\n",
               stderr);
    return 2;
  }
  std::ofstream file(argv[2], std::ios::binary);
  file << page.Finish();
  file.close();
  return file ? 0 : 1;
}
