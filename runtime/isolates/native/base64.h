// Base64 of the native half: plain bytes in, plain bytes out, nothing of V8. Included by guest.cc alone.
#pragma once

#include <stdint.h>
#include <string.h>

namespace codecs {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The two letters of each 12 bits.
struct LetterPairs {
  char of[4096][2];
  constexpr LetterPairs() : of() {
    for (int bits = 0; bits < 4096; bits++) {
      of[bits][0] = kAlphabet[bits >> 6];
      of[bits][1] = kAlphabet[bits & 63];
    }
  }
};
constexpr LetterPairs kPairs;

// What a letter at each of the four places adds to three bytes, lowest byte first; the fourth byte is 1 where it is no letter.
struct LetterBytes {
  uint32_t of[4][256];
  constexpr LetterBytes() : of() {
    for (auto& place : of) {
      for (auto& bytes : place) bytes = 1u << 24;
    }
    for (uint32_t sextet = 0; sextet < 64; sextet++) {
      auto letter = static_cast<uint8_t>(kAlphabet[sextet]);
      of[0][letter] = sextet << 2;
      of[1][letter] = sextet >> 4 | (sextet & 15) << 12;
      of[2][letter] = (sextet >> 2) << 8 | (sextet & 3) << 22;
      of[3][letter] = sextet << 16;
    }
  }
};
constexpr LetterBytes kBytes;

constexpr size_t Base64Length(size_t size) { return (size + 2) / 3 * 4; }

inline void ToBase64(const uint8_t* in, size_t size, uint8_t* out) {
  size_t at = 0;
  for (; at + 3 <= size; at += 3, out += 4) {
    uint32_t group = in[at] << 16 | in[at + 1] << 8 | in[at + 2];
    memcpy(out, kPairs.of[group >> 12], 2);
    memcpy(out + 2, kPairs.of[group & 4095], 2);
  }
  if (at == size) return;
  uint32_t group = in[at] << 16 | (at + 1 < size ? in[at + 1] << 8 : 0);
  memcpy(out, kPairs.of[group >> 12], 2);
  out[2] = at + 1 < size ? kAlphabet[group >> 6 & 63] : '=';
  out[3] = '=';
}

// Base64 without white space. `out` has room for the length of the input. False when it is none.
inline bool FromBase64(const uint8_t* in, size_t count, uint8_t* out, size_t* length) {
  if (count % 4 == 0 && count > 0 && in[count - 1] == '=') count -= in[count - 2] == '=' ? 2 : 1;
  if (count % 4 == 1) return false;
  uint32_t seen = 0;
  size_t at = 0, to = 0;
  for (; at + 4 <= count; at += 4, to += 3) {
    uint32_t group = kBytes.of[0][in[at]] | kBytes.of[1][in[at + 1]] | kBytes.of[2][in[at + 2]] | kBytes.of[3][in[at + 3]];
    seen |= group;
    memcpy(out + to, &group, 4);
  }
  if (at < count) {
    uint32_t group = kBytes.of[0][in[at]] | kBytes.of[1][in[at + 1]] | (count - at == 3 ? kBytes.of[2][in[at + 2]] : 0);
    seen |= group;
    out[to++] = static_cast<uint8_t>(group);
    if (count - at == 3) out[to++] = static_cast<uint8_t>(group >> 8);
  }
  *length = to;
  return seen >> 24 == 0;
}

}  // namespace codecs
