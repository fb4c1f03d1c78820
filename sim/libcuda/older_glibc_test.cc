// Exceptions find their handlers where the runtime of C++ is linked statically. $1: libthrower.so.

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "gtest/gtest.h"

namespace {

std::string library_path;

void Throw() { throw std::runtime_error("of the program"); }

template <typename Function>
Function* Find(const char* name) {
  void* const library = dlopen(library_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return reinterpret_cast<Function*>(dlsym(library, name));
}

TEST(OlderGlibcTest, TheProgramCatchesItsOwnException) {
  EXPECT_THROW(Throw(), std::runtime_error);
}

TEST(OlderGlibcTest, ALibraryThatIsLoadedLaterCatchesItsOwnException) {
  EXPECT_EQ(Find<int(int)>("ThrowAndCatch")(7), 7);
}

TEST(OlderGlibcTest, AnExceptionPassesFromTheProgramIntoTheLibrary) {
  EXPECT_EQ(Find<int(void (*)())>("CallAndCatch")(Throw), 1);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) library_path = argv[1];
  return RUN_ALL_TESTS();
}
