// Decoder: a function of a module as steps.

#ifndef TWINMMU_SIM_PTX_DECODE_DECODE_H_
#define TWINMMU_SIM_PTX_DECODE_DECODE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sim/coherence/model/litmus_program.h"
#include "sim/ptx/decode/fusions.h"
#include "sim/ptx/matrices/matrix_fragments.h"
#include "sim/ptx/operations/operation.h"
#include "sim/ptx/operations/video_operations.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

// Where the decoder finds the variables of a module. By index of Module::variables, and of
// Function::variables for each function.
struct Placement {
  struct Place {
    uint64_t offset = 0;  // into the image, the local memory, the parameters of a frame
    int shared = -1;      // of Code::shared
    int managed = -1;     // of Program::managed_sizes
  };
  uint64_t const_bytes = 0;  // of .const variables, which come first
  std::vector<Place> of_module;
  std::vector<std::vector<Place>> of_functions;
};

// The bytes of a value in a slot; 0 of a predicate.
int WidthOf(Type type);
// The bits of such a value: what registers of any type of that size hold.
Type BitsOfWidth(int width);

// What Decoder::KeepFactors found: where the factors of a product are.
using Factors = std::array<uint32_t, 2>;

// Whether every device has a function of that name, as vprintf: modules declare it, and none has
// it.
bool IsKnownFunction(absl::string_view name);

// For one function. A method that finds something wrong notes it, the first time, and goes on with
// whatever does no harm.
class Decoder {
 public:
  // The parameters and variables of the function are placed already.
  // What takes the address of a function says so in `functions`. `fuses`: products go into sums
  // unrounded where the driver's compiler lets them.
  Decoder(const Module& module, int function, const Placement& placement, bool fuses,
          std::vector<FunctionCode>* functions);

  // InvalidArgument: as MakeProgram. What is not covered goes to FunctionCode::refusals.
  absl::Status Decode();

 private:
  using Method = void (Decoder::*)();
  static Method FindMethod(absl::string_view opcode);

