// Finds WebAssembly modules that make a shared memory of their own: V8 counts such a memory for no isolate, and a
// module grows it without a call that we could check. Bytes in, nothing of V8.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace wasm {

// Reads a module's bytes; beyond the end everything is 0, and `past` says so.
struct Reader {
  const uint8_t* bytes;
  size_t size, at = 0;
  bool past = false;
  uint8_t Byte() {
    if (at < size) return bytes[at++];
    past = true;
    return 0;
  }
  // LEB128 of up to 64 bits.
  uint64_t Number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      uint8_t byte = Byte();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
};

constexpr uint8_t kMemorySection = 5, kHasMaximum = 1, kShared = 2, kHasPageSize = 8;

// Whether a memory section declares a shared memory. Malformed modules are V8's to reject.
inline bool MakesSharedMemory(const uint8_t* bytes, size_t size) {
  Reader module{bytes, size, 8};
  while (module.at < size && !module.past) {
    uint8_t section = module.Byte();
    uint64_t length = module.Number();
    if (length > size - module.at) return false;
    if (section == kMemorySection) {
      Reader memories{bytes + module.at, static_cast<size_t>(length)};
      for (uint64_t left = memories.Number(); left > 0 && !memories.past; left--) {
        uint64_t flags = memories.Number();
        if (!memories.past && (flags & kShared) != 0) return true;
        memories.Number();
        if ((flags & kHasMaximum) != 0) memories.Number();
        if ((flags & kHasPageSize) != 0) memories.Number();
      }
    }
    module.at += static_cast<size_t>(length);
  }
  return false;
}

}  // namespace wasm
