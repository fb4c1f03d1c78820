#include "api/testing/mock_sparse_arrays.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::NiceMock;

// What each call answers, by its name.
std::map<std::string, absl::Status> MakeEveryCall(SparseArrays& arrays) {
  const DeviceOrdinal device(0);
  const Stream stream(device);
  const Array array(device, 1);
  const MipmappedArray mipmap(device, 2);
  char host[4] = {};
  return {
      {"CreateArray", arrays.CreateArray(device, {}).status()},
      {"DestroyArray", arrays.DestroyArray(array)},
      {"CreateMipmappedArray", arrays.CreateMipmappedArray(device, {}, 3).status()},
      {"DestroyMipmappedArray", arrays.DestroyMipmappedArray(mipmap)},
      {"GetLevel", arrays.GetLevel(mipmap, 1).status()},
      {"GetArraySparseProperties", arrays.GetArraySparseProperties(array).status()},
      {"GetMipmappedArraySparseProperties",
       arrays.GetMipmappedArraySparseProperties(mipmap).status()},
      {"MapTiles", arrays.MapTiles(stream, {})},
      {"CopyHostToArray", arrays.CopyHostToArray(stream, array, {}, {}, host)},
      {"CopyArrayToHost", arrays.CopyArrayToHost(stream, host, array, {}, {})},
  };
}

// A call that nothing answers is an error that names the mock and the call, whichever it is.
TEST(MockSparseArraysTest, WithoutAnAnswerACallIsAnErrorThatNamesIt) {
  NiceMock<MockSparseArrays> arrays;
  for (const auto& [call, status] : MakeEveryCall(arrays)) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented)) << call;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("MockSparseArrays has no answer to ", call, ":")));
  }
}

// With DelegateTo, each call reaches the call of the same name, and its answer comes back.
TEST(MockSparseArraysTest, DelegatesEveryCall) {
  NiceMock<MockSparseArrays> target;
  NiceMock<MockSparseArrays> arrays;
  arrays.DelegateTo(&target);
  EXPECT_CALL(target, CreateArray);
  EXPECT_CALL(target, DestroyArray);
  EXPECT_CALL(target, CreateMipmappedArray);
  EXPECT_CALL(target, DestroyMipmappedArray);
  EXPECT_CALL(target, GetLevel);
  EXPECT_CALL(target, GetArraySparseProperties);
  EXPECT_CALL(target, GetMipmappedArraySparseProperties);
  EXPECT_CALL(target, MapTiles);
  EXPECT_CALL(target, CopyHostToArray);
  EXPECT_CALL(target, CopyArrayToHost);
  MakeEveryCall(arrays);
}

}  // namespace
}  // namespace twinmmu
