// Fuzzes the parts of the native half that work without V8 under AddressSanitizer and UndefinedBehaviorSanitizer:
// `codecs <seed> <milliseconds>`. Buffers are as large as the native half makes them, so that a byte too far is seen;
// answers are compared with a plain way where there is one.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <memory>
#include <vector>

#include "../../runtime/engine/isolates/native/codecs/base64.h"
#include "../../runtime/engine/isolates/native/codecs/sha.h"
#include "../../runtime/engine/isolates/native/codecs/url.h"
#include "../../runtime/engine/isolates/native/codecs/utf8.h"
#include "../../runtime/engine/isolates/native/codecs/wasm-module.h"
#include "../../runtime/engine/isolates/native/guest/checked-numbers.h"
#include "../../runtime/engine/isolates/native/guest/crash-format.h"
#include "../../runtime/engine/isolates/native/guest/kept-blocks.h"
#include "../../runtime/engine/isolates/native/guest/script-table.h"
#include "../../runtime/engine/isolates/native/guest/shared-memories.h"

namespace {

bool Same(const void* one, const void* other, size_t size) { return size == 0 || memcmp(one, other, size) == 0; }

uint64_t state, rounds;

uint32_t Random() {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<uint32_t>(state >> 33);
}

size_t Below(size_t bound) { return bound == 0 ? 0 : Random() % bound; }

void Expect(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "round %llu: %s\n", static_cast<unsigned long long>(rounds), what);
  abort();
}

// Of its own allocation each, without a byte to spare.
std::vector<uint8_t> Bytes(size_t size, int kind) {
  std::vector<uint8_t> bytes(size);
  for (auto& byte : bytes)
    byte = static_cast<uint8_t>(kind == 0   ? Random()
                                : kind == 1 ? 'a' + Below(26)
                                : kind == 2 ? "\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9z"[Below(10)]
                                : Below(2)  ? Random()
                                            : 'x');
  return bytes;
}

void Utf8() {
  auto in = Bytes(Below(300), static_cast<int>(Below(4)));
  std::vector<uint16_t> units(in.size());
  size_t count = 0, ascii = codecs::AsciiPrefix(in.data(), in.size()), plain = 0;
  while (plain < in.size() && in[plain] < 0x80) plain++;
  Expect(ascii == plain, "the ASCII at the beginning");
  uint16_t seen = 0;
  bool valid = codecs::ToUtf16(in.data(), in.size(), units.data(), &count, &seen);
  codecs::Decoding slow;
  std::vector<uint16_t> others(in.size());
  bool also = codecs::DecodeOneByOne(in.data(), in.size(), in.size(), others.data(), &slow);
  Expect(valid == also && (!valid || (slow.to == count && Same(units.data(), others.data(), count * 2))),
         "UTF-8 is decoded otherwise");
  if (!valid) return;
  std::vector<uint8_t> out(count * 3 + codecs::kEncodeSpare);
  size_t length = codecs::FromUtf16(units.data(), count, out.data());
  Expect(length == in.size() && Same(out.data(), in.data(), length), "UTF-8 is not what it was");
}

void Units() {
  std::vector<uint16_t> units(Below(200));
  for (auto& unit : units) unit = static_cast<uint16_t>(Below(2) ? 0xd7f0 + Below(0x820) : Random());
  std::vector<uint8_t> out(units.size() * 3 + codecs::kEncodeSpare);
  size_t length = codecs::FromUtf16(units.data(), units.size(), out.data());
  std::vector<uint8_t> exact(out.begin(), out.begin() + static_cast<long>(length));
  std::vector<uint16_t> back(length);
  size_t count = 0;
  uint16_t seen = 0;
  Expect(codecs::ToUtf16(exact.data(), length, back.data(), &count, &seen) && count == units.size(), "halves of pairs");
  auto narrow = Bytes(Below(300), 0);
  std::vector<uint8_t> wide(narrow.size() * 2 + codecs::kEncodeSpare);
  length = codecs::FromLatin1(narrow.data(), narrow.size(), wide.data());
  Expect(length >= narrow.size() && length <= narrow.size() * 2, "Latin-1");
}

