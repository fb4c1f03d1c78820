// Instructions by which the blocks of a cluster do something together.

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {

void Decoder::ClusterBarrier() {
  if (!IsThere(78, 90)) return;
  const int form = TakeOneOf({"arrive", "wait"});
  if (form < 0) return FailInvalid("arrive or wait is missing");
  Order order = Order::kAcquire;
  if (form == 0) {
    order = TakeOneOf({"release", "relaxed"}) == 1 ? Order::kRelaxed : Order::kRelease;
  } else {
    Take("acquire");
  }
  Take("aligned");
  ExpectOperands(0, 0);
  Step& step = Emit(PerformClusterBarrier);
  step.detail = form == 0;
  step.memory.order = order;
}

// mapa d, a, rank; getctarank d, a;
void Decoder::MapAddress(bool gives_rank) {
  if (!IsThere(78, 90)) return;
  const Type type = TakeType();
  const bool shared = Take("shared::cluster");
  ExpectOperands(gives_rank ? 2 : 3, gives_rank ? 2 : 3);
  if (type != Type::kU32 && type != Type::kU64) return FailInvalid("the type is .u32 or .u64");
  if (!shared && type == Type::kU32) {
    return FailUnimplemented("generic addresses of 32 bits are not supported");
  }
  Step step;
  step.perform = gives_rank ? PerformRankOf : PerformMapAddress;
  step.memory.space = shared ? Space::kShared : Space::kGeneric;
  step.memory.bytes = static_cast<uint8_t>(BytesOf(type));
  const Type bits = BitsOfWidth(WidthOf(type));
  step.operands[0] = Destination(At(0), gives_rank ? Type::kB32 : bits);
  step.operands[1] = Source(At(1), bits);
  if (!gives_rank) step.operands[2] = Source(At(2), Type::kB32);
  Emit(step);
}

void Decoder::Mapa() { MapAddress(/*gives_rank=*/false); }
void Decoder::GetRank() { MapAddress(/*gives_rank=*/true); }

}  // namespace twinmmu::ptx
