// Texture references: a new one for each call.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"
#include "conformance/abi/values/cases/texture_formats.h"

namespace twinmmu::abi {
namespace {

class Reference {
 public:
  Reference() { Must("cuTexRefCreate", &reference_); }
  ~Reference() { Must("cuTexRefDestroy", reference_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  CUtexref get() const { return reference_; }

 private:
  CUtexref reference_ = nullptr;
};

// Says what the driver tells of it, where that is not what was set.
template <typename Value, typename... Arguments>
void TellUnless(Trial& trial, Value set, const char* symbol, Arguments... arguments) {
  Value told = 99;
  trial.Answer(Call(symbol, &told, arguments...));
  if (told != set) trial.Tell(told);
}

void AddressMode(Trial& trial) {
  const Reference reference;
  int dimension = 0;
  int mode = 0;
  trial.Any(FIELD(dimension));
  trial.Any(FIELD(mode));
  trial.Answer(Call("cuTexRefSetAddressMode", reference.get(), dimension, mode));
  TellUnless(trial, mode, "cuTexRefGetAddressMode", reference.get(), dimension);
}
// A setting that is one number.
void SetNumber(Trial& trial, const char* set, const char* get) {
  const Reference reference;
  int value = 0;
  trial.Any(FIELD(value));
  trial.Answer(Call(set, reference.get(), value));
  TellUnless(trial, value, get, reference.get());
}
void FilterMode(Trial& trial) {
  SetNumber(trial, "cuTexRefSetFilterMode", "cuTexRefGetFilterMode");
}
void Flags(Trial& trial) { SetNumber(trial, "cuTexRefSetFlags", "cuTexRefGetFlags"); }
void Anisotropy(Trial& trial) {
  SetNumber(trial, "cuTexRefSetMaxAnisotropy", "cuTexRefGetMaxAnisotropy");
}
void MipmapFilterMode(Trial& trial) {
  SetNumber(trial, "cuTexRefSetMipmapFilterMode", "cuTexRefGetMipmapFilterMode");
}
void Format(Trial& trial) {
  const Reference reference;
  int format = 1;
  int channels = 1;
  trial.OneOf(PlainFormats(), FIELD(format));
  trial.Any(FIELD(channels));
  trial.Answer(Call("cuTexRefSetFormat", reference.get(), format, channels));
  int told_format = 99;
  int told_channels = 99;
  Must("cuTexRefGetFormat", &told_format, &told_channels, reference.get());
  if (told_format != format || told_channels != channels) trial.Tell(told_format, told_channels);
}
void LevelClamp(Trial& trial) {
  const Reference reference;
  float bias = 0;
  float least = 0;
  float most = 0;
  trial.Any(FIELD(bias));
  trial.Any(FIELD(least));
  trial.Any(FIELD(most));
  trial.Answer(Call("cuTexRefSetMipmapLevelBias", reference.get(), bias));
  trial.Answer(Call("cuTexRefSetMipmapLevelClamp", reference.get(), least, most));
}
void Address(Trial& trial) {
  const Reference reference;
  CUdeviceptr address = Memory();
  size_t size = 4096;
  trial.Offset(kBytes, FIELD(address));
  trial.Size(FIELD(size));
  size_t offset = 77;
  const CUresult result = Call("cuTexRefSetAddress_v2", &offset, reference.get(), address, size);
  trial.Answer(result);
  if (result == CUDA_SUCCESS && offset != address - Memory()) trial.Tell(offset);
}
// Of widths and heights a genuine driver looks at 32 bits.
void Rows(Trial& trial) {
  const Reference reference;
  CUDA_ARRAY_DESCRIPTOR shape = {64, 16, 1, 1};
  CUdeviceptr address = Memory();
  size_t pitch = 512;
  trial.UpTo(kLargest32, FIELD(shape.Width));
  trial.UpTo(kLargest32, FIELD(shape.Height));
  trial.OneOf(PlainFormats(), FIELD(shape.Format));
  trial.Any(FIELD(shape.NumChannels));
  trial.Offset(kBytes, FIELD(address));
  trial.Size(FIELD(pitch));
  trial.Answer(Call("cuTexRefSetAddress2D_v3", reference.get(), &shape, address, pitch));
}
void Array(Trial& trial) {
  const Reference reference;
  unsigned int flags = 1;
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuTexRefSetArray", reference.get(), Plane(), flags));
}

}  // namespace

std::vector<Case> TextureReferenceCases() {
  return {{"cuTexRefSetAddressMode", AddressMode},
          {"cuTexRefSetFilterMode", FilterMode},
          {"cuTexRefSetFlags", Flags},
          {"cuTexRefSetMaxAnisotropy", Anisotropy},
          {"cuTexRefSetMipmapFilterMode", MipmapFilterMode},
          {"cuTexRefSetFormat", Format},
          {"cuTexRefSetMipmapLevelClamp", LevelClamp},
          {"cuTexRefSetAddress", Address},
          {"cuTexRefSetAddress2D", Rows},
          {"cuTexRefSetArray", Array}};
}

}  // namespace twinmmu::abi