void Base64() {
  auto in = Bytes(Below(300), 0);
  size_t size = codecs::Base64Length(in.size()), length = 0;
  std::vector<uint8_t> text(size);
  codecs::ToBase64(in.data(), in.size(), text.data());
  // As much as the native half gives it: the length of the input and four.
  std::vector<uint8_t> back(size + 4);
  Expect(codecs::FromBase64(text.data(), size, back.data(), &length) && length == in.size() &&
             Same(back.data(), in.data(), length),
         "base64");
  auto any = Bytes(Below(300), static_cast<int>(Below(4)));
  if (Below(2) && !text.empty()) any = text, any[Below(any.size())] = static_cast<uint8_t>(Random());
  std::vector<uint8_t> room(any.size() + 4);
  codecs::FromBase64(any.data(), any.size(), room.data(), &length);
}

void Sha() {
  auto in = Bytes(Below(600), 0);
  uint8_t digest[64], again[64];
  const int sizes[] = {160, 256, 384, 512, 0, -1, 224};
  int bits = sizes[Below(7)];
  size_t length = codecs::Digest(bits, in.data(), in.size(), digest);
  Expect(length <= 64 && length == codecs::Digest(bits, in.data(), in.size(), again) && Same(digest, again, length),
         "a digest");
}

void Url() {
  const char* pieces[] = {"http", "https", "://", "host", ".", "..", "/",    "?",           "#",   ":80",
                          ":",    "xn--",  "%2e", "a",    "1", "\\", "\xff", "example.com", "/./", "/../"};
  auto make = [&](bool isBase) {
    std::vector<uint8_t> text;
    if (isBase || Below(2))
      for (const char* at = "https://example.com/"; *at != 0; at++) text.push_back(static_cast<uint8_t>(*at));
    for (size_t left = Below(12); left > 0; left--)
      for (const char* at = pieces[Below(20)]; *at != 0; at++) text.push_back(static_cast<uint8_t>(*at));
    text.shrink_to_fit();
    return text;
  };
  auto base = make(true), text = make(false);
  url::Places places, joined_places;
  if (!url::Scan(base.data(), base.size(), &places)) return;
  Expect(places.host_start <= places.host_end && places.host_end <= places.path_start &&
             places.path_start <= places.query_start && places.query_start <= places.hash_start &&
             places.hash_start <= base.size(),
         "places in their order");
  std::vector<uint8_t> out(base.size() + text.size());
  size_t joined = url::Join(base.data(), places, text.data(), text.size(), out.data());
  Expect(joined <= out.size(), "a joined URL is longer than both");
  if (joined > 0) url::Scan(out.data(), joined, &joined_places);
}

// Instructions with all that may follow them, in which the bytes of tail calls stand for numbers, types and places.
const std::vector<std::vector<uint8_t>> kInstructions = {
    {0x00},
    {0x41, 0x12},
    {0x42, 0x95, 0x13},
    {0x43, 0x12, 0x13, 0x15, 0x12},
    {0x44, 0x12, 0x12, 0x12, 0x12, 0x13, 0x13, 0x15, 0x15},
    {0x02, 0x40},
    {0x03, 0x7f},
    {0x04, 0x12},
    // A block of type 99, whose first byte a reference's may not be taken for.
    {0x02, 0xe3, 0x00},
    {0x02, 0x64, 0x12},
    {0x06, 0x63, 0x70},
    {0x07, 0x15},
    {0x08, 0x13},
    {0x0e, 0x02, 0x12, 0x13, 0x15},
    {0x10, 0x12},
    {0x11, 0x12, 0x13},
    {0x14, 0x15},
    {0x18, 0x12},
    {0x1b},
    {0x1c, 0x01, 0x7f},
    {0x1c, 0x02, 0x63, 0x12, 0x7e},
    {0x1f, 0x40, 0x02, 0x00, 0x12, 0x13, 0x02, 0x15},
    {0x20, 0x12},
    {0x26, 0x13},
    {0x28, 0x02, 0x12},
    {0x36, 0x42, 0x12, 0x13},
    {0x3f, 0x12},
    {0x45},
    {0xc4},
    {0xd0, 0x12},
    {0xd1},
    {0xd2, 0x13},
    {0xd5, 0x15},
    {0xfb, 0x00, 0x12},
    {0xfb, 0x02, 0x12, 0x13},
    {0xfb, 0x08, 0x13, 0x15},
    {0xfb, 0x0f},
    {0xfb, 0x11, 0x12, 0x13},
    {0xfb, 0x14, 0x12},
    {0xfb, 0x18, 0x12, 0x13, 0x15, 0x12},
    {0xfb, 0x1c},
    {0xfc, 0x07},
    {0xfc, 0x08, 0x12, 0x13},
    {0xfc, 0x0b, 0x15},
    {0xfc, 0x0e, 0x13, 0x12},
    {0xfc, 0x11, 0x12},
    {0xfd, 0x00, 0x04, 0x12},
    {0xfd, 0x0c, 0x12, 0x13, 0x15, 0x12, 0x13, 0x15, 0x12, 0x13, 0x15, 0x12, 0x13, 0x15, 0x12, 0x13, 0x15, 0x12},
    {0xfd, 0x15, 0x12},
    {0xfd, 0x54, 0x00, 0x13, 0x15},
    {0xfd, 0x5c, 0x02, 0x12},
    {0xfd, 0xae, 0x01},
    {0xfd, 0x93, 0x02},
    {0xfe, 0x03, 0x12},
    {0xfe, 0x1e, 0x02, 0x13},
};

