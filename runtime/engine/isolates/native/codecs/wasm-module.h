// Finds what isolates refuse of WebAssembly modules. A shared memory: V8 counts it for no isolate, and a module grows
// it without a call that we could check. Tail calls: optimized by V8 13.6, a function that only calls in this way never
// looks whether it is to end. Whatever V8 takes and this cannot read is refused as well. Bytes in, nothing of V8.
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
  void Skip(size_t count) {
    if (count <= size - at) {
      at += count;
    } else {
      at = size;
      past = true;
    }
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
  void Numbers(int count) {
    while (count-- > 0) Number();
  }
};

constexpr uint8_t kMemorySection = 5, kCodeSection = 10, kHasMaximum = 1, kShared = 2, kHasPageSize = 8;
constexpr uint8_t kReturnCall = 0x12, kReturnCallIndirect = 0x13, kReturnCallRef = 0x15;

// Why a module is refused, with the instruction and its place where it is one, and how many functions it has.
enum Refusal { kNothing, kSharedMemory, kTailCall, kUnreadable };
struct Finding {
  Refusal refusal = kNothing;
  size_t at = 0;
  uint8_t opcode = 0;
  size_t functions = 0;
};

// A type of a value or of a block: a number, or a reference with the type of what it leads to. By its byte, since the
// number of a type may be written with another one before.
inline void SkipType(Reader& code) {
  uint8_t first = code.at < code.size ? code.bytes[code.at] : 0;
  code.Number();
  if (first == 0x63 || first == 0x64) code.Number();
}

// What a load or a store says of its place.
inline void SkipMemoryArgument(Reader& code) {
  constexpr uint64_t kHasMemory = 0x40;
  if ((code.Number() & kHasMemory) != 0) code.Number();
  code.Number();
}

// Reads what follows the opcode of an instruction; false where the opcode is not known.
inline bool SkipGarbageCollection(Reader& code) {
  uint64_t opcode = code.Number();
  if (opcode > 0x1e) return false;
  if (opcode == 0x18 || opcode == 0x19) {
    code.Byte();
    code.Numbers(3);
  } else if ((opcode >= 0x02 && opcode <= 0x05) || (opcode >= 0x08 && opcode <= 0x0a) ||
             (opcode >= 0x11 && opcode <= 0x13)) {
    code.Numbers(2);
  } else if (opcode != 0x0f && opcode < 0x1a) {
    code.Number();
  }
  return true;
}

inline bool SkipNumeric(Reader& code) {
  uint64_t opcode = code.Number();
  if (opcode > 0x16) return false;
  if (opcode < 0x08 || opcode > 0x11) return true;
  bool has_two = opcode == 0x08 || opcode == 0x0a || opcode == 0x0c || opcode == 0x0e;
  code.Numbers(has_two ? 2 : 1);
  return true;
}

inline bool SkipVector(Reader& code) {
  uint64_t opcode = code.Number();
  if (opcode > 0x113) return false;
  bool has_lane = (opcode >= 0x15 && opcode <= 0x22) || (opcode >= 0x54 && opcode <= 0x5b);
  if (opcode <= 0x0b || (opcode >= 0x54 && opcode <= 0x5d)) SkipMemoryArgument(code);
  if (opcode == 0x0c || opcode == 0x0d) code.Skip(16);
  if (has_lane) code.Byte();
  return true;
}

inline bool SkipAtomic(Reader& code) {
  uint64_t opcode = code.Number();
  if (opcode == 0x03) {
    code.Byte();
    return true;
  }
  if (opcode > 0x4e || (opcode > 0x03 && opcode < 0x10)) return false;
  SkipMemoryArgument(code);
  return true;
}

