#include "api/allocators/sleeping_buffer.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "api/allocators/annotate.h"
#include "api/allocators/destructor_errors.h"
#include "api/allocators/keep_forever.h"
#include "api/allocators/work_tracker.h"

namespace twinmmu {

absl::StatusOr<std::unique_ptr<SleepingBuffer>> SleepingBuffer::Make(Vmm* vmm, Executor* executor,
                                                                     Bytes size,
                                                                     const PageOptions& options) {
  const Location location = options.properties.location;
  if (executor == nullptr) {
    return absl::InvalidArgumentError("executor is null: nothing to save the contents with");
  }
  if (location.type != LocationType::kDevice) {
    return absl::InvalidArgumentError(absl::StrCat(
        "location ", ToString(location), " is not a device: only its memory can be given back"));
  }
  PageOptions uncached = options;
  uncached.cache_limit = Bytes(0);
  absl::StatusOr<std::unique_ptr<PagedReservation>> pages =
      PagedReservation::Make(vmm, executor, size, uncached);
  if (!pages.ok()) return pages.status();
  absl::Status status = (*pages)->Commit((*pages)->all());
  if (!status.ok()) return status;
  absl::StatusOr<Stream> stream = executor->CreateStream(DeviceOrdinal(location.id));
  if (!stream.ok()) return Annotate(stream.status(), "no stream to save the contents with");
  return std::unique_ptr<SleepingBuffer>(new SleepingBuffer(executor, *stream, *std::move(pages)));
}

SleepingBuffer::~SleepingBuffer() {
  // The pages report the error.
  Close().IgnoreError();
  Discard(std::move(saved_));
  ReportFromDestructor(executor_->DestroyStream(stream_));
}

absl::Status SleepingBuffer::Sleep(Contents contents, absl::Span<const LastUse> after) {
  absl::Status status = pages_->CheckOpen();
  if (!status.ok()) return status;
  if (!awake_) return absl::FailedPreconditionError("the buffer already sleeps");
  // What is left of sleeps from which it was woken before the memory went.
  pages_->CollectFinished();
  std::unique_ptr<std::byte[]> host;
  if (contents == Contents::kSave) {
    status = CheckAccess(Access::kRead, "save the contents");
    if (!status.ok()) return status;
    host.reset(new (std::nothrow) std::byte[size().value()]);
    if (host == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no ", ToString(size()), " of host memory to save the contents in"));
    }
  }
  status = pages_->LetWait(stream_, after);
  if (!status.ok()) return Annotate(status, "the work after which the buffer is to sleep");
  if (host != nullptr) status = Save(host.get(), after.empty());
  if (status.ok()) {
    // The stream of the copies stands for all of `after`, and for the copy behind it.
    const LastUse behind_all = stream_;
    status = pages_->Decommit(pages_->all(),
                              after.empty() ? after : absl::MakeConstSpan(&behind_all, 1));
  }
  if (!status.ok()) {
    Discard(std::move(host));
    return status;
  }
  saved_ = std::move(host);
  awake_ = false;
  return absl::OkStatus();
}

absl::Status SleepingBuffer::CheckAccess(Access needed, absl::string_view what) const {
  const Access access = pages_->AccessOf(stream_.device());
  if (access == needed || access == Access::kReadWrite) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, ": that takes the access to ", ToString(needed), ", and ",
                   ToString(stream_.device()), " has ", ToString(access),
                   ". Grant it, and take it away afterwards"));
}

absl::Status SleepingBuffer::Save(void* host, bool wait) {
  absl::Status status = executor_->CopyDeviceToHost(stream_, host, address(), size());
  if (status.ok() && wait) status = executor_->SynchronizeStream(stream_);
  if (status.ok()) return status;
  return Annotate(status, "the contents could not be saved");
}

void SleepingBuffer::Discard(std::unique_ptr<std::byte[]> host) {
  if (host != nullptr && !WaitUntilOver(*executor_, stream_)) KeepForever(std::move(host));
}

absl::Status SleepingBuffer::Wake() {
  absl::Status status = PrepareWake();
  if (!status.ok()) return status;
  if (saved_ != nullptr) {
    status = Restore();
    if (!status.ok()) {
      status = Annotate(status, "the buffer sleeps on: its contents could not be restored");
      return CancelWake().ok() ? status
                               : Annotate(status, "its memory could not be given back again");
    }
    saved_.reset();
  }
  prepared_ = false;
  awake_ = true;
  return absl::OkStatus();
}

absl::Status SleepingBuffer::PrepareWake() {
  absl::Status status = CheckAsleep();
  if (!status.ok()) return status;
  if (saved_ != nullptr) {
    status = CheckAccess(Access::kReadWrite, "copy the contents back");
    if (!status.ok()) return status;
  }
  if (prepared_) return absl::OkStatus();
  status = pages_->Commit(pages_->all());
  if (!status.ok()) return Annotate(status, "the buffer sleeps on");
  prepared_ = true;
  return absl::OkStatus();
}

absl::Status SleepingBuffer::CancelWake() {
  absl::Status status = CheckAsleep();
  if (!status.ok() || !prepared_) return status;
  // After the work for which memory was still waiting when it was taken for the wake, and after the
  // copy of a wake that failed. Where that is done, at once: an event takes a moment to tell so.
  const LastUse copies = stream_;
  const bool done = executor_->QueryStream(stream_).value_or(false);
  status = pages_->UndoCommit(pages_->all(), absl::MakeConstSpan(&copies, done ? 0 : 1));
  if (!status.ok()) return status;
  prepared_ = false;
  pages_->CollectFinished();
  return absl::OkStatus();
}

absl::Status SleepingBuffer::CheckAsleep() const {
  absl::Status status = pages_->CheckOpen();
  if (!status.ok()) return status;
  return awake_ ? absl::FailedPreconditionError("the buffer is already awake") : status;
}

absl::Status SleepingBuffer::Restore() {
  // On the stream that saved them, and thus after that.
  absl::Status status = executor_->CopyHostToDevice(stream_, address(), saved_.get(), size());
  if (status.ok()) status = executor_->SynchronizeStream(stream_);
  return status;
}

absl::Status SleepingBuffer::Close() {
  // What PrepareWake got may still be in use.
  if (prepared_) CancelWake().IgnoreError();
  absl::Status status = pages_->Close();
  // The copy that saves the contents is work after which memory goes: it is done.
  if (status.ok()) saved_.reset();
  const bool whole = pages_->AllInUse(pages_->all());
  awake_ = awake_ && whole;
  prepared_ = prepared_ && whole;
  return status;
}

}  // namespace twinmmu
