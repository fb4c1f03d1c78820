#include "conformance/abi/random/unpacked.h"

#include <zstd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace twinmmu::abi {

std::string Unpacked(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  ZSTD_inBuffer from = {packed.data(), packed.size(), 0};
  std::string text;
  std::vector<char> piece(ZSTD_DStreamOutSize());
  while (true) {
    ZSTD_outBuffer to = {piece.data(), piece.size(), 0};
    const size_t more = ZSTD_decompressStream(stream.get(), &to, &from);
    if (ZSTD_isError(more)) return "";
    text.append(piece.data(), to.pos);
    if (from.pos == from.size && to.pos < to.size) return more == 0 ? text : "";
  }
}

}  // namespace twinmmu::abi