inline bool SkipInstruction(Reader& code, uint8_t opcode) {
  if (opcode >= 0x28 && opcode <= 0x3e) {
    SkipMemoryArgument(code);
    return true;
  }
  if (opcode >= 0x45 && opcode <= 0xc4) return true;
  switch (opcode) {
    case 0x00:
    case 0x01:
    case 0x05:
    case 0x0a:
    case 0x0b:
    case 0x0f:
    case 0x19:
    case 0x1a:
    case 0x1b:
    case 0xd1:
    case 0xd3:
    case 0xd4:
      return true;
    case 0x02:
    case 0x03:
    case 0x04:
    case 0x06:
      SkipType(code);
      return true;
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x0c:
    case 0x0d:
    case 0x10:
    case 0x14:
    case 0x18:
    case 0x20:
    case 0x21:
    case 0x22:
    case 0x23:
    case 0x24:
    case 0x25:
    case 0x26:
    case 0x3f:
    case 0x40:
    case 0x41:
    case 0x42:
    case 0xd0:
    case 0xd2:
    case 0xd5:
    case 0xd6:
      code.Number();
      return true;
    case 0x0e:
      for (uint64_t left = code.Number(); left > 0 && !code.past; left--) code.Number();
      code.Number();
      return true;
    case 0x11:
      code.Numbers(2);
      return true;
    case 0x1c:
      for (uint64_t left = code.Number(); left > 0 && !code.past; left--) SkipType(code);
      return true;
    case 0x1f:
      SkipType(code);
      // Each clause that has a tag names it before its label.
      for (uint64_t left = code.Number(); left > 0 && !code.past; left--) code.Numbers(code.Byte() < 2 ? 2 : 1);
      return true;
    case 0x43:
      code.Skip(4);
      return true;
    case 0x44:
      code.Skip(8);
      return true;
    case 0xfb:
      return SkipGarbageCollection(code);
    case 0xfc:
      return SkipNumeric(code);
    case 0xfd:
      return SkipVector(code);
    case 0xfe:
      return SkipAtomic(code);
    default:
      return false;
  }
}

inline Finding FindInMemories(Reader memories) {
  for (uint64_t left = memories.Number(); left > 0 && !memories.past; left--) {
    uint64_t flags = memories.Number();
    if (!memories.past && (flags & kShared) != 0) return {kSharedMemory};
    memories.Number();
    if ((flags & kHasMaximum) != 0) memories.Number();
    if ((flags & kHasPageSize) != 0) memories.Number();
  }
  return {};
}

// A function's locals and instructions.
inline Finding FindInFunction(Reader code) {
  for (uint64_t left = code.Number(); left > 0 && !code.past; left--) {
    code.Number();
    SkipType(code);
  }
  while (code.at < code.size) {
    size_t at = code.at;
    uint8_t opcode = code.Byte();
    if (opcode == kReturnCall || opcode == kReturnCallIndirect || opcode == kReturnCallRef)
      return {kTailCall, at, opcode};
    if (!SkipInstruction(code, opcode)) return {kUnreadable, at, opcode};
  }
  return code.past ? Finding{kUnreadable, code.at} : Finding{};
}

inline Finding FindInCode(Reader functions) {
  uint64_t count = functions.Number(), left = count;
  while (left > 0 && !functions.past) {
    uint64_t length = functions.Number();
    size_t from = functions.at;
    if (functions.past || length > functions.size - from) break;
    Finding found = FindInFunction({functions.bytes + from, static_cast<size_t>(length)});
    if (found.refusal != kNothing) return {found.refusal, from + found.at, found.opcode};
    functions.Skip(static_cast<size_t>(length));
    left--;
  }
  if (left > 0) return {kUnreadable, functions.at};
  return {kNothing, 0, 0, static_cast<size_t>(count)};
}

// What of a module is refused first. Where it is malformed outside its functions, it is V8's to reject.
inline Finding FindRefused(const uint8_t* bytes, size_t size) {
  Reader module{bytes, size, 8};
  Finding whole;
  while (module.at < size && !module.past) {
    uint8_t section = module.Byte();
    uint64_t length = module.Number();
    size_t from = module.at;
    if (length > size - from) return whole;
    Reader content{bytes + from, static_cast<size_t>(length)};
    Finding found;
    if (section == kMemorySection) found = FindInMemories(content);
    if (section == kCodeSection) found = FindInCode(content);
    if (found.refusal != kNothing) return {found.refusal, from + found.at, found.opcode};
    if (section == kCodeSection) whole = found;
    module.at += static_cast<size_t>(length);
  }
  return whole;
}

}  // namespace wasm
