// What captures forbid, and what makes them invalid. Measured on an H100 and an H200 with driver
// 580.159.

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

constexpr CUstreamCaptureMode kModes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                          CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                          CU_STREAM_CAPTURE_MODE_RELAXED};

constexpr Function<CUresult(void**, const void*, void*, void*, unsigned int, void*, void*,
                            unsigned int)>
    load_library("cuLibraryLoadData");
constexpr Function<CUresult(void*)> unload_library("cuLibraryUnload");

class ForbiddenCapturesTest : public GraphTest {
 protected:
  using Call = std::function<CUresult(CUstream)>;

  // Makes the call while a new stream is captured.
  void During(CUstreamCaptureMode mode, unsigned int flags, const Call& call, CUresult code,
              bool invalidates, bool in_other_thread = false) {
    const std::string where = "mode " + std::to_string(mode);
    CUstream stream = MakeStream(flags);
    EXPECT_EQ(cuStreamBeginCapture(stream, mode), CUDA_SUCCESS);
    CUresult result = CUDA_SUCCESS;
    const auto make_call = [&] { result = call(stream); };
    if (in_other_thread) {
      std::thread([&] {
        cuCtxSetCurrent(context_);
        make_call();
      }).join();
    } else {
      make_call();
    }
    EXPECT_EQ(result, code) << where;
    EXPECT_EQ(StatusOf(stream),
              invalidates ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE)
        << where;
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph),
              invalidates ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS)
        << where;
    EXPECT_EQ(graph == nullptr, invalidates) << where;
    if (graph != nullptr) {
      EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    }
    EXPECT_EQ(StatusOf(stream), CU_STREAM_CAPTURE_STATUS_NONE) << where;
  }
  // In every mode the same.
  void ExpectRefused(const Call& call, CUresult code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                     bool invalidates = true) {
    for (const CUstreamCaptureMode mode : kModes) {
      During(mode, CU_STREAM_NON_BLOCKING, call, code, invalidates);
    }
  }
  // Where the thread that captures, or in global mode any thread, may not call what is unsafe.
  void ExpectUnsafe(const Call& call, CUresult otherwise = CUDA_SUCCESS) {
    constexpr CUresult kRefused = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    constexpr unsigned int kFlags = CU_STREAM_NON_BLOCKING;
    During(CU_STREAM_CAPTURE_MODE_GLOBAL, kFlags, call, kRefused, true);
    During(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, kFlags, call, kRefused, true);
    During(CU_STREAM_CAPTURE_MODE_RELAXED, kFlags, call, otherwise, false);
    During(CU_STREAM_CAPTURE_MODE_GLOBAL, kFlags, call, kRefused, true, true);
    During(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, kFlags, call, otherwise, false, true);
  }
  void ExpectAllowed(const Call& call) { ExpectRefused(call, CUDA_SUCCESS, false); }
  // Where the legacy stream would wait for the captured one.
  void ExpectImplicit(const Call& call) {
    for (const CUstreamCaptureMode mode : kModes) {
      During(mode, CU_STREAM_NON_BLOCKING, call, CUDA_SUCCESS, false);
      During(mode, CU_STREAM_DEFAULT, call, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, true);
    }
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
};

TEST_F(ForbiddenCapturesTest, TheStreamIsNotWaitedFor) {
  ExpectRefused([](CUstream stream) { return cuStreamSynchronize(stream); });
  ExpectRefused([](CUstream stream) { return cuStreamQuery(stream); });
  ExpectRefused([](CUstream) { return cuCtxSynchronize(); });
}

TEST_F(ForbiddenCapturesTest, OtherStreamsAreUnsafeToWaitFor) {
  ExpectUnsafe([&](CUstream) { return cuStreamSynchronize(stream_); });
  ExpectUnsafe([&](CUstream) { return cuStreamQuery(stream_); });
}

