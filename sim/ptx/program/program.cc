#include "sim/ptx/program/program.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sim/ptx/program/code.h"

namespace twinmmu::ptx {

Program::Program() = default;
Program::~Program() = default;

uint32_t SharedLayout::OffsetOf(int variable) const {
  const auto found =
      std::lower_bound(places.begin(), places.end(), variable,
                       [](const Place& place, int wanted) { return place.variable < wanted; });
  return found != places.end() && found->variable == variable ? found->offset : 0;
}

namespace {

// Of functions that are inlined into each other, those that are told.
constexpr int kMostInlined = 16;

// As it is written in C++, without what names its file; as it is, if it is too long.
std::string InCpp(const std::string& name) {
  constexpr size_t kLongest = 1024;
  if (name.size() > kLongest) return name;
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string demangled = text == nullptr ? name : text;
  std::free(text);
  constexpr absl::string_view kOfFile = "_INTERNAL_";
  const size_t end = demangled.find("::");
  if (absl::StartsWith(demangled, kOfFile) && end != std::string::npos) {
    demangled.erase(0, end + 2);
  }
  return demangled;
}

// Empty: it is not known.
std::string SourceInWords(const Module& module, SourceLine line) {
  std::string words;
  for (int i = 0; i < kMostInlined; ++i) {
    const auto file = static_cast<size_t>(std::max(line.file, 0));
    if (line.line == 0 || file >= module.files.size() || module.files[file].empty()) break;
    absl::StrAppend(&words, module.files[file], ":", line.line);
    if (line.inlined < 0) break;
    const InlinedCall& call = module.inlined_calls[static_cast<size_t>(line.inlined)];
    const std::string& name = module.inlined_functions[static_cast<size_t>(call.function)];
    if (!name.empty()) absl::StrAppend(&words, " in ", InCpp(name));
    absl::StrAppend(&words, ", inlined at ");
    line = call.at;
  }
  return words;
}

}  // namespace

CodePlace PlaceOf(const Code& code, size_t function, size_t instruction) {
  CodePlace place;
  const std::vector<Instruction>& body = code.module.functions[function].body;
  if (instruction >= body.size()) return place;
  const Instruction& found = body[instruction];
  place.position = found.position;
  place.source = SourceInWords(code.module, found.source);
  place.instruction = found.opcode;
  for (const std::string& modifier : found.modifiers) {
    absl::StrAppend(&place.instruction, ".", modifier);
  }
  return place;
}

std::string InWords(const std::string& kernel, const CodePlace& place) {
  std::string words = absl::StrCat("kernel ", kernel);
  if (place.position.line == 0) return words;
  absl::StrAppend(&words, ", PTX line ", place.position.line);
  if (!place.source.empty()) absl::StrAppend(&words, " (", place.source, ")");
  absl::StrAppend(&words, ", ", place.instruction);
  return words;
}

std::string InWords(const Refusal& refusal) {
  const std::string instruction =
      refusal.instruction.empty() ? "" : absl::StrCat("`", refusal.instruction, "`: ");
  return absl::StrCat("line ", refusal.line, ": ", instruction, refusal.reason);
}

std::vector<Refusal> Program::Refusals() const {
  std::vector<Refusal> all;
  for (const FunctionCode& function : code_->functions) {
    all.insert(all.end(), function.refusals.begin(), function.refusals.end());
  }
  return all;
}

std::string Program::SiteInWords(uint32_t part, uint32_t index) const {
  const std::vector<FunctionCode>& functions = code_->functions;
  const auto behind = std::upper_bound(
      functions.begin(), functions.end(), index,
      [](uint32_t site, const FunctionCode& function) { return site < function.first_site; });
  if (part >= kernels_.size() || behind == functions.begin()) return "no kernel";
  const size_t function = static_cast<size_t>(behind - functions.begin()) - 1;
  return InWords(kernels_[part].name,
                 PlaceOf(*code_, function, index - functions[function].first_site));
}

const KernelInfo* Program::FindKernel(absl::string_view name) const {
  for (const KernelInfo& kernel : kernels_) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

const GlobalInfo* Program::FindGlobal(absl::string_view name) const {
  for (const GlobalInfo& global : globals_) {
    if (global.name == name) return &global;
  }
  return nullptr;
}

void Program::WriteImages(const Image& image, absl::Span<const Image> managed) const {
  const Module& module = code_->module;
  std::map<absl::string_view, uint64_t> addresses;
  const auto place_of = [&](size_t i) {
    const uint64_t place = code_->image_offsets[i];
    if (module.variables[i].managed && !managed.empty()) return managed[place];
    const bool has = image.zeros != nullptr && !module.variables[i].managed;
    return Image{image.base + Bytes(place), has ? image.zeros + place : nullptr};
  };
  for (size_t i = 0; i < module.variables.size(); ++i) {
    addresses.emplace(module.variables[i].name, place_of(i).base.value());
  }
  for (size_t i = 0; i < module.functions.size(); ++i) {
    addresses.emplace(module.functions[i].name, AddressOfFunction(static_cast<int>(i)));
  }
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const Variable& variable = module.variables[i];
    if (variable.space == Space::kShared || variable.external) continue;
    char* const zeros = place_of(i).zeros;
    if (zeros == nullptr) continue;
    const uint64_t bytes = std::min<uint64_t>(BytesOf(variable.type), sizeof(uint64_t));
    uint64_t at = 0;
    for (const Initializer& value : variable.initial) {
      if (at + bytes > variable.size()) break;
      const uint64_t bits =
          value.address_of.empty() ? value.bits : addresses.at(value.address_of) + value.bits;
      if (bits != 0) std::memcpy(zeros + at, &bits, bytes);
      at += BytesOf(variable.type);
    }
  }
}

}  // namespace twinmmu::ptx
