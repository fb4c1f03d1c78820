#include "sim/libcuda/contexts.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace twinmmu::libcuda {
namespace {

void DeleteStack(void* stack) { delete static_cast<StackOfContexts*>(stack); }

// The stacks of threads that end. Not those of the thread that leaves main: it may still make calls
// when all thread-local objects are gone.
pthread_key_t EndOfThread() {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    pthread_key_create(&made, DeleteStack);
    return made;
  }();
  return key;
}

}  // namespace

thread_local StackOfContexts* context_stack = nullptr;

StackOfContexts& MakeContextStack() {
  context_stack = new StackOfContexts;
  pthread_setspecific(EndOfThread(), context_stack);
  return *context_stack;
}

Contexts::Contexts(int devices) {
  for (int i = 0; i < devices; ++i) {
    primary_.push_back(std::make_unique<Context>(DeviceOrdinal(i), true));
    known_.insert(primary_.back().get());
  }
}

Context* Contexts::Find(cuda_abi::CUcontext handle) const {
  auto* const context = reinterpret_cast<Context*>(handle);
  const std::shared_lock lock(mutex_);
  return known_.count(context) != 0 ? context : nullptr;
}

void Contexts::Enliven(Context& context) {
  const std::lock_guard lock(context.mutex);
  context.limits.clear();
  context.stack_bytes = Context::kUsualStack;
  context.uses_heap = false;
  context.id = ++last_id_;
  context.alive = true;
}

void Contexts::Retain(Context& primary) {
  const std::unique_lock lock(mutex_);
  ++primary.retained;
  if (!primary.alive) Enliven(primary);  // the first time, or after a reset
}

bool Contexts::Release(Context& primary, bool* last) {
  const std::unique_lock lock(mutex_);
  if (primary.retained == 0) return false;
  *last = --primary.retained == 0;
  if (*last) {
    primary.alive = false;
    primary.flags = primary.primary_flags = 0;
  }
  return true;
}

bool Contexts::Reset(Context& primary, bool* was_alive) {
  const std::unique_lock lock(mutex_);
  const bool has_green = std::any_of(known_.begin(), known_.end(), [&](const Context* context) {
    return context->whole == &primary && context->alive;
  });
  if (has_green && primary.alive) return false;
  primary.flags = primary.primary_flags = 0;
  *was_alive = primary.alive.exchange(false);
  return true;
}

Context& Contexts::Add(std::unique_ptr<Context> made) {
  const std::unique_lock lock(mutex_);
  created_.reserve(created_.size() + 1);
  known_.insert(made.get());
  created_.push_back(std::move(made));
  Context& context = *created_.back();
  Enliven(context);
  return context;
}

Context& Contexts::Create(DeviceOrdinal device, unsigned int flags) {
  auto made = std::make_unique<Context>(device, false);
  made->flags = flags;
  return Add(std::move(made));
}

Context& Contexts::CreateGreen(Context& primary, unsigned int multiprocessors,
                               uint64_t default_stream) {
  auto made = std::make_unique<Context>(primary.device, false);
  made->whole = &primary;
  made->multiprocessors = multiprocessors;
  made->default_stream = default_stream;
  return Add(std::move(made));
}

bool Contexts::Destroy(Context& created) { return created.alive.exchange(false); }

bool Contexts::AreAlive(DeviceOrdinal device) const {
  const std::shared_lock lock(mutex_);
  return std::any_of(known_.begin(), known_.end(), [&](const Context* context) {
    return context->device == device && context->alive;
  });
}

uint64_t Contexts::newest_id() const {
  const std::shared_lock lock(mutex_);
  return last_id_;
}

}  // namespace twinmmu::libcuda