void Append(std::vector<uint8_t>* to, const std::vector<uint8_t>& bytes) {
  to->insert(to->end(), bytes.begin(), bytes.end());
}

void AppendNumber(std::vector<uint8_t>* to, size_t number) {
  for (; number >= 0x80; number >>= 7) to->push_back(static_cast<uint8_t>(number | 0x80));
  to->push_back(static_cast<uint8_t>(number));
}

void AppendSized(std::vector<uint8_t>* to, const std::vector<uint8_t>& bytes) {
  AppendNumber(to, bytes.size());
  Append(to, bytes);
}

wasm::Finding Find(std::vector<uint8_t> module) {
  module.shrink_to_fit();
  return wasm::FindRefused(module.data(), module.size());
}

void WasmCalls() {
  std::vector<uint8_t> module{0, 97, 115, 109, 1, 0, 0, 0}, functions;
  uint8_t tail = 0;
  size_t left = 1 + Below(4);
  AppendNumber(&functions, left);
  for (; left > 0; left--) {
    std::vector<uint8_t> body =
        Below(2) ? std::vector<uint8_t>{0} : std::vector<uint8_t>{2, 0x12, 0x7f, 0x13, 0x63, 0x15};
    for (size_t count = Below(20); count > 0; count--) Append(&body, kInstructions[Below(kInstructions.size())]);
    if (Below(8) == 0) {
      uint8_t opcode = "\x12\x13\x15"[Below(3)];
      if (tail == 0) tail = opcode;
      body.push_back(opcode);
      body.push_back(0);
      if (opcode == 0x13) body.push_back(0);
    }
    body.push_back(0x0b);
    AppendSized(&functions, body);
  }
  module.push_back(10);
  AppendSized(&module, functions);
  wasm::Finding found = Find(module);
  Expect(found.refusal == (tail == 0 ? wasm::kNothing : wasm::kTailCall) && found.opcode == tail, "a tail call");
  if (tail != 0) Expect(module[found.at] == tail, "the place of a tail call");
  module[Below(module.size())] = static_cast<uint8_t>(Random());
  module.resize(Below(module.size() + 1));
  Find(module);
}

void WasmMemories() {
  std::vector<uint8_t> module{0, 97, 115, 109, 1, 0, 0, 0};
  bool shared = false;
  if (Below(2)) {
    // A custom section of any content, then one memory.
    module.push_back(0);
    size_t size = Below(100);
    module.push_back(static_cast<uint8_t>(size));
    for (; size > 0; size--) module.push_back(static_cast<uint8_t>(Random()));
    shared = Below(2) == 1;
    for (int byte : {5, 4, 1, shared ? 3 : 1, 1, 2}) module.push_back(static_cast<uint8_t>(byte));
    Expect(Find(module).refusal == (shared ? wasm::kSharedMemory : wasm::kNothing), "a shared memory");
    module[Below(module.size())] = static_cast<uint8_t>(Random());
    module.resize(Below(module.size() + 1));
  } else {
    for (size_t left = Below(60); left > 0; left--)
      module.push_back(static_cast<uint8_t>(Below(3) ? Below(16) : Random()));
  }
  Find(module);
}

