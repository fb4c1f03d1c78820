#include "conformance/litmus/litmus_task_kernels.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "conformance/litmus/litmus_control.h"
#include "conformance/litmus/litmus_placement.h"
#include "conformance/litmus/litmus_writer.h"

namespace twinmmu {
namespace {

// %r0 thread of the block, %r2 instance, %r3 instances, %rd0 control.
void WriteTask(size_t task, uint32_t instances, LitmusWriter* writer) {
  const int thread = static_cast<int>(task);
  const std::string started = writer->NewLabel();
  writer->BeginKernel(absl::StrCat("task", task), {"u64", "u32"});
  writer->Line("ld.param.u64 %rd0, [p0];");
  writer->Line("ld.param.u32 %r20, [p1];");
  writer->Line("mov.u32 %r0, %tid.x;");
  writer->Line("mov.u32 %r16, %ctaid.x;");
  writer->Line("mov.u32 %r17, %ntid.x;");
  writer->Line("mad.lo.u32 %r2, %r16, %r17, %r0;");
  writer->Line("mov.u32 %r3, ", instances, ";");
  writer->LoadAddresses(2);
  writer->HideAddresses(thread);
  writer->Line("setp.ne.u32 %p0, %r2, 0;");
  writer->Line("@%p0 bra ", started, ";");
  writer->Line("st.relaxed.sys.global.u32 [%rd0+", LitmusControl::kStarted + 4 * task, "], 1;");
  writer->Label(started);
  writer->Delay(14);  // up to about 8 microseconds
  writer->Body(thread, nullptr);
  writer->StoreRegisters(thread);
  writer->EndKernel();
}

}  // namespace

absl::StatusOr<std::string> MakeTaskKernels(const coherence::LitmusTest& test, uint32_t instances,
                                            LitmusTiming timing) {
  const absl::Status can_run = CheckCanRun(test);
  if (!can_run.ok()) return can_run;
  LitmusWriter writer(test, timing);
  writer.Header();
  for (size_t t = 0; t < test.program.threads.size(); ++t) {
    if (test.program.threads[t].kind == coherence::Thread::kLaunch) {
      WriteTask(t, instances, &writer);
    }
  }
  return writer.Take();
}

}  // namespace twinmmu
