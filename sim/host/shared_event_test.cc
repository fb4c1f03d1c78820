// Events as several processes see them; each is made in another process.

#include "sim/host/shared_event.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "api/sharing/owned_descriptor.h"
#include "api/testing/matchers.h"
#include "gtest/gtest.h"
#include "sim/host/backing.h"
#include "sim/host/foreign_file.h"

namespace twinmmu {
namespace {

TEST(SharedEvent, IsOverBeforeItIsRecorded) {
  const auto event = *SharedEvent::Make();
  EXPECT_EQ(event->last(), 0u);
  EXPECT_TRUE(event->IsOver(event->last()));
}

TEST(SharedEvent, IsOverWhenItsLastRecordIs) {
  const auto event = *SharedEvent::Make();
  const uint64_t first = event->Record();
  const uint64_t second = event->Record();
  EXPECT_EQ(event->last(), second);
  event->End(first);
  EXPECT_TRUE(event->IsOver(first));
  EXPECT_FALSE(event->IsOver(second));
  event->End(second);
  event->End(first);
  EXPECT_TRUE(event->IsOver(second));
}

TEST(SharedEvent, IsNotOpenedInItsProcess) {
  const auto event = *SharedEvent::Make();
  EXPECT_THAT(SharedEvent::Open(event->name()), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(SharedEvent, ChangedNamesOpenNothing) {
  const auto event = *SharedEvent::Make();
  for (const size_t byte : {0, 8, 16, 24, 40, 63}) {
    SharedEventName name = event->name();
    name[byte] ^= 1;
    EXPECT_THAT(SharedEvent::Open(name), StatusIs(absl::StatusCode::kInvalidArgument)) << byte;
  }
}

// What the child does is seen here.
TEST(SharedEvent, IsTheSameInAnotherProcess) {
  const auto event = *SharedEvent::Make();
  const uint64_t own = event->Record();
  const pid_t child = fork();
  if (child == 0) {
    const auto opened = SharedEvent::Open(event->name());
    const bool sees = opened.ok() && (*opened)->last() == own && !(*opened)->IsOver(own) &&
                      !(*opened)->IsOwn() && !(*opened)->IsMadeHere();
    if (sees) (*opened)->End((*opened)->Record());
    std::_Exit(sees ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(event->last(), own + 1);
  EXPECT_TRUE(event->IsOver(own + 1));
  EXPECT_FALSE(event->IsOwn());
}

// Whoever made the name up: nothing could be read there.
TEST(SharedEvent, IsNotOpenedInAFileThatIsTooShort) {
  const SharedEventName real = (*SharedEvent::Make())->name();
  uint64_t mark = 0;
  std::memcpy(&mark, real.data(), sizeof(mark));
  const OwnedDescriptor file(memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), 4095), 0);
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  const SharedEventName name = NameFile(mark, *IdentifyFile(file.get()), file.get());
  const pid_t child = fork();
  if (child == 0) {
    std::_Exit(absl::IsInvalidArgument(SharedEvent::Open(name).status()) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SharedEvent, IsNotOpenedOnceItIsGone) {
  const SharedEventName name = (*SharedEvent::Make())->name();
  const pid_t child = fork();
  if (child == 0) std::_Exit(absl::IsNotFound(SharedEvent::Open(name).status()) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace twinmmu