// Doubles of every kind: any bits, near bounds that matter, and what is no number.
double AnyNumber() {
  const double bounds[] = {0,
                           1,
                           -1,
                           64,
                           65536,
                           1e12,
                           1e15,
                           9007199254740992.0,
                           9223372036854775808.0,
                           18446744073709551616.0,
                           NAN,
                           INFINITY,
                           -INFINITY,
                           0.5};
  double number;
  uint64_t bits = static_cast<uint64_t>(Random()) << 32 | Random();
  switch (Below(3)) {
    case 0:
      memcpy(&number, &bits, 8);
      return number;
    case 1:
      return bounds[Below(14)] + static_cast<double>(Below(3)) - 1;
    default:
      return static_cast<double>(bits >> Below(64));
  }
}

void Numbers() {
  double number = AnyNumber();
  size_t limit = native::ToByteLimit(number);
  Expect(limit < 1000000000000000ULL && (limit == 0) == !(number >= 1 && number < 1e15), "a limit in bytes");
  int64_t ns = -7;
  bool is_time = native::MillisecondsToNs(number, &ns);
  Expect(is_time ? ns >= 0 && ns <= 1000000000000000000LL : ns == -7, "milliseconds");
  size_t max = Random() >> Below(31), current = Below(max + 1), growth = native::GrowthInBytes(number, current, max);
  Expect(growth <= max - current, "growth beyond the largest size");
  if (number == static_cast<double>(max) && max > current)
    Expect(growth == max - current, "growth to the largest size");
}

void CrashReport() {
  char owner[96], report[112];
  size_t length = Below(sizeof owner + 1), out_max = Below(3) ? sizeof report : Below(sizeof report);
  memset(owner, 'o', sizeof owner);
  if (length < sizeof owner) owner[length] = 0;
  std::vector<char> out(out_max);
  int signal = static_cast<int>(Below(65));
  size_t size = native::FormatCrashReport(signal, owner, sizeof owner, out.data(), out_max);
  snprintf(report, sizeof report, "%d %.*s\n", signal, static_cast<int>(length), owner);
  size_t whole = strlen(report);
  Expect(size == (whole < out_max ? whole : out_max) && Same(out.data(), report, size), "a crash report");
}

struct Text {};
using Table = native::ScriptTable<Text>;

// A text of the fuzzer in a place of fixed size; false where it does not fit.
template <typename Fixed>
bool Put(Fixed* fixed, size_t length, char character) {
  char* to = fixed->Reserve(length);
  if (to == nullptr) return false;
  memset(to, character, length);
  return true;
}

void Scripts() {
  Text texts[2];
  auto table = std::make_unique<Table>();
  Table::Key key, other;
  Expect(Put(&key, Below(80), 'k') && Put(&other, 79, 'x') && !Put(&key, 80 + Below(100), 'k'), "a key of a snapshot");
  size_t added = Below(70), first = 0;
  for (size_t at = 0; at < added; at++) {
    Table::Script script{};
    size_t length = Below(60);
    if (!Put(&script.name, length, 'n')) continue;
    script.text = &texts[at % 2];
    if (table->Accepts(key)) table->Add(key, script);
    if (at == 0) first = length + 1;
    Expect(!table->Accepts(other), "scripts of two snapshots");
  }
  Table::Name name;
  if (first > 0) Put(&name, first - 1, 'n');
  Expect(table->Find(key, name) == nullptr, "a script before all are provided");
  table->Seal(key);
  table->Seal(other);
  Expect(!table->Accepts(key) && table->Find(other, name) == nullptr, "a table that is complete changes");
  if (first > 0)
    Expect(table->Find(key, name) != nullptr && table->Find(key, name)->text == &texts[0], "a script by its name");
}