  // --- By opcode. decode.cc, decode_fused.cc, decode_memory.cc, decode_multimem.cc,
  // decode_async.cc, decode_cluster.cc, decode_flow.cc, decode_lanes.cc, decode_matrix.cc ---
  void DecodeOne();
  void DecodeFused(const Fusion& fusion);
  void KeepFactors(const Fusion& fusion);
  uint32_t Negated(uint32_t slot, absl::string_view type);
  void Computation();
  void Mov();
  void Cvta();
  void IsSpace();
  void Load();
  void Store();
  void LoadOrStore(bool stores);
  void AccessHalves(Step step, Type type, absl::Span<const Operand> parts, uint64_t bytes,
                    bool stores);
  void EmitAccess(Step step, Type type, absl::Span<const Operand> parts, bool stores);
  void Atom();
  void Red();
  void Atomic(bool gives_old);
  void Multimem();
  void Fence();
  void Mbarrier();
  void MbarrierInit(bool init);
  void MbarrierArrive(bool drops);
  void MbarrierBytes(bool expects);
  void MbarrierWait(bool tries);
  void CopyInstruction();
  void CopyGroups(bool bulk, bool waits);
  void CopyAsync();
  void ArriveAfterCopies();
  void BulkCopy(bool reduces);
  void BulkPrefetch();
  // --- decode_tensor.cc ---
  void TensorCopy(bool reduces);
  void TensorPrefetch();
  void TensorMapInstruction();
  void ReplaceInTensorMap();
  void CopyTensorMap();
  void FenceOfTensorMaps();
  uint32_t TensorAddress(const Operand& operand, TensorCode* tensor);
  void TensorOffsets(const Operand& operand, TensorCode* tensor);
  size_t TakeTensorRank();
  void TakeTensorMode(absl::string_view im2col, size_t rank, TensorCode* tensor);
  void EmitTensor(size_t rank, const TensorCode& tensor, Step step);
  void StoreAsync(bool reduces);
  void ClusterBarrier();
  void MapAddress(bool gives_rank);
  void Mapa();
  void GetRank();
  void GridControl();
  void Ignored();
  void Discard();
  void ApplyPriority();
  void CheckLine(Access access);
  void Bra();
  void BranchIndexed();
  void Call();
  void Ret();
  void Exit();
  void Trap();
  void Sleep();
  void Bar();
  void BarArrive();
  void BarReduce();
  void WarpBarrier();
  void Shuffle();
  void Vote();
  void Match();
  void Redux();
  void ActiveMask();
  void Elect();
  void Mma();
  void LoadMatrix();
  void StoreMatrix();
  void LoadOrStoreMatrix(bool stores);
  void MoveMatrix();
  // --- decode_wide.cc, decode_stack.cc ---
  bool IsWide() const;
  uint32_t WideSlot(const Operand& operand, bool written);
  void MoveWide();
  void LoadOrStoreWide(bool stores);
  void AtomicWide();
  void AtomicVector(bool gives_old, int count);
  uint32_t Widened(const Operand& operand, int width);
  int TakeStackWidth();
  void TakeStack();
  void SaveStack();
  void RestoreStack();
  void SetMaxRegisters();
  int TakePriority();
  void CreatePolicy();
  // --- decode_video.cc ---
  uint64_t VideoPart(const Operand& operand);
  uint64_t VideoLanes(const Operand& operand, int parts, int first);
  uint64_t VideoMask(const Operand& operand, int parts);
  VideoForm TakeVideoForm();
  void Video();
  // --- decode_textures.cc, decode_surfaces.cc ---
  void TextureRead();
  void TextureGather();
  void AskTexture();
  void IsTextureType();
  void SurfaceLoad();
  void SurfaceStore();
  void SurfaceReduction();
  bool TakeGeometry(TextureGeometry* geometry);
  bool IsReference(const Operand& operand) const;
  uint32_t HandleAt(size_t index);
  std::vector<uint32_t> ComponentsOf(const Operand& operand, size_t count, Type type);
  void CoordinatesAt(size_t index, Type type, TextureCode* code);
  void TextureValues(size_t index, Type type, int count, TextureCode* code);
  void TakeSurfacePlace(size_t address, TextureCode* code);
  void SurfaceValues(const Operand& operand, Type type, bool written, TextureCode* code);
  void EmitTexture(const TextureCode& code, Perform perform, uint8_t detail = 0);
  // --- decode_wmma.cc, decode_warpgroup.cc ---
  void Wmma();
  void WmmaProduct();
  void WmmaAccess(bool stores);
  void Warpgroup();
  void WarpgroupProduct(bool sparse);
  bool ConstantAt(size_t index, int64_t first, int64_t second);
  void EmitFragment(const MatrixCode& matrix, const Step& places, int together, bool stores);

  // --- Modifiers. Those of an instruction that nobody took are not covered. ---
  bool Take(absl::string_view modifier);
  bool Has(absl::string_view modifier) const;
  bool HasAny(std::initializer_list<absl::string_view> names) const;
  bool HasScope() const;
  bool IsOfGlobalMemory() const;  // .global, or no space said
  // Fail if those that are there do not go together.
  void CheckAccess();
  void CheckCacheHints();
  void CheckAtomic(bool gives_old);
  void CheckMbarrier(absl::string_view operation);
  // The first of `names` that is there, or -1.
  int TakeOneOf(std::initializer_list<absl::string_view> names);
  // The same as its name, or "".
  absl::string_view TakeName(std::initializer_list<absl::string_view> names);
  Type TakeType();
  Space TakeSpace();
  // And whether it is of no other block.
  void TakeSpace(MemoryAccess* access);
  size_t TakeCacheHints();
  coherence::Scope TakeScope(coherence::Scope unsaid);
  void TakeOrder(Order unsaid, coherence::Scope unsaid_scope, MemoryAccess* access);
  Space TakeSharedSpace();
  void MbarrierOrder(Order unsaid, Step* step);
  void BulkReduction(bool to_shared, Step* step);
  // Else says that it is not there yet.
  bool IsThere(int version, int target);
  // No modifier, but `count` of the type that was taken.
  void TakeSize(Type type, int count, MemoryAccess* access);
  // Of multimem, whose type was taken.
  void TakeMulticastOrder(bool loads, bool changes, MemoryAccess* access);
  int TakeMulticastCount(Type type);
  // The elements of multimem in slots one behind the other; the first. Those that are read are
  // copied there.
  uint32_t MulticastSlots(const Operand& elements, Type type, int count, bool read);
  void CopyFromMulticastSlots(uint32_t first, const Operand& elements, Type type);

