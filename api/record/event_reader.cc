#include "api/record/event_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "api/files/read_file.h"

namespace twinmmu::record {
namespace {

constexpr size_t kBufferWords = 1 << 14;
// For frames, stacks and processes, which are kept: a program has some thousand of them.
constexpr size_t kMaxKept = size_t{256} << 20;
constexpr size_t kMaxProcesses = 1 << 16;

absl::Status NotOne(const std::string& path, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is no record of events: ", absl::string_view(why.data(), why.size())));
}

// "void twinmmu::CallRecord::Refuse<int>(int)".
bool IsOwn(const Frame& frame) {
  const size_t arguments = frame.function.find('(');
  const std::string_view name = std::string_view(frame.function).substr(0, arguments);
  return name.find("twinmmu::") != std::string_view::npos;
}

// The first frame that is not our own: a program that tells its own events has ours in its stacks.
size_t FirstForeign(const Stack& stack) {
  const auto first = std::find_if_not(stack.begin(), stack.end(), IsOwn);
  return first == stack.end() ? 0 : static_cast<size_t>(first - stack.begin());
}

// Up to the next end of a line, which is taken away.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

std::string_view TextAt(const uint64_t* words, size_t bytes) {
  return {reinterpret_cast<const char*>(words), bytes};
}

// As much of a text as a writer may write.
std::string_view Cut(std::string_view text) { return text.substr(0, kMaxText); }

// Whether it is no event.
bool IsLearnt(const EntryHead& head) {
  return head.type >= static_cast<uint8_t>(EntryType::kPadding);
}

uint32_t High(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t Low(uint64_t word) { return static_cast<uint32_t>(word); }

}  // namespace

Frame UnknownFrame(const Place& place) {
  Frame frame;
  if (place.module.empty()) return frame;
  const std::string name = place.module.substr(place.module.rfind('/') + 1);
  frame.function = absl::StrCat(name, "+0x", absl::Hex(place.offset));
  return frame;
}

absl::StatusOr<std::unique_ptr<EventReader>> EventReader::Open(const std::string& path,
                                                               Symbolizer symbolizer) {
  const absl::StatusOr<int> file = OpenToRead(path);
  if (!file.ok()) return file.status();
  // Not make_unique: the constructor is private.
  std::unique_ptr<EventReader> reader(new EventReader(*file, path, std::move(symbolizer)));
  // A writer may be faster than who reads: without an end, a view would not come to its own.
  struct stat info = {};
  if (fstat(*file, &info) == 0 && S_ISREG(info.st_mode))
    reader->left_ = static_cast<uint64_t>(info.st_size);
  FileHeader& header = reader->header_;
  if (reader->ReadBytes(reinterpret_cast<char*>(&header), sizeof(header)) < sizeof(header))
    return NotOne(path, "it is too short");
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return NotOne(path, "it does not begin as one");
  if (header.version != kFormatVersion) {
    return NotOne(path,
                  absl::StrCat("it has version ", header.version,
                               " of the format, and this tool reads version ", kFormatVersion));
  }
  if (header.size != sizeof(header)) return NotOne(path, "its header is damaged");
  reader->begin_ns_ = header.start_ns;
  reader->room_ = kMaxKept;
  return reader;
}

void EventReader::EndEarly(const char* why) {
  ended_ = true;
  warnings_.push_back(absl::StrCat(path_, " ", why, ": what follows is not shown"));
}

EventReader::~EventReader() { close(file_); }

// Fewer at the end of the file only.
size_t EventReader::ReadBytes(char* to, size_t bytes) {
  size_t done = 0;
  bytes = static_cast<size_t>(std::min<uint64_t>(bytes, left_));
  while (done < bytes) {
    const ssize_t got = read(file_, to + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  left_ -= done;
  return done;
}

// Whether so many words lie in the buffer from next_ on.
bool EventReader::Fill(size_t words) {
  if (buffer_.size() - next_ >= words) return true;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(next_));
  next_ = 0;
  const size_t had = buffer_.size();
  buffer_.resize(kBufferWords);
  const size_t read = ReadBytes(reinterpret_cast<char*>(buffer_.data() + had),
                                (kBufferWords - had) * sizeof(uint64_t));
  buffer_.resize(had + read / sizeof(uint64_t));
  return buffer_.size() >= words;
}

// The next entry, which stays the next one.
bool EventReader::FindEntry(EntryHead* head) {
  if (ended_) return false;
  if (!Fill(1) || buffer_[next_] == 0) {
    ended_ = true;
    if (!is_raw() && !finished_) warnings_.push_back(path_ + " has no end: it may have been cut");
    return false;
  }
  std::memcpy(head, &buffer_[next_], sizeof(*head));
  const size_t words = head->words;
  if (words == 0 || words > kMaxWords) {
    EndEarly("is damaged");
    return false;
  }
  if (!Fill(words)) {
    EndEarly("is cut in the middle of an event");
    return false;
  }
  return true;
}

bool EventReader::ReadEntry(EntryHead* head) {
  if (!FindEntry(head)) return false;
  entry_ = &buffer_[next_];
  next_ += head->words;
  return true;
}

void EventReader::ReadAhead() {
  EntryHead head;
  while (FindEntry(&head) && IsLearnt(head) && ReadEntry(&head)) Learn(head);
}

bool EventReader::Next(Event* event, const Stack** stack) {
  static const auto* const no_stack = new Stack;
  EntryHead head;
  while (ReadEntry(&head)) {
    if (IsLearnt(head)) {
      Learn(head);
      continue;
    }
    if (!Decode(head, event)) {
      EndEarly("is damaged");
      break;
    }
    const auto found = stacks_.find(event->stack);
    *stack = found == stacks_.end() ? no_stack : &found->second;
    return true;
  }
  return false;
}

bool EventReader::Decode(const EntryHead& head, Event* event) {
  *event = Event();
  if (head.type > static_cast<uint8_t>(EventKind::kDiagnostic)) return false;
  event->kind = static_cast<EventKind>(head.type);
  event->access = head.flags & 3;
  event->severity = static_cast<Severity>(std::min(head.flags >> 4, 3));
  event->process = header_.process;
  const uint64_t* next = entry_ + 1;
  const uint64_t* const end = entry_ + head.words;
  bool fits = (head.fields & ~kAllFields) == 0;
  const auto take = [&](Field field) -> uint64_t {
    if ((head.fields & field) == 0) return 0;
    fits = fits && next != end;
    return fits ? *next++ : 0;
  };
  const uint64_t time = take(kTime);
  event->duration_ns = take(kDuration);
  const uint64_t who = take(kWho);
  if (High(who) != 0) event->process = High(who);
  event->thread = Low(who);
  event->stream = take(kStream);
  event->address = take(kAddress);
  event->bytes = take(kBytes);
  event->from = take(kFrom);
  event->allocation = take(kAllocation);
  event->offset = take(kOffset);
  event->shared = take(kShared);
  const uint64_t where = take(kWhere);
  event->device = static_cast<int32_t>(High(where)) + kHost;
  event->stack = Low(where);
  const uint64_t texts = take(kTexts);
  event->time_ns = time < begin_ns_ ? 0 : time - begin_ns_;
  const size_t left = fits ? static_cast<size_t>(end - next) * sizeof(uint64_t) : 0;
  if (High(texts) > left || Low(texts) > left - High(texts)) return false;
  const std::string_view both = TextAt(next, size_t{High(texts)} + Low(texts));
  event->text = Cut(both.substr(0, High(texts)));
  event->code = Cut(both.substr(High(texts)));
  return fits;
}

void EventReader::Learn(const EntryHead& head) {
  const uint64_t* const words = entry_ + 1;
  const size_t count = head.words - size_t{1};
  const auto type = static_cast<EntryType>(head.type);
  if (type == EntryType::kPadding || count == 0) return;
  const size_t bytes = std::min<size_t>(head.fields, (count - 1) * sizeof(uint64_t));
  const std::string_view text = TextAt(words + 1, bytes);
  switch (type) {
    case EntryType::kPlace:
      return LearnPlace(words[0], text);
    case EntryType::kFrame:
      return LearnFrame(words[0], text);
    case EntryType::kStack:
      return LearnStack(words, count);
    case EntryType::kProcess:
      if (processes_.size() < kMaxProcesses && HasRoom(text.size()))
        processes_.push_back({High(words[0]), Low(words[0]), std::string(Cut(text))});
      return;
    case EntryType::kEnd:
      finished_ = true;
      lost_ = std::max(lost_, words[0]);
      return;
    case EntryType::kPadding:
      return;
  }
}

bool EventReader::HasRoom(size_t bytes) {
  bytes += 128;  // about what the tables take
  if (bytes > room_) return false;
  room_ -= bytes;
  return true;
}

void EventReader::Keep(uint64_t id, Frame frame) {
  if (HasRoom(frame.function.size() + frame.file.size())) frames_[id] = std::move(frame);
}

void EventReader::LearnPlace(uint64_t id, std::string_view text) {
  Place place;
  place.module = std::string(TakeLine(&text));
  const std::string offset(TakeLine(&text));
  if (!absl::SimpleHexAtoi(offset, &place.offset) || !HasRoom(place.module.size())) return;
  Keep(id, symbolizer_(place));
}

void EventReader::LearnFrame(uint64_t id, std::string_view text) {
  Frame frame;
  if (!absl::SimpleAtoi(std::string(TakeLine(&text)), &frame.line)) frame.line = 0;
  frame.file = std::string(Cut(TakeLine(&text)));
  frame.function = std::string(Cut(text));
  Keep(id, std::move(frame));
}

void EventReader::LearnStack(const uint64_t* words, size_t count) {
  static const auto* const unknown = new Frame;
  std::vector<const Frame*> frames;
  size_t bytes = 0;
  for (size_t i = 1; i < std::min(count, kMaxDepth + 1); ++i) {
    const auto found = frames_.find(words[i]);
    frames.push_back(found == frames_.end() ? unknown : &found->second);
    bytes += sizeof(Frame) + frames.back()->function.size() + frames.back()->file.size();
  }
  // Before they are copied, which takes much longer than to read their ids.
  if (!HasRoom(bytes)) return;
  Stack stack;
  for (const Frame* const frame : frames) stack.push_back(*frame);
  stack.erase(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(FirstForeign(stack)));
  // The first one of an id stays: somebody may have it.
  stacks_.emplace(Low(words[0]), std::move(stack));
}

}  // namespace twinmmu::record