void FreedPages() {
  uintptr_t page = static_cast<uintptr_t>(4096) << Below(5),
            begin = 0x10000 + (static_cast<uintptr_t>(Random()) << 12 | Below(4096));
  size_t length = Random() >> Below(31);
  native::Pages free = native::FreePages(begin, length, page);
  Expect(free.from % page == 0 && free.to % page == 0, "pages that are not whole");
  if (free.from < free.to) Expect(free.from >= begin + 64 && free.to <= begin + length, "pages beyond a text");
}

void Shared() {
  native::SharedMemories memories;
  std::vector<std::shared_ptr<int>> held;
  size_t bytes = 0;
  std::vector<size_t> sizes;
  for (size_t left = Below(60); left > 0; left--) {
    if (Below(3) || held.empty()) {
      size_t size = Random();
      held.push_back(std::make_shared<int>(0));
      sizes.push_back(size > 65536 ? size : 65536);
      Expect(memories.Add(held.back(), size), "a shared memory is not counted");
      bytes += sizes.back();
    } else {
      size_t at = Below(held.size());
      bytes -= sizes[at];
      held.erase(held.begin() + static_cast<long>(at));
      sizes.erase(sizes.begin() + static_cast<long>(at));
    }
    if (Below(2)) Expect(memories.Bytes() == bytes, "the sum of shared memories");
  }
  Expect(memories.Bytes() == bytes, "the sum of shared memories at the end");
}

// Memory that counts what is held of it.
struct CountedMemory {
  static inline size_t held = 0, taken = 0;
  static uint8_t* Take(size_t size) {
    held += size;
    taken++;
    return new uint8_t[size];
  }
  static void Give(native::Block block) {
    held -= block.capacity;
    delete[] block.bytes;
  }
};

void Kept() {
  using Blocks = native::KeptBlocks<CountedMemory>;
  static Blocks blocks;
  std::vector<native::Block> used;
  size_t in_use = 0;
  for (size_t left = Below(40); left > 0; left--) {
    if (Below(2) || used.empty()) {
      // Now and then one that is never kept.
      size_t size = Below(500) == 0 ? Blocks::kBytesMax + 1 : 1 + Below(300000);
      native::Block block = blocks.Take(size);
      Expect(block.bytes != nullptr && block.capacity >= size, "a block has room");
      Expect(block.capacity <= size + size / 8 + 2 * Blocks::kRound, "a block is not much larger");
      block.bytes[0] = block.bytes[block.capacity - 1] = 1;
      for (auto& other : used) Expect(other.bytes != block.bytes, "a block is used once at a time");
      used.push_back(block);
      in_use += block.capacity;
    } else {
      size_t at = Below(used.size());
      in_use -= used[at].capacity;
      blocks.Give(used[at]);
      used.erase(used.begin() + static_cast<long>(at));
    }
    Expect(CountedMemory::held - in_use <= Blocks::kBytesMax, "no more is kept than may be");
  }
  for (auto& block : used) blocks.Give(block);
  Expect(CountedMemory::held <= Blocks::kBytesMax, "no more is kept at the end than may be");
  if (Below(4) == 0) {
    blocks.FreeAll();
    Expect(CountedMemory::held == 0, "nothing is kept when all is freed");
  }
  // What was given back last is what the next one gets.
  native::Block block = blocks.Take(70000);
  size_t taken = CountedMemory::taken;
  uint8_t* bytes = block.bytes;
  blocks.Give(block);
  block = blocks.Take(70000);
  Expect(block.bytes == bytes && CountedMemory::taken == taken, "a block is used again");
  blocks.Give(block);
}

}  // namespace

int main(int count, char** words) {
  state = count > 1 ? strtoull(words[1], nullptr, 10) : 1;
  double seconds = (count > 2 ? atof(words[2]) : 1000) / 1000;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double until = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 + seconds;
  do {
    for (int round = 0; round < 1000; round++, rounds++) {
      Utf8();
      Units();
      Base64();
      Sha();
      Url();
      WasmCalls();
      WasmMemories();
      Numbers();
      CrashReport();
      Scripts();
      FreedPages();
      Shared();
      if (round % 10 == 0) Kept();
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 < until);
  printf("%llu rounds of each part\n", static_cast<unsigned long long>(rounds));
}