  // Of matrices: "m16n8k16"; the types of elements, which are all that is left.
  bool TakeShape(MatrixProduct* product);
  absl::string_view TakeLayout();
  bool TakeElements(std::initializer_list<Element*> elements);
  bool CheckTarget(int first);
  bool CheckProduct(const MatrixProduct& product, bool mixed_sums);
  std::vector<uint32_t> FragmentAt(const Operand& operand, const Fragment& fragment, bool written);
  void EmitProduct(MatrixForm form, size_t operands);
  void TakeMetadata(size_t index, const MatrixForm& form, MatrixCode* matrix);

  // --- Operands ---
  const Operand& At(size_t index);
  void ExpectOperands(size_t least, size_t most);
  // The slot of a value of `type` that is read.
  uint32_t Source(const Operand& operand, Type type);
  // The slot of a value that is written; of _, one that nobody reads.
  uint32_t Destination(const Operand& operand, Type type);
  // A register as it is; its width comes out.
  uint32_t RegisterSlot(int index);
  Type TypeOfRegister(int index);
  uint32_t Constant(const Operand& operand, Type type);
  uint32_t Fixed(FixedSlot::Base base, int index, uint64_t bits, int width);
  uint32_t SpecialSlot(const Operand& operand, int width);
  // The address of what a name stands for, in its space.
  uint32_t AddressOf(const Operand& operand, Space* space);
  // The same for an instruction that takes it as a number: mov.
  uint32_t AddressAsValue(const Operand& operand);
  uint32_t NewSlot(int width);
  uint32_t CarrySlot();
  // Slots of 8 bytes for one instruction: `count` of them, which the next one may use as well.
  uint32_t ScratchSlots(int count);
  // Of [a]: the slot, and what goes into step->memory.
  uint32_t Address(const Operand& operand, Space space, Step* step);
  uint32_t WholeAddress(const Operand& operand, Space space);
  uint32_t SmallConstant(const Operand& operand);
  // What cp.async reads of `size` bytes.
  void CopySourceAt(size_t index, uint32_t size, Step* step);
  bool Fits(Type of_register, Type wanted);
  uint32_t Inverted(uint32_t predicate);
  std::vector<Passed> PassedOf(const Operand& list);
  void CheckPassed(const std::vector<Passed>& passed, const std::vector<Variable>& declared);
  uint32_t MaskAt(size_t index);
  // d or d|p, as operands 0 and 1.
  void PairAt(size_t index, Type first, Step* step);

  // Adds a step, with the guard of the instruction.
  Step& Emit(const Step& step);
  Step& Emit(Perform perform);
  Step& EmitCompute(Compute compute, const std::array<uint32_t, kMaxOperands>& operands);

  template <typename... Words>
  void FailUnimplemented(const Words&... words) {
    Note(absl::StatusCode::kUnimplemented, absl::StrCat(words...));
  }
  template <typename... Words>
  void FailInvalid(const Words&... words) {
    Note(absl::StatusCode::kInvalidArgument, absl::StrCat(words...));
  }
  void Note(absl::StatusCode code, absl::string_view words);

  const Module& module_;
  const int index_;
  const Function& function_;
  const Placement& placement_;
  std::vector<FunctionCode>& functions_;
  FunctionCode& code_;
  absl::Status status_;  // of the instruction
  const Instruction* instruction_ = nullptr;
  int number_ = 0;                            // of the instruction
  std::vector<absl::string_view> modifiers_;  // not taken yet
  std::vector<uint32_t> register_slots_;
  uint32_t carry_slot_ = kNoSlot;
  uint32_t scratch_slots_ = kNoSlot;
  int scratch_count_ = 0;
  std::vector<uint32_t> first_steps_;  // of each instruction
  std::map<std::tuple<int, int, uint64_t, int>, uint32_t> fixed_slots_;
  const std::vector<Fusion> fusions_;  // of each instruction; empty: there are none
  std::map<int, Factors> factors_;     // of products that go into sums, by instruction
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_DECODE_DECODE_H_
