#include <iostream>

#include "sim/simulator.h"

using namespace twinmmu;

int main() {
  auto simulator = Simulator::Create(Profile::ReferenceH200()).value();
  Vmm& vmm = *simulator->vmm().value();
  Executor& executor = *simulator->executor().value();
  const DeviceOrdinal device(0);
  const AllocationProperties plain;  // pinned memory of device 0
  const Bytes size = vmm.GetAllocationGranularity(plain, Granularity::kMinimum).value();
  const AddressRange range = vmm.AddressReserve(size).value();      // addresses without memory
  const AllocationHandle handle = vmm.Create(size, plain).value();  // memory without an address
  absl::Status status = vmm.Map(range, handle);
  status.Update(vmm.SetAccess(range, {{Location::Device(device), Access::kReadWrite}}));
  const int sent = 42;
  int received = 0;
  status.Update(executor.CopyHostToDevice(device, range.base, &sent, Bytes(sizeof(sent))));
  status.Update(executor.CopyDeviceToHost(device, &received, range.base, Bytes(sizeof(sent))));
  status.Update(vmm.Unmap(range));
  status.Update(vmm.Release(handle));
  status.Update(vmm.AddressFree(range));
  std::cout << range << " held " << received << ": " << status << "\n";
  return status.ok() && received == sent ? 0 : 1;
}
