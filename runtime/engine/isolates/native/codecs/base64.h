// Base64: bytes in, bytes out, nothing of V8.
#pragma once

#include <stdint.h>
#include <string.h>

#include "processor.h"

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

// What a letter at each of the four places adds to three bytes, lowest byte first; the fourth byte is 1 where the
// character is not a letter of base64.
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

#if defined(__x86_64__)
#define BASE64_TARGET __attribute__((target("avx2")))

// Letters by their upper and lower half: which upper halves, a bit each, make a letter with a lower one; and what to
// add to a letter with an upper half for its sextet, with '/' one place before its own.
struct LetterHalves {
  uint8_t uppers_of[16];
  uint8_t bit_of[16];
  int8_t delta_of[16];
  constexpr LetterHalves() : uppers_of(), bit_of(), delta_of() {
    for (int sextet = 0; sextet < 64; sextet++) {
      int letter = kAlphabet[sextet], upper = letter >> 4;
      uppers_of[letter & 15] |= 1 << upper;
      bit_of[upper] = 1 << upper;
      delta_of[letter == '/' ? upper - 1 : upper] = static_cast<int8_t>(sextet - letter);
    }
  }
};
constexpr LetterHalves kHalves;

// What to add to a sextet for its letter: at 0 for a-z, from 1 on for the digits, then '+' and '/', and at the end for
// A-Z.
struct SextetLetters {
  int8_t delta_of[16];
  constexpr SextetLetters() : delta_of() {
    for (int sextet = 0; sextet < 64; sextet++)
      delta_of[sextet < 26 ? 13 : sextet < 52 ? 0 : sextet - 51] = static_cast<int8_t>(kAlphabet[sextet] - sextet);
  }
};
constexpr SextetLetters kLetters;

BASE64_TARGET inline __m256i BothLanes(const void* table) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(table)));
}

// Encodes as many blocks of 24 bytes as fit, and returns how many bytes these were.
BASE64_TARGET inline size_t ToBase64Avx2(const uint8_t* in, size_t size, uint8_t* out) {
  // Of each three bytes a b c the four b a c b: each sextet then lies within one half of 16 bits.
  const __m256i spread = _mm256_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10, 1, 0, 2, 1, 4, 3, 5, 4, 7,
                                          6, 8, 7, 10, 9, 11, 10);
  const __m256i delta_of = BothLanes(kLetters.delta_of);
  size_t at = 0;
  for (; at + 28 <= size; at += 24, out += 32) {
    __m256i bytes =
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at))),
                                _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at + 12)), 1);
    __m256i groups = _mm256_shuffle_epi8(bytes, spread);
    // The first and third of the sextets move down, by 10 and 6 bits; the second and fourth up, by 4 and 8.
    __m256i odd =
        _mm256_mulhi_epu16(_mm256_and_si256(groups, _mm256_set1_epi32(0x0fc0fc00)), _mm256_set1_epi32(0x04000040));
    __m256i even =
        _mm256_mullo_epi16(_mm256_and_si256(groups, _mm256_set1_epi32(0x003f03f0)), _mm256_set1_epi32(0x01000010));
    __m256i sextets = _mm256_or_si256(odd, even);
    __m256i place = _mm256_subs_epu8(sextets, _mm256_set1_epi8(51));
    place = _mm256_or_si256(place,
                            _mm256_and_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8(26), sextets), _mm256_set1_epi8(13)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        _mm256_add_epi8(sextets, _mm256_shuffle_epi8(delta_of, place)));
  }
  return at;
}

// Decodes blocks of 32 letters up to the first that has another character, and returns how many letters these were.
// Writes up to four bytes more than it returns for.
BASE64_TARGET inline size_t FromBase64Avx2(const uint8_t* in, size_t count, uint8_t* out) {
  const __m256i uppers_of = BothLanes(kHalves.uppers_of), bit_of = BothLanes(kHalves.bit_of),
                delta_of = BothLanes(kHalves.delta_of);
  const __m256i gather = _mm256_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1, 2, 1, 0, 6, 5, 4, 10,
                                          9, 8, 14, 13, 12, -1, -1, -1, -1);
  size_t at = 0;
  for (; at + 32 <= count; at += 32, out += 24) {
    __m256i letters = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + at));
    __m256i upper = _mm256_and_si256(_mm256_srli_epi16(letters, 4), _mm256_set1_epi8(15));
    __m256i lower = _mm256_and_si256(letters, _mm256_set1_epi8(15));
    __m256i fits = _mm256_and_si256(_mm256_shuffle_epi8(uppers_of, lower), _mm256_shuffle_epi8(bit_of, upper));
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(fits, _mm256_setzero_si256())) != 0) break;
    __m256i place = _mm256_add_epi8(upper, _mm256_cmpeq_epi8(letters, _mm256_set1_epi8('/')));
    __m256i sextets = _mm256_add_epi8(letters, _mm256_shuffle_epi8(delta_of, place));
    __m256i halves = _mm256_maddubs_epi16(sextets, _mm256_set1_epi32(0x01400140));
    __m256i bytes = _mm256_shuffle_epi8(_mm256_madd_epi16(halves, _mm256_set1_epi32(0x00011000)), gather);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 12), _mm256_extracti128_si256(bytes, 1));
  }
  return at;
}
#endif

inline void ToBase64(const uint8_t* in, size_t size, uint8_t* out) {
  size_t at = 0;
#if defined(__x86_64__)
  if (size >= 28 && processor::kFeatures.avx2) at = ToBase64Avx2(in, size, out);
  out += at / 3 * 4;
#endif
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

// Decodes base64 without white space. `out` must have room for the length of the input. False where it is not base64.
inline bool FromBase64(const uint8_t* in, size_t count, uint8_t* out, size_t* length) {
  if (count % 4 == 0 && count > 0 && in[count - 1] == '=') count -= in[count - 2] == '=' ? 2 : 1;
  if (count % 4 == 1) return false;
  uint32_t seen = 0;
  size_t at = 0, to = 0;
#if defined(__x86_64__)
  if (count >= 32 && processor::kFeatures.avx2) at = FromBase64Avx2(in, count, out);
  to = at / 4 * 3;
#endif
  for (; at + 4 <= count; at += 4, to += 3) {
    uint32_t group =
        kBytes.of[0][in[at]] | kBytes.of[1][in[at + 1]] | kBytes.of[2][in[at + 2]] | kBytes.of[3][in[at + 3]];
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
