// ProgramBuilder: makes a Program of the words of a litmus test.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_LITMUS_BUILDER_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_LITMUS_BUILDER_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/coherence/model/litmus_program.h"

namespace twinmmu::coherence {

// The parts of `text` between `separator`s that stand in no brackets, without blanks around them.
std::vector<absl::string_view> SplitOutsideBrackets(absl::string_view text, char separator);

// What a modifier says; false: something else.
bool FindScope(absl::string_view part, Scope* scope);
bool FindArithmetic(absl::string_view part, Arithmetic* operation);

class ProgramBuilder {
 public:
  // Memory with one location, seen through each of `aliases`.
  absl::Status AddLocation(absl::string_view name, uint64_t initial,
                           const std::vector<std::string>& aliases);
  // One location per replica, each with its unicast address; each of `multicast` is over all.
  absl::Status AddMulticast(absl::string_view name, uint64_t initial,
                            const std::vector<std::string>& replicas,
                            const std::vector<std::string>& multicast);
  absl::Status SetDevice(absl::string_view address, int device);

  // For names that no location declares: which are used by multimem instructions ("mflag": "uflag"
  // is then its unicast address on the GPU of the thread), and how many GPUs there are.
  void ExpectMulticast(std::set<std::string> names, int gpus);

  // A thread of a PTX test. Errors name the instruction.
  absl::Status AddThread(int process, const Place& place,
                         const std::vector<std::string>& instructions);
  // What one host thread queues into its stream: tasks, records and waits of events.
  absl::Status AddStream(int process, int stream, int gpu, const std::vector<std::string>& tasks);

  // Resolves what needs the whole program. The builder is empty after it.
  absl::StatusOr<Program> Finish();

 private:
  struct Stream {
    std::vector<int> tail;               // what the next task comes after
    std::vector<std::string> waits;      // events that it waits for
    std::vector<int> started_processes;  // "wait until P1 running"
    bool host_waits = false;
    int primary = -1;  // the last launch
  };
  struct Record {  // of an event
    std::vector<int> tasks;
    std::vector<std::string> events;
  };

  // What stands between the dots of an opcode.
  struct Parts {
    std::vector<absl::string_view> list;
    // Takes away the first one, if it is this.
    bool Take(absl::string_view part) {
      if (list.empty() || list.front() != part) return false;
      list.erase(list.begin());
      return true;
    }
  };

  absl::StatusOr<Instruction> ParseInstruction(absl::string_view text, Thread* thread);
  absl::Status ParseModifiers(const std::vector<absl::string_view>& parts, Instruction* out);
  absl::Status ParseFence(Parts parts, absl::string_view text, Instruction* out);
  absl::Status ParseBarrier(Parts parts, absl::string_view text, absl::string_view rest,
                            Instruction* out);
  absl::Status ParseAccess(absl::string_view opcode, Parts parts, absl::string_view rest,
                           Thread* thread, Instruction* out);
  absl::Status ParseOperands(absl::string_view text, bool multimem, bool has_result, Thread* thread,
                             Instruction* out);
  absl::Status ParseSpin(absl::string_view text, Thread* thread, Instruction* out);
  static bool IsAsynchronous(absl::string_view word);
  absl::StatusOr<Instruction> ParseAsynchronous(absl::string_view text, absl::string_view word,
                                                Parts parts, absl::string_view rest,
                                                Thread* thread);
  absl::StatusOr<Instruction> ParseCopy(absl::string_view text, Parts parts, absl::string_view rest,
                                        Thread* thread);
  absl::StatusOr<Instruction> ParseRemoteStore(absl::string_view text, Parts parts,
                                               absl::string_view rest, Thread* thread);
  absl::StatusOr<Instruction> ParseProduct(absl::string_view text, absl::string_view rest,
                                           Thread* thread);
  absl::StatusOr<Instruction> ParseMbarrier(Parts parts, absl::string_view rest);
  static absl::StatusOr<Instruction> ParseClusterBarrier(Parts parts);
  Instruction Ask(absl::string_view text, std::vector<Instruction> body, int meeting,
                  const Thread& thread);
  // Where the thread meets its asynchronous operations of a kind that it has not waited for.
  int GroupOf(const Thread& thread, absl::string_view kind);
  Instruction WaitForGroup(const Thread& thread, absl::string_view kind);
  int MeetingNumber(absl::string_view name);
  absl::StatusOr<int> FindProxyAddress(absl::string_view name, Proxy proxy, const Place& place);
  absl::StatusOr<int> FindAddress(absl::string_view name, bool multimem, const Place& place);
  absl::StatusOr<Value> ParseValue(absl::string_view text, Thread* thread);
  int AddUndeclared(absl::string_view name, bool multimem, const Place& place);
  int AddAddress(absl::string_view name, std::vector<int> locations, bool multicast);

  absl::Status AddTask(absl::string_view text, int process, int gpu, Stream* stream);
  absl::Status AddLaunch(absl::string_view text, int process, int gpu, Stream* stream);
  absl::Status AddCopy(absl::string_view text, bool fill, int process, int gpu, Stream* stream);
  absl::Status AddGraph(absl::string_view text, int process, int gpu, Stream* stream);
  absl::StatusOr<int> MakeTask(absl::string_view text, int process, int gpu);
  absl::Status AddTaskOrWait(absl::string_view text, int process, int gpu, int stream_id,
                             Stream* stream);
  void WaitFor(const std::string& event, int thread, std::set<std::string>* seen);
  void Queue(int thread, bool programmatic, Stream* stream);

  Program program_;
  std::map<std::string, int, std::less<>> addresses_;
  std::set<std::string> multicast_names_;
  int gpus_ = 1;
  int next_cta_ = 1 << 20;  // each launch runs in blocks of its own
  std::map<int, Stream> streams_;
  std::map<std::string, Record, std::less<>> events_;
  // Waits for what may be declared later: thread, name of the event.
  struct LateWait {
    int thread;
    std::string event;
  };
  std::vector<LateWait> late_waits_;
  struct LateStart {
    int thread;
    int process;
  };
  std::vector<LateStart> late_starts_;
  // "until n": thread, instruction.
  std::vector<std::pair<int, int>> counted_;
  std::vector<Thread> operations_;  // asynchronous ones: behind all other threads
  std::map<std::string, int, std::less<>> meetings_;
  std::map<std::string, int> waits_;  // of a thread, for a kind of operation
  bool next_is_counted_ = false;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_LITMUS_BUILDER_H_