TEST_F(ForbiddenCapturesTest, EventsAreUnsafeToWaitFor) {
  const CUevent event = MakeEvent();
  EXPECT_EQ(cuEventRecord(event, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  ExpectUnsafe([&](CUstream) { return cuEventQuery(event); });
  ExpectUnsafe([&](CUstream) { return cuEventSynchronize(event); });
}

TEST_F(ForbiddenCapturesTest, ACapturedEventIsNotWaitedFor) {
  const CUevent event = MakeEvent();
  ExpectRefused(
      [&](CUstream stream) {
        EXPECT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
        return cuEventQuery(event);
      },
      CUDA_ERROR_CAPTURED_EVENT);
  ExpectRefused(
      [&](CUstream stream) {
        EXPECT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
        return cuEventSynchronize(event);
      },
      CUDA_ERROR_CAPTURED_EVENT);
}

TEST_F(ForbiddenCapturesTest, MemoryIsUnsafeToAllocate) {
  CUdeviceptr memory = 0;
  const auto allocate = [&](CUstream) {
    const CUresult made = cuMemAlloc(&memory, 256);
    return made;
  };
  ExpectUnsafe(allocate);
  ExpectUnsafe([](CUstream) { return cuMemFree(0); });
}

// Whatever their arguments. What is given here is refused otherwise, or does nothing.
TEST_F(ForbiddenCapturesTest, CallsThatMayFreeOrWaitAreUnsafe) {
  constexpr const char* kUnsafe[] = {
      "cuMemHostUnregister",
      "cuMemFreeHost",
      "cuMemFreeAsync",
      "cuMemPoolCreate",
      "cuMemPoolDestroy",
      "cuMemPoolTrimTo",
      "cuMemPoolGetAttribute",
      "cuMemPoolSetAttribute",
      "cuMemPoolGetAccess",
      "cuMemPoolSetAccess",
      "cuMemPoolExportToShareableHandle",
      "cuMemPoolImportFromShareableHandle",
      "cuMemPoolExportPointer",
      "cuMemPoolImportPointer",
      "cuDeviceSetMemPool",
      "cuTexObjectCreate",
      "cuTexObjectDestroy",
      "cuSurfObjectCreate",
      "cuSurfObjectDestroy",
      "cuImportExternalMemory",
      "cuDestroyExternalMemory",
      "cuImportExternalSemaphore",
      "cuGraphExecDestroy",
      "cuCtxSetCacheConfig",
      "cuCtxSetSharedMemConfig",
      "cuProfilerStart",
      "cuProfilerStop",
  };
  for (const char* const name : kUnsafe) {
    SCOPED_TRACE(name);
    const Function<CUresult(void*, void*, void*, void*, void*)> function(name);
    const auto call = [&](CUstream) {
      return function(nullptr, nullptr, nullptr, nullptr, nullptr);
    };
    ExpectUnsafe(call, call(nullptr));
  }
}

// As a node of the captured stream it is safe.
TEST_F(ForbiddenCapturesTest, MemoryIsUnsafeToAllocateInTheOrderOfOtherStreams) {
  CUdeviceptr memory = 0;
  const auto allocate_on = [&](CUstream stream) {
    const CUresult made = cuMemAllocAsync(&memory, 256, stream);
    return made == CUDA_SUCCESS ? cuMemFreeAsync(memory, stream) : made;
  };
  ExpectUnsafe([&](CUstream) { return allocate_on(stream_); });
  ExpectUnsafe([&](CUstream) { return cuMemFreeAsync(0, stream_); });
  ExpectAllowed(allocate_on);
}

TEST_F(ForbiddenCapturesTest, PoolsMayBeNamed) {
  const Function<CUresult(void**, CUdevice)> default_pool("cuDeviceGetDefaultMemPool");
  const Function<CUresult(void**, CUdevice)> current_pool("cuDeviceGetMemPool");
  void* pool = nullptr;
  ExpectAllowed([&](CUstream) { return default_pool(&pool, 0); });
  ExpectAllowed([&](CUstream) { return current_pool(&pool, 0); });
}

TEST_F(ForbiddenCapturesTest, LibrariesAreUnsafeToUnload) {
  ExpectUnsafe([](CUstream) {
    void* library = nullptr;
    const CUresult loaded =
        load_library(&library, ".version 8.0\n.target sm_50\n.address_size 64\n", nullptr, nullptr,
                     0, nullptr, nullptr, 0);
    return loaded == CUDA_SUCCESS ? unload_library(library) : loaded;
  });
}

// What is null is told first, and spoils nothing.
TEST_F(ForbiddenCapturesTest, NullIsNoObject) {
  ExpectRefused([](CUstream) { return cuModuleUnload(nullptr); }, CUDA_ERROR_INVALID_HANDLE, false);
  ExpectRefused([](CUstream) { return cuArrayDestroy(nullptr); }, CUDA_ERROR_INVALID_HANDLE, false);
  ExpectRefused([](CUstream) { return cuMipmappedArrayDestroy(nullptr); },
                CUDA_ERROR_INVALID_HANDLE, false);
  ExpectRefused([](CUstream) { return unload_library(nullptr); }, CUDA_ERROR_INVALID_HANDLE, false);
  ExpectRefused([](CUstream) { return cuEventQuery(nullptr); }, CUDA_ERROR_INVALID_HANDLE, false);
}

TEST_F(ForbiddenCapturesTest, VirtualMemoryIsNot) {
  ExpectAllowed([](CUstream) {
    const Mapping mapping;
    return CUDA_SUCCESS;
  });
}

TEST_F(ForbiddenCapturesTest, EventsAndStreamsMayBeMade) {
  ExpectAllowed([](CUstream) {
    CUevent event = nullptr;
    const CUresult made = cuEventCreate(&event, 0);
    return made == CUDA_SUCCESS ? cuEventDestroy(event) : made;
  });
  ExpectAllowed([](CUstream) {
    CUstream stream = nullptr;
    const CUresult made = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    return made == CUDA_SUCCESS ? cuStreamDestroy(stream) : made;
  });
}

TEST_F(ForbiddenCapturesTest, ModulesAreUnsafeToUnload) {
  During(
      CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING,
      [&](CUstream) { return cuModuleUnload(module_); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
      true);
}

TEST_F(ForbiddenCapturesTest, TheLegacyStreamMayNotWaitForACapturedOne) {
  ExpectImplicit([&](CUstream) { return Launch(nullptr); });
  ExpectImplicit([&](CUstream) { return cuMemsetD32(memory_, 1, 1); });
  ExpectImplicit([&](CUstream) { return cuMemcpyDtoD(memory_ + 64, memory_, 4); });
  ExpectImplicit([&](CUstream) { return cuMemcpyDtoDAsync(memory_ + 64, memory_, 4, nullptr); });
}

TEST_F(ForbiddenCapturesTest, TheLegacyStreamNeverJoins) {
  const CUevent event = MakeEvent();
  ExpectRefused(
      [&](CUstream stream) {
        EXPECT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
        return cuStreamWaitEvent(nullptr, event, 0);
      },
      CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

TEST_F(ForbiddenCapturesTest, OtherStreamsGoOn) {
  ExpectAllowed([&](CUstream) { return Launch(stream_); });
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(Number(), 3u);
}

TEST_F(ForbiddenCapturesTest, ALaunchThatIsNotPossibleMakesTheCaptureInvalid) {
  ExpectRefused(
      [&](CUstream stream) {
        CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(add_, memory_, 1);
        return cuLaunchKernel(add_, 0, 1, 1, 1, 1, 1, 0, stream, kernel.kernelParams, nullptr);
      },
      CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ForbiddenCapturesTest, ACopyThatIsNotPossibleDoesNot) {
  ExpectRefused(
      [&](CUstream stream) {
        return cuMemcpyDtoDAsync(memory_, CUdeviceptr{0x123450000}, 64, stream);
      },
      CUDA_ERROR_INVALID_VALUE, false);
}

TEST_F(ForbiddenCapturesTest, AFillOfNoMemoryIsCaptured) {
  ExpectAllowed(
      [](CUstream stream) { return cuMemsetD32Async(CUdeviceptr{0x123450000}, 1, 16, stream); });
}

TEST_F(ForbiddenCapturesTest, SomeCallsAreNotCaptured) {
  ExpectRefused([](CUstream stream) {
    return cuStreamAddCallback(
        stream, [](CUstream, CUresult, void*) {}, nullptr, 0);
  });
  ExpectRefused([&](CUstream stream) {
    return cuMemcpyPeerAsync(memory_ + 64, context_, memory_, context_, 4, stream);
  });
}

TEST_F(ForbiddenCapturesTest, AGraphIsNotLaunchedIntoACapture) {
  AddKernel(add_, 1);
  const CUgraphExec executable = Instantiate();
  ExpectRefused([&](CUstream stream) { return cuGraphLaunch(executable, stream); });
  ExpectAllowed([&](CUstream) { return cuGraphLaunch(executable, stream_); });
}

TEST_F(ForbiddenCapturesTest, GraphsAreUnsafeToInstantiate) {
  AddEmpty();
  ExpectUnsafe([&](CUstream) {
    CUgraphExec executable = nullptr;
    const CUresult made = cuGraphInstantiateWithFlags(&executable, graph_, 0);
    return made == CUDA_SUCCESS ? cuGraphExecDestroy(executable) : made;
  });
}

// Source: an H200 with driver 580.159.
TEST_F(ForbiddenCapturesTest, AnInvalidCaptureRefusesThemAsAValidOneDoes) {
  AddKernel(add_, 1);
  const CUgraphExec executable = Instantiate();
  const Call calls[] = {
      [](CUstream stream) { return cuStreamSynchronize(stream); },
      [](CUstream stream) { return cuStreamQuery(stream); },
      [](CUstream stream) {
        return cuStreamAddCallback(
            stream, [](CUstream, CUresult, void*) {}, nullptr, 0);
      },
      [&](CUstream stream) {
        return cuMemcpyPeerAsync(memory_ + 64, context_, memory_, context_, 4, stream);
      },
      [&](CUstream stream) { return cuGraphLaunch(executable, stream); },
  };
  for (const Call& call : calls) {
    ExpectRefused([&](CUstream stream) {
      EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
      return call(stream);
    });
  }
}

// Source: an H200 with driver 580.159.
TEST_F(ForbiddenCapturesTest, AnEventOfAnInvalidCaptureIsNoneThatCanBeWaitedFor) {
  const auto after = [&](const std::function<CUresult(CUevent)>& wait) {
    ExpectRefused(
        [&](CUstream stream) {
          const CUevent event = MakeEvent();
          EXPECT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
          EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
          return wait(event);
        },
        CUDA_ERROR_INVALID_VALUE);
  };
  after([](CUevent event) { return cuEventSynchronize(event); });
  after([](CUevent event) { return cuEventQuery(event); });
  after([&](CUevent event) { return cuStreamWaitEvent(stream_, event, 0); });
  after([](CUevent event) { return cuStreamWaitEvent(nullptr, event, 0); });
}

// Source: an H200 with driver 580.159.
TEST_F(ForbiddenCapturesTest, BesideACaptureThatItWaitsForTheLegacyStreamIsCapturedEvenLess) {
  const Call begin = [](CUstream) {
    return cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED);
  };
  During(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING, begin,
         CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
  CUstream stream = MakeStream(CU_STREAM_DEFAULT);
  EXPECT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(begin(nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

struct StreamAttribute {
  alignas(8) unsigned char bytes[64] = {};
};

const Function<CUresult(CUstream, int, StreamAttribute*)> get_attribute("cuStreamGetAttribute");
const Function<CUresult(CUstream, int, const StreamAttribute*)> set_attribute(
    "cuStreamSetAttribute");
const Function<CUresult(CUstream, CUstream)> copy_attributes("cuStreamCopyAttributes");
const Function<CUresult(CUstream, const CUgraphNode*, size_t, unsigned int)> update_dependencies(
    "cuStreamUpdateCaptureDependencies");

// What asks what is kept of a stream, or changes it.
class StreamQuestionsTest : public ForbiddenCapturesTest {
 protected:
  StreamQuestionsTest() {
    Ask([](CUstream stream) {
      int priority = 0;
      return cuStreamGetPriority(stream, &priority);
    });
    Ask([](CUstream stream) {
      CUcontext context = nullptr;
      return cuStreamGetCtx(stream, &context);
    });
    Ask([](CUstream stream) {
      StreamAttribute value;
      return get_attribute(stream, kPolicy, &value);
    });
    Ask([](CUstream stream) {
      StreamAttribute value;
      value.bytes[0] = 1;
      return set_attribute(stream, kPolicy, &value);
    });
    Ask([&](CUstream stream) { return copy_attributes(stream, stream_); });
    Ask([&](CUstream stream) { return copy_attributes(stream_, stream); });
  }

  static constexpr int kPolicy = 3;  // CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY

  void Ask(const Call& question) { questions_.push_back(question); }

  std::vector<Call> questions_;
};

// Source for these: an H200 with driver 580.159.
TEST_F(StreamQuestionsTest, AreAnsweredOfAStreamThatCaptures) {
  for (const Call& question : questions_) ExpectAllowed(question);
}

TEST_F(StreamQuestionsTest, AreNotAnsweredOfAStreamWhoseCaptureIsInvalid) {
  for (const Call& question : questions_) {
    ExpectRefused(
        [&](CUstream stream) {
          EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
          return question(stream);
        },
        CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
}

TEST_F(StreamQuestionsTest, OfFlagsAndNumberMakeACaptureInvalid) {
  ExpectRefused([](CUstream stream) {
    unsigned int flags = 0;
    return cuStreamGetFlags(stream, &flags);
  });
  ExpectRefused([](CUstream stream) {
    unsigned long long id = 0;
    return cuStreamGetId(stream, &id);
  });
}

TEST_F(StreamQuestionsTest, OfTheLegacyStreamAreNotForTheTimeOfACaptureThatItWaitsFor) {
  for (const Call& question : questions_) {
    ExpectImplicit([&](CUstream) { return question(nullptr); });
  }
  ExpectImplicit([](CUstream) {
    unsigned int flags = 0;
    return cuStreamGetFlags(nullptr, &flags);
  });
  During(
      CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_DEFAULT,
      [](CUstream) { return update_dependencies(nullptr, nullptr, 0, 0); },
      CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, true);
}

TEST_F(StreamQuestionsTest, OfOtherStreamsAreAnswered) {
  for (const Call& question : questions_) {
    ExpectAllowed([&](CUstream) { return question(stream_); });
  }
}

// Source: an H200 with driver 580.159.
TEST_F(ForbiddenCapturesTest, ManagedMemoryIsUnsafeToAttachToAnotherStream) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ExpectUnsafe(
      [&](CUstream) { return cuStreamAttachMemAsync(stream_, memory, 0, CU_MEM_ATTACH_GLOBAL); });
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
