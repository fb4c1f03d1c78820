// Streams, events, words that streams write, and captures.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

void Destroy(CUstream stream) { Must("cuStreamDestroy_v2", stream); }

void CreateStream(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  CUstream stream = nullptr;
  const CUresult result = Call("cuStreamCreate", &stream, flags);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  unsigned int told = 0;
  Must("cuStreamGetFlags", stream, &told);
  trial.Tell(told);
  Destroy(stream);
}
void CreateWithPriority(Trial& trial) {
  unsigned int flags = 0;
  int priority = 0;
  trial.Any(FIELD(flags));
  trial.Any(FIELD(priority));
  CUstream stream = nullptr;
  const CUresult result = Call("cuStreamCreateWithPriority", &stream, flags, priority);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  int told = 0;
  Must("cuStreamGetPriority", stream, &told);
  trial.Tell(told);
  Destroy(stream);
}

void CreateEvent(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  CUevent event = nullptr;
  const CUresult result = Call("cuEventCreate", &event, flags);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  Must("cuEventRecord", event, Stream());
  Must("cuStreamSynchronize", Stream());
  float time = 0;
  trial.Answer(Call("cuEventElapsedTime_v2", &time, event, event));
  Must("cuEventDestroy_v2", event);
}
void RecordEvent(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuEventRecordWithFlags", Event(), Stream(), flags));
}
void WaitForEvent(Trial& trial) {
  unsigned int flags = 0;
  Must("cuEventRecord", Event(), Stream());
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuStreamWaitEvent", OtherStream(), Event(), flags));
}

void WriteWord(Trial& trial, const char* symbol) {
  CUdeviceptr address = Memory();
  unsigned int flags = 0;
  trial.Offset(kBytes, FIELD(address));
  trial.Any(FIELD(flags));
  trial.Answer(Call(symbol, Stream(), address, 5, flags));
}
void WriteWord32(Trial& trial) { WriteWord(trial, "cuStreamWriteValue32_v2"); }
void WriteWord64(Trial& trial) { WriteWord(trial, "cuStreamWriteValue64_v2"); }

// Waits may never end: for 32 bits (1) and 64 (4).
bool IsNoWait(uint64_t operation) { return operation != 1 && operation != 4; }

void WriteBatch(Trial& trial) {
  CUstreamBatchMemOpParams writes[2] = {};
  writes[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  writes[0].writeValue.address = Memory();
  writes[1] = writes[0];
  writes[1].writeValue.address += 64;
  unsigned int count = 2;
  unsigned int flags = 0;
  trial.UpTo(2, FIELD(count));
  trial.Any(FIELD(flags));
  trial.Where(IsNoWait, FIELD(writes[0].operation));
  trial.Where(IsNoWait, FIELD(writes[1].operation));
  trial.Offset(kBytes, FIELD(writes[0].writeValue.address));
  trial.Any(FIELD(writes[0].writeValue.flags));
  trial.Answer(Call("cuStreamBatchMemOp_v2", Stream(), count, writes, flags));
}
void FenceBatch(Trial& trial, int type) {
  CUstreamBatchMemOpParams fence = {};
  fence.operation = type;
  trial.Any(FIELD(fence.memoryBarrier.flags));
  trial.Answer(Call("cuStreamBatchMemOp_v2", Stream(), 1, &fence, 0));
}
void Barrier(Trial& trial) { FenceBatch(trial, CU_STREAM_MEM_OP_BARRIER); }
void Flush(Trial& trial) { FenceBatch(trial, CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES); }

constexpr int kAccessPolicyWindow = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;

void SetAttribute(Trial& trial) {
  CUstream stream = nullptr;
  Must("cuStreamCreate", &stream, 0);
  int attribute = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
  int words[16] = {};
  words[0] = 1;
  trial.Any(FIELD(attribute));
  trial.Any(FIELD(words[0]));
  trial.Answer(Call("cuStreamSetAttribute", stream, attribute, words));
  int told[16] = {};
  const CUresult result = Call("cuStreamGetAttribute", stream, attribute, told);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) trial.Tell(told[0]);
  Destroy(stream);
}
void SetWindow(Trial& trial) {
  struct Window {
    CUdeviceptr base_ptr;
    size_t num_bytes;
    float hitRatio;
    int hitProp;
    int missProp;
    char rest[36];
  };
  static_assert(sizeof(Window) == 64);
  constexpr int kPersisting = 2;
  Window window = {Memory(), 4096, 1.0F, kPersisting, 0, {}};
  trial.Size(FIELD(window.num_bytes));
  trial.Any(FIELD(window.hitRatio));
  trial.Any(FIELD(window.hitProp));
  trial.Any(FIELD(window.missProp));
  CUstream stream = nullptr;
  Must("cuStreamCreate", &stream, 0);
  trial.Answer(Call("cuStreamSetAttribute", stream, kAccessPolicyWindow, &window));
  Destroy(stream);
}

