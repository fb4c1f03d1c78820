/* A fat binary written down, as the compilers of CUDA put it into a program: PTX, with the headers
 * in front of it. For C and C++.
 *
 *   TWINMMU_FAT_BINARY(kKernels, 70, ".version 7.0\n.target sm_70\n...");
 *   void** const module = __cudaRegisterFatBinary(&kKernels);
 */

#ifndef TWINMMU_SIM_LIBCUDART_TESTING_FAT_BINARY_IMAGE_H_
#define TWINMMU_SIM_LIBCUDART_TESTING_FAT_BINARY_IMAGE_H_

#include <stdint.h>

/* Of the whole, and of its only entry. */
struct twinmmu_fat_headers {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;

  uint16_t kind;
  uint16_t attributes;
  uint32_t entry_header_bytes;
  uint64_t entry_bytes;
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t target;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t decompressed_bytes;
  uint64_t options_end; /* where they end; a driver looks */
  uint64_t options_bytes;
};

struct twinmmu_fat_wrapper {
  uint32_t magic;
  uint32_t version;
  const void* image;
  void* more;
};

enum { TWINMMU_FAT_PTX = 1, TWINMMU_FAT_MACHINE_CODE = 2 };

#define TWINMMU_FAT_SIZE(text) ((sizeof(text) + 7) / 8 * 8)
/* `kind`: what `text` is called, which need not be true. */
#define TWINMMU_FAT_BINARY_OF(kind, name, target, text)                 \
  static const struct {                                                 \
    struct twinmmu_fat_headers headers;                                 \
    char text_[TWINMMU_FAT_SIZE(text)];                                 \
  } name##Image = {{0xba55ed50, 1,     16, 80 + TWINMMU_FAT_SIZE(text), \
                    kind,       0x101, 80, TWINMMU_FAT_SIZE(text),      \
                    0,          64,    0,  7,                           \
                    target,     0,     0,  0x11,                        \
                    0,          0,     72, 0},                          \
                   text};                                               \
  static struct twinmmu_fat_wrapper name = {0x466243b1, 1, &name##Image, 0}
#define TWINMMU_FAT_BINARY(name, target, ptx) \
  TWINMMU_FAT_BINARY_OF(TWINMMU_FAT_PTX, name, target, ptx)

#endif /* TWINMMU_SIM_LIBCUDART_TESTING_FAT_BINARY_IMAGE_H_ */
