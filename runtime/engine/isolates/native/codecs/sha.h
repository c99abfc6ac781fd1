// SHA-1 and SHA-2: bytes in, bytes out, nothing of V8.
#pragma once

#include <stdint.h>
#include <string.h>

#include "processor.h"

namespace codecs {

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
  for (size_t byte = 0; byte < sizeof(Word); byte++)
    at[byte] = static_cast<uint8_t>(word >> (sizeof(Word) - 1 - byte) * 8);
}

// The first bits of the fractions of the cube roots of the first primes (FIPS 180-4); SHA-256 uses the upper halves of
// the first 64.
constexpr uint64_t kRounds[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

// One block of SHA-2 in words of 32 or 64 bits.
template <typename Word>
void Sha2Block(Word* state, const uint8_t* block) {
  constexpr bool kWide = sizeof(Word) == 8;
  constexpr int kCount = kWide ? 80 : 64;
  constexpr int kBig0[] = {kWide ? 28 : 2, kWide ? 34 : 13, kWide ? 39 : 22},
                kBig1[] = {kWide ? 14 : 6, kWide ? 18 : 11, kWide ? 41 : 25};
  constexpr int kSmall0[] = {kWide ? 1 : 7, kWide ? 8 : 18, kWide ? 7 : 3},
                kSmall1[] = {kWide ? 19 : 17, kWide ? 61 : 19, kWide ? 6 : 10};
  Word words[16], s[8];
  for (int at = 0; at < 16; at++) words[at] = ReadBig<Word>(block + at * sizeof(Word));
  memcpy(s, state, sizeof s);
  for (int from = 0; from < kCount; from += 16) {
    // Unrolled, so that the state and the words stay in registers or at fixed addresses.
#pragma GCC unroll 16
    for (int at = 0; at < 16; at++) {
      Word& word = words[at];
      if (from > 0) {
        Word w1 = words[(at + 1) & 15], w14 = words[(at + 14) & 15];
        word += (RotateRight(w1, kSmall0[0]) ^ RotateRight(w1, kSmall0[1]) ^ w1 >> kSmall0[2]) + words[(at + 9) & 15] +
                (RotateRight(w14, kSmall1[0]) ^ RotateRight(w14, kSmall1[1]) ^ w14 >> kSmall1[2]);
      }
      Word constant = static_cast<Word>(kWide ? kRounds[from + at] : kRounds[from + at] >> 32);
      Word first = s[7] + (RotateRight(s[4], kBig1[0]) ^ RotateRight(s[4], kBig1[1]) ^ RotateRight(s[4], kBig1[2])) +
                   (((s[5] ^ s[6]) & s[4]) ^ s[6]) + constant + word;
      Word second = (RotateRight(s[0], kBig0[0]) ^ RotateRight(s[0], kBig0[1]) ^ RotateRight(s[0], kBig0[2])) +
                    ((s[0] & s[1]) | ((s[0] | s[1]) & s[2]));
      s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + first, s[3] = s[2], s[2] = s[1], s[1] = s[0],
      s[0] = first + second;
    }
  }
  for (int at = 0; at < 8; at++) state[at] += s[at];
}

template <typename Word>
void Sha2(Word* state, const uint8_t* in, size_t count) {
  for (; count > 0; count--, in += sizeof(Word) * 16) Sha2Block(state, in);
}

inline void Sha1Block(uint32_t* state, const uint8_t* block) {
  uint32_t words[80];
  for (int at = 0; at < 16; at++) words[at] = ReadBig<uint32_t>(block + at * 4);
  for (int at = 16; at < 80; at++)
    words[at] = RotateRight(words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16], 31);
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

#if defined(__x86_64__)
// The upper halves alone, as SHA-256 adds them.
struct Rounds32 {
  uint32_t of[64];
  constexpr Rounds32() : of() {
    for (int at = 0; at < 64; at++) of[at] = static_cast<uint32_t>(kRounds[at] >> 32);
  }
};
alignas(16) constexpr Rounds32 kRounds32;

#define SHA_TARGET __attribute__((target("sha,sse4.1,ssse3")))

SHA_TARGET inline __m128i BigWords(const uint8_t* at) {
  return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)),
                          _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
}