void EndCapture(Trial& trial) {
  CUgraph graph = nullptr;
  const CUresult result = Call("cuStreamEndCapture", Stream(), &graph);
  trial.Answer(result);
  if (graph != nullptr) Must("cuGraphDestroy", graph);
}
void BeginCapture(Trial& trial) {
  int mode = 0;
  trial.Any(FIELD(mode));
  const CUresult result = Call("cuStreamBeginCapture_v2", Stream(), mode);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) EndCapture(trial);
}
void BeginCaptureToGraph(Trial& trial) {
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  trial.Any(FIELD(mode));
  CUgraph graph = nullptr;
  Must("cuGraphCreate", &graph, 0);
  const CUresult result =
      Call("cuStreamBeginCaptureToGraph", Stream(), graph, nullptr, nullptr, 0, mode);
  trial.Answer(result);
  CUgraph ended = nullptr;
  if (result == CUDA_SUCCESS) trial.Answer(Call("cuStreamEndCapture", Stream(), &ended));
  Must("cuGraphDestroy", graph);
}
void UpdateDependencies(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  Must("cuStreamBeginCapture_v2", Stream(), CU_STREAM_CAPTURE_MODE_RELAXED);
  trial.Answer(Call("cuStreamUpdateCaptureDependencies_v2", Stream(), nullptr, nullptr, 0, flags));
  EndCapture(trial);
}
void ExchangeMode(Trial& trial) {
  int mode = 0;
  trial.Any(FIELD(mode));
  trial.Answer(Call("cuThreadExchangeStreamCaptureMode", &mode));
  trial.Tell(mode);
  mode = 0;
  Must("cuThreadExchangeStreamCaptureMode", &mode);
}

}  // namespace

std::vector<Case> StreamCases() {
  return {{"cuStreamCreate", CreateStream},
          {"cuStreamCreateWithPriority", CreateWithPriority},
          {"cuEventCreate", CreateEvent},
          {"cuEventRecordWithFlags", RecordEvent},
          {"cuStreamWaitEvent", WaitForEvent},
          {"cuStreamWriteValue32", WriteWord32},
          {"cuStreamWriteValue64", WriteWord64},
          {"cuStreamBatchMemOp/writes", WriteBatch},
          {"cuStreamBatchMemOp/barrier", Barrier},
          {"cuStreamBatchMemOp/flush", Flush},
          {"cuStreamSetAttribute", SetAttribute},
          {"cuStreamSetAttribute/window", SetWindow},
          {"cuStreamBeginCapture", BeginCapture},
          {"cuStreamBeginCaptureToGraph", BeginCaptureToGraph},
          {"cuStreamUpdateCaptureDependencies", UpdateDependencies},
          {"cuThreadExchangeStreamCaptureMode", ExchangeMode}};
}

}  // namespace twinmmu::abi
