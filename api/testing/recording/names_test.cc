#include "api/testing/recording/names.h"

#include "api/testing/matchers.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr AddressRange kFirst{DeviceAddress(0x10000), Bytes(0x4000), Bytes(0)};
constexpr AddressRange kNext{DeviceAddress(0x14000), Bytes(0x4000), Bytes(0)};

TEST(NamesTest, AnAddressIsADistanceFromItsReservation) {
  Names names;
  EXPECT_EQ(names.AddReservation(kFirst), "r1");
  EXPECT_EQ(names.Of(DeviceAddress(0x10000)), "r1");
  EXPECT_EQ(names.Of(DeviceAddress(0x12000)), "r1+0x2000");
  EXPECT_EQ(names.Of(DeviceAddress(0x9000)), "0x9000");
  EXPECT_THAT(names.Address("r1+0x2000"), IsOkAndHolds(DeviceAddress(0x12000)));
  EXPECT_THAT(names.Address("0x9000"), IsOkAndHolds(DeviceAddress(0x9000)));
}

// The end of one may be the beginning of the next.
TEST(NamesTest, InsideCountsBeforeAtTheEnd) {
  Names names;
  names.AddReservation(kNext);
  names.AddReservation(kFirst);
  EXPECT_EQ(names.Of(kNext.base), "r1");
  EXPECT_EQ(names.Of(kNext.end()), "r1+0x4000");
}

TEST(NamesTest, ALiveReservationCountsBeforeADeadOne) {
  Names names;
  names.AddReservation(kFirst);
  names.EndReservation(kFirst.base);
  EXPECT_EQ(names.Of(kFirst.base), "r1");
  names.AddReservation(AddressRange{DeviceAddress(0xf000), Bytes(0x2000), Bytes(0)});
  EXPECT_EQ(names.Of(kFirst.base), "r2+0x1000");
  EXPECT_EQ(names.Of(kFirst.base + Bytes(0x2000)), "r1+0x2000");
}

// As drivers do with handles.
TEST(NamesTest, AValueThatIsGivenOutAgainIsANewThing) {
  Names names;
  EXPECT_EQ(names.Add(Names::kHandle, 77), "h1");
  EXPECT_EQ(names.Add(Names::kHandle, 78), "h2");
  EXPECT_EQ(names.Add(Names::kHandle, 77), "h3");
  EXPECT_EQ(names.Of(Names::kHandle, 77), "h3");
  EXPECT_EQ(names.Of(Names::kHandle, 5), "0x5");
  EXPECT_EQ(names.Of(Names::kEvent, 77), "0x4d") << "kinds have nothing to do with each other";
}

TEST(NamesTest, ANameIsNotTakenForANumber) {
  Names names;
  names.Add(Names::kDescriptor, 9);
  EXPECT_THAT(names.Value(Names::kDescriptor, "d1"), IsOkAndHolds(9u));
  EXPECT_THAT(names.Value(Names::kDescriptor, "0xd1"), IsOkAndHolds(0xd1u));
}

TEST(NamesTest, AnUnknownNameIsAnErrorThatSaysIt) {
  const Names names;
  for (const char* text : {"h1", "r1", "", "r", "r1+", "r1+5", "h", "0x", "0xg", "+0x1"}) {
    EXPECT_EQ(names.Value(Names::kHandle, text).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(names.Address(text).status().message()), testing::HasSubstr(text));
  }
}

TEST(NamesTest, SkipsNamesThatAreGivenElsewhere) {
  Names names;
  names.SkipPast("h4");
  EXPECT_EQ(names.Add(Names::kHandle, 1), "h5");
  names.SkipPast("h2");
  EXPECT_EQ(names.Add(Names::kHandle, 2), "h6");
  names.SkipPast("r7");
  EXPECT_EQ(names.AddReservation(kFirst), "r8");
}

}  // namespace
}  // namespace twinmmu