// SHA-256 by the processor's own instructions, which keep the state as two halves, ABEF and CDGH.
SHA_TARGET inline void Sha256Fast(uint32_t* state, const uint8_t* in, size_t count) {
  auto* halves = reinterpret_cast<__m128i*>(state);
  __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(halves), 0xb1),
          efgh = _mm_shuffle_epi32(_mm_loadu_si128(halves + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; count--, in += 64) {
    __m128i first = abef, second = cdgh, words[4];
#pragma GCC unroll 16
    for (int four = 0; four < 16; four++) {
      __m128i& word = words[four & 3];
      if (four < 4) {
        word = BigWords(in + four * 16);
      } else {
        const __m128i& last = words[(four + 3) & 3];
        __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(word, words[(four + 1) & 3]),
                                    _mm_alignr_epi8(last, words[(four + 2) & 3], 4));
        word = _mm_sha256msg2_epu32(sum, last);
      }
      __m128i add = _mm_add_epi32(word, _mm_load_si128(reinterpret_cast<const __m128i*>(kRounds32.of + four * 4)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, add);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(add, 0x0e));
    }
    abef = _mm_add_epi32(abef, first);
    cdgh = _mm_add_epi32(cdgh, second);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(halves, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(halves + 1, _mm_alignr_epi8(dchg, feba, 8));
}

// Twenty rounds of SHA-1, which share a function; words and state lie with their first one on top. `before`: the state
// four rounds ago, which holds the next E.
template <int kFunction>
SHA_TARGET inline void Sha1Rounds(__m128i& abcd, __m128i& before, __m128i* words, const uint8_t* in) {
#pragma GCC unroll 5
  for (int four = kFunction * 5; four < kFunction * 5 + 5; four++) {
    __m128i& word = words[four & 3];
    if (four < 4)
      word = _mm_shuffle_epi32(BigWords(in + four * 16), 0x1b);
    else
      word = _mm_sha1msg2_epu32(_mm_xor_si128(_mm_sha1msg1_epu32(word, words[(four + 1) & 3]), words[(four + 2) & 3]),
                                words[(four + 3) & 3]);
    __m128i add = four == 0 ? _mm_add_epi32(before, word) : _mm_sha1nexte_epu32(before, word);
    before = abcd;
    abcd = _mm_sha1rnds4_epu32(abcd, add, kFunction);
  }
}

SHA_TARGET inline void Sha1Fast(uint32_t* state, const uint8_t* in, size_t count) {
  auto* four = reinterpret_cast<__m128i*>(state);
  __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128(four), 0x1b), e = _mm_set_epi32(static_cast<int>(state[4]), 0, 0, 0);
  for (; count > 0; count--, in += 64) {
    __m128i words[4], first = abcd, last = e;
    Sha1Rounds<0>(abcd, e, words, in);
    Sha1Rounds<1>(abcd, e, words, in);
    Sha1Rounds<2>(abcd, e, words, in);
    Sha1Rounds<3>(abcd, e, words, in);
    abcd = _mm_add_epi32(abcd, first);
    e = _mm_sha1nexte_epu32(e, last);
  }
  _mm_storeu_si128(four, _mm_shuffle_epi32(abcd, 0x1b));
  state[4] = static_cast<uint32_t>(_mm_extract_epi32(e, 3));
}
#endif

// The blocks of SHA-1 and of SHA-256, by the processor's instructions where it has them.
inline void Sha1(uint32_t* state, const uint8_t* in, size_t count) {
#if defined(__x86_64__)
  if (processor::kFeatures.sha) return Sha1Fast(state, in, count);
#endif
  for (; count > 0; count--, in += 64) Sha1Block(state, in);
}

inline void Sha256(uint32_t* state, const uint8_t* in, size_t count) {
#if defined(__x86_64__)
  if (processor::kFeatures.sha) return Sha256Fast(state, in, count);
#endif
  Sha2(state, in, count);
}

// All blocks of a message with its padding, then the state as bytes.
template <typename Word, typename Blocks>
void Hash(Word* state, int words, const uint8_t* in, size_t size, uint8_t* out, Blocks blocks) {
  constexpr size_t kBlock = sizeof(Word) * 16;
  size_t at = size / kBlock * kBlock;
  blocks(state, in, size / kBlock);
  uint8_t last[kBlock * 2] = {};
  size_t rest = size - at, length = rest + 1 + sizeof(Word) * 2 <= kBlock ? kBlock : kBlock * 2;
  if (rest > 0) memcpy(last, in + at, rest);
  last[rest] = 0x80;
  WriteBig<uint64_t>(static_cast<uint64_t>(size) * 8, last + length - 8);
  blocks(state, last, length / kBlock);
  for (int word = 0; word < words; word++) WriteBig<Word>(state[word], out + word * sizeof(Word));
}

// The SHA digest of so many bits (SHA-1: 160). Returns its length in bytes, 0 where there is no digest of that size.
inline size_t Digest(int bits, const uint8_t* in, size_t size, uint8_t* out) {
  if (bits == 160) {
    uint32_t state[] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    Hash(state, 5, in, size, out, Sha1);
  } else if (bits == 256) {
    uint32_t state[] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    Hash(state, 8, in, size, out, Sha256);
  } else if (bits == 384) {
    uint64_t state[] = {0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939,
                        0x67332667ffc00b31, 0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4};
    Hash(state, 6, in, size, out, Sha2<uint64_t>);
  } else if (bits == 512) {
    uint64_t state[] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    Hash(state, 8, in, size, out, Sha2<uint64_t>);
  } else {
    return 0;
  }
  return bits / 8;
}

}  // namespace codecs
