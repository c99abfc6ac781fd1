// Base64, UTF-8 and SHA of the native half: plain bytes in, plain bytes out, nothing of V8. Included by guest.cc alone.
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

// Length of the ASCII at the beginning.
inline size_t AsciiPrefix(const uint8_t* at, size_t size) {
  size_t done = 0;
  for (uint64_t words[4]; done + 32 <= size; done += 32) {
    memcpy(words, at + done, 32);
    if (((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080ULL) != 0) break;
  }
  while (done < size && at[done] < 0x80) done++;
  return done;
}

typedef uint8_t Bytes8 __attribute__((vector_size(8)));
typedef uint16_t Units8 __attribute__((vector_size(16)));

// Well-formed UTF-8 as UTF-16, never more units than bytes. `seen`: all units or-ed. False where it is malformed.
inline bool ToUtf16(const uint8_t* in, size_t size, uint16_t* out, size_t* length, uint16_t* seen) {
  size_t to = 0, at = 0;
  uint32_t all = 0;
  while (at < size) {
    uint32_t lead = in[at];
    if (lead < 0x80) {
      uint64_t word;
      while (at + 8 <= size && (memcpy(&word, in + at, 8), (word & 0x8080808080808080ULL) == 0)) {
        Bytes8 bytes;
        memcpy(&bytes, in + at, 8);
        Units8 units = __builtin_convertvector(bytes, Units8);
        memcpy(out + to, &units, 16);
        at += 8;
        to += 8;
      }
      while (at < size && in[at] < 0x80) out[to++] = in[at++];
      continue;
    }
    if (lead < 0xe0) {
      if (lead < 0xc2 || at + 1 >= size || (in[at + 1] & 0xc0) != 0x80) return false;
      uint32_t code = (lead & 0x1f) << 6 | (in[at + 1] & 0x3f);
      all |= code;
      out[to++] = static_cast<uint16_t>(code);
      at += 2;
    } else if (lead < 0xf0) {
      if (at + 2 >= size) return false;
      uint32_t second = in[at + 1], third = in[at + 2];
      uint32_t code = (lead & 0x0f) << 12 | (second & 0x3f) << 6 | (third & 0x3f);
      if (((second & 0xc0) ^ 0x80) | ((third & 0xc0) ^ 0x80) || code < 0x800 || (code & 0xf800) == 0xd800) return false;
      all |= code;
      out[to++] = static_cast<uint16_t>(code);
      at += 3;
    } else {
      if (lead > 0xf4 || at + 3 >= size) return false;
      uint32_t second = in[at + 1], third = in[at + 2], fourth = in[at + 3];
      uint32_t code = (lead & 0x07) << 18 | (second & 0x3f) << 12 | (third & 0x3f) << 6 | (fourth & 0x3f);
      if (((second & 0xc0) ^ 0x80) | ((third & 0xc0) ^ 0x80) | ((fourth & 0xc0) ^ 0x80) || code < 0x10000 || code > 0x10ffff) return false;
      all |= 0xffff;
      out[to++] = static_cast<uint16_t>(0xd7c0 + (code >> 10));
      out[to++] = static_cast<uint16_t>(0xdc00 + (code & 0x3ff));
      at += 4;
    }
  }
  *length = to;
  *seen = static_cast<uint16_t>(all);
  return true;
}

template <typename Word>
constexpr Word RotateRight(Word word, int bits) {
  return word >> bits | word << (sizeof(Word) * 8 - bits);
}

template <typename Word>
Word ReadBig(const uint8_t* at) {
  Word word = 0;
  for (size_t byte = 0; byte < sizeof(Word); byte++) word = static_cast<Word>(word << 8 | at[byte]);
  return word;
}

template <typename Word>
void WriteBig(Word word, uint8_t* at) {
  for (size_t byte = 0; byte < sizeof(Word); byte++) at[byte] = static_cast<uint8_t>(word >> (sizeof(Word) - 1 - byte) * 8);
}

// The first bits of the fractions of the cube roots of the first primes (FIPS 180-4); SHA-256 uses the upper halves of the first 64.
constexpr uint64_t kRounds[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538, 0x59f111f1b605d019,
    0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3,
    0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65, 0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b, 0xa2bfe8a14cf10364, 0xa81a664bbc423001,
    0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb,
    0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c, 0xd186b8c721c0c207,
    0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a,
    0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

// One block of SHA-2 in words of 32 or 64 bits.
template <typename Word>
void Sha2Block(Word* state, const uint8_t* block) {
  constexpr bool kWide = sizeof(Word) == 8;
  constexpr int kCount = kWide ? 80 : 64;
  constexpr int kBig0[] = {kWide ? 28 : 2, kWide ? 34 : 13, kWide ? 39 : 22}, kBig1[] = {kWide ? 14 : 6, kWide ? 18 : 11, kWide ? 41 : 25};
  constexpr int kSmall0[] = {kWide ? 1 : 7, kWide ? 8 : 18, kWide ? 7 : 3}, kSmall1[] = {kWide ? 19 : 17, kWide ? 61 : 19, kWide ? 6 : 10};
  Word words[16], s[8];
  for (int at = 0; at < 16; at++) words[at] = ReadBig<Word>(block + at * sizeof(Word));
  memcpy(s, state, sizeof s);
  for (int round = 0; round < kCount; round++) {
    Word& word = words[round & 15];
    if (round >= 16) {
      Word w1 = words[(round + 1) & 15], w14 = words[(round + 14) & 15];
      word += (RotateRight(w1, kSmall0[0]) ^ RotateRight(w1, kSmall0[1]) ^ w1 >> kSmall0[2]) + words[(round + 9) & 15] +
              (RotateRight(w14, kSmall1[0]) ^ RotateRight(w14, kSmall1[1]) ^ w14 >> kSmall1[2]);
    }
    Word constant = static_cast<Word>(kWide ? kRounds[round] : kRounds[round] >> 32);
    Word first = s[7] + (RotateRight(s[4], kBig1[0]) ^ RotateRight(s[4], kBig1[1]) ^ RotateRight(s[4], kBig1[2])) +
                 ((s[4] & s[5]) ^ (~s[4] & s[6])) + constant + word;
    Word second = (RotateRight(s[0], kBig0[0]) ^ RotateRight(s[0], kBig0[1]) ^ RotateRight(s[0], kBig0[2])) +
                  ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + first, s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = first + second;
  }
  for (int at = 0; at < 8; at++) state[at] += s[at];
}

inline void Sha1Block(uint32_t* state, const uint8_t* block) {
  uint32_t words[80];
  for (int at = 0; at < 16; at++) words[at] = ReadBig<uint32_t>(block + at * 4);
  for (int at = 16; at < 80; at++) words[at] = RotateRight(words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16], 31);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int round = 0; round < 80; round++) {
    uint32_t mixed = round < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                     : round < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                     : round < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                  : (b ^ c ^ d) + 0xca62c1d6;
    uint32_t next = RotateRight(a, 27) + mixed + e + words[round];
    e = d, d = c, c = RotateRight(b, 2), b = a, a = next;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

// All blocks of a message with its padding, then the state as bytes.
template <typename Word, typename Block>
void Hash(Word* state, int words, const uint8_t* in, size_t size, uint8_t* out, Block block) {
  constexpr size_t kBlock = sizeof(Word) * 16;
  size_t at = 0;
  for (; at + kBlock <= size; at += kBlock) block(state, in + at);
  uint8_t last[kBlock * 2] = {};
  size_t rest = size - at, length = rest + 1 + sizeof(Word) * 2 <= kBlock ? kBlock : kBlock * 2;
  if (rest > 0) memcpy(last, in + at, rest);
  last[rest] = 0x80;
  WriteBig<uint64_t>(static_cast<uint64_t>(size) * 8, last + length - 8);
  for (size_t from = 0; from < length; from += kBlock) block(state, last + from);
  for (int word = 0; word < words; word++) WriteBig<Word>(state[word], out + word * sizeof(Word));
}

// The SHA digest of so many bits (SHA-1: 160). Returns its length in bytes, 0 where there is none of that size.
inline size_t Digest(int bits, const uint8_t* in, size_t size, uint8_t* out) {
  if (bits == 160) {
    uint32_t state[] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    Hash(state, 5, in, size, out, Sha1Block);
  } else if (bits == 256) {
    uint32_t state[] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    Hash(state, 8, in, size, out, Sha2Block<uint32_t>);
  } else if (bits == 384) {
    uint64_t state[] = {0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939,
                        0x67332667ffc00b31, 0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4};
    Hash(state, 6, in, size, out, Sha2Block<uint64_t>);
  } else if (bits == 512) {
    uint64_t state[] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    Hash(state, 8, in, size, out, Sha2Block<uint64_t>);
  } else {
    return 0;
  }
  return bits / 8;
}

}  // namespace codecs
