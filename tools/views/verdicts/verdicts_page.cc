// Writes docs/reference/verdicts.md as a page of HTML: verdicts_page DOCUMENT > FILE.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tools/views/page/script_text.h"
#include "tools/views/verdicts/verdicts_texts.h"

int main(int argc, char** argv) {
  std::ifstream document(argc == 2 ? argv[1] : "");
  std::stringstream text;
  text << document.rdbuf();
  if (!document) {
    std::fputs("Usage: verdicts_page DOCUMENT > FILE\n", stderr);
    return 2;
  }
  std::cout << twinmmu::kVerdictsBeforeData << twinmmu::ScriptText(text.str()) << "\n"
            << twinmmu::kVerdictsAfterData << std::flush;
  return std::cout ? 0 : 1;
}
