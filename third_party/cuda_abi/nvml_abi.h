/* The part of NVML's binary interface that our library has, for C and C++: written down from its
 * documentation, as the toolkit does not always bring the header. Names, values and layouts are
 * NVML's. The layouts were compared with what NVML of driver 580.159 writes.
 *
 * Enumerations are plain integers, because any value must be able to pass. The functions are those
 * of nvml_exports.inc.
 */

#ifndef TWINMMU_THIRD_PARTY_CUDA_ABI_NVML_ABI_H_
#define TWINMMU_THIRD_PARTY_CUDA_ABI_NVML_ABI_H_

typedef int nvmlReturn_t;
enum {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_MEMORY = 20,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_UNKNOWN = 999
};

typedef struct nvmlDevice_st* nvmlDevice_t;

/* The newest form; the others end earlier, or name the bus in fewer characters. */
typedef struct nvmlPciInfo_t {
  char busIdLegacy[16]; /* "0000:1B:00.0" */
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pciDeviceId; /* and the vendor's, in the lower half */
  unsigned int pciSubSystemId;
  char busId[32]; /* "00000000:1B:00.0" */
} nvmlPciInfo_t;

typedef struct nvmlPciInfo_v2_t {
  char busId[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pciDeviceId;
  unsigned int pciSubSystemId;
  unsigned int reserved[4];
} nvmlPciInfo_v2_t;

typedef struct nvmlMemory_t {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
} nvmlMemory_t;

/* Structures with a version: their size, and the number of the form in the highest byte. */
#define TWINMMU_NVML_VERSION(type, number) ((unsigned int)sizeof(type) | (number) << 24)

typedef struct nvmlMemory_v2_t {
  unsigned int version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
} nvmlMemory_v2_t;

typedef struct nvmlUtilization_t {
  unsigned int gpu; /* percent */
  unsigned int memory;
} nvmlUtilization_t;

typedef struct nvmlProcessInfo_v1_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;

typedef struct nvmlProcessInfo_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId; /* ~0: none, as without MIG */
  unsigned int computeInstanceId;
} nvmlProcessInfo_t;

/* The array has room for so many samples. Its layout was not compared. */
typedef struct nvmlProcessesUtilizationInfo_t {
  unsigned int version;
  unsigned int processSamplesCount;
  unsigned long long lastSeenTimeStamp;
  struct nvmlProcessUtilizationInfo_v1_t* procUtilArray;
} nvmlProcessesUtilizationInfo_t;

typedef struct nvmlFieldValue_t {
  unsigned int fieldId;
  unsigned int scopeId;
  long long timestamp; /* microseconds */
  long long latencyUsec;
  unsigned int valueType; /* 1: uiVal */
  nvmlReturn_t nvmlReturn;
  union {
    double dVal;
    unsigned int uiVal;
    unsigned long long ullVal;
  } value;
} nvmlFieldValue_t;
enum { NVML_FI_DEV_NVLINK_LINK_COUNT = 91 };

typedef struct nvmlGpuFabricInfo_t {
  unsigned char clusterUuid[16];
  nvmlReturn_t status; /* of joining the fabric */
  unsigned int cliqueId;
  unsigned char state;
} nvmlGpuFabricInfo_t;
enum { NVML_GPU_FABRIC_STATE_NOT_SUPPORTED = 0, NVML_GPU_FABRIC_STATE_COMPLETED = 3 };

/* The third form has one more field. */
typedef struct nvmlGpuFabricInfo_v2_t {
  unsigned int version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  unsigned char state;
  unsigned int healthMask;
} nvmlGpuFabricInfo_v2_t;

typedef struct nvmlGpuFabricInfo_v3_t {
  unsigned int version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  unsigned char state;
  unsigned int healthMask;
  unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;

typedef struct nvmlConfComputeSystemState_t {
  unsigned int environment;
  unsigned int ccFeature;
  unsigned int devToolsMode;
} nvmlConfComputeSystemState_t;

/* nvmlGpuP2PStatus_t */
enum { NVML_P2P_STATUS_OK = 0, NVML_P2P_STATUS_NOT_SUPPORTED = 5 };
/* nvmlGpuP2PCapsIndex_t */
enum {
  NVML_P2P_CAPS_INDEX_READ = 0,
  NVML_P2P_CAPS_INDEX_WRITE = 1,
  NVML_P2P_CAPS_INDEX_NVLINK = 2,
  NVML_P2P_CAPS_INDEX_ATOMICS = 3,
  NVML_P2P_CAPS_INDEX_PCI = 4,
  NVML_P2P_CAPS_INDEX_UNKNOWN = 5
};
/* nvmlGpuTopologyLevel_t */
enum { NVML_TOPOLOGY_NODE = 40, NVML_TOPOLOGY_SYSTEM = 50 };
/* nvmlIntNvLinkDeviceType_t */
enum { NVML_NVLINK_DEVICE_TYPE_GPU = 0, NVML_NVLINK_DEVICE_TYPE_SWITCH = 2 };

#endif /* TWINMMU_THIRD_PARTY_CUDA_ABI_NVML_ABI_H_ */
