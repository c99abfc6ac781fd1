// UTF-8: bytes in, UTF-16 units out, and back; nothing of V8.
#pragma once

#include <stdint.h>
#include <string.h>

#include "processor.h"

namespace codecs {

#if defined(__x86_64__)
#define AVX2_TARGET __attribute__((target("avx2,bmi2,popcnt")))

AVX2_TARGET inline size_t AsciiBlocksAvx2(const uint8_t* at, size_t size) {
  size_t done = 0;
  for (; done + 128 <= size; done += 128) {
    auto* block = reinterpret_cast<const __m256i*>(at + done);
    __m256i first = _mm256_or_si256(_mm256_loadu_si256(block), _mm256_loadu_si256(block + 1));
    __m256i second = _mm256_or_si256(_mm256_loadu_si256(block + 2), _mm256_loadu_si256(block + 3));
    if (_mm256_movemask_epi8(_mm256_or_si256(first, second)) != 0) break;
  }
  return done;
}
#endif

// Length of the ASCII at the beginning.
inline size_t AsciiPrefix(const uint8_t* at, size_t size) {
  size_t done = 0;
#if defined(__x86_64__)
  if (size >= 256 && processor::kFeatures.avx2) done = AsciiBlocksAvx2(at, size);
#endif
  // Vectors of 16 bytes, for which every machine has instructions.
  typedef uint64_t Words __attribute__((vector_size(16)));
  for (Words words[4]; done + 64 <= size; done += 64) {
    memcpy(words, at + done, 64);
    Words all = words[0] | words[1] | words[2] | words[3];
    if (((all[0] | all[1]) & 0x8080808080808080ULL) != 0) break;
  }
  for (uint64_t word; done + 8 <= size; done += 8) {
    memcpy(&word, at + done, 8);
    if ((word & 0x8080808080808080ULL) != 0) break;
  }
  while (done < size && at[done] < 0x80) done++;
  return done;
}

typedef uint8_t Bytes8 __attribute__((vector_size(8)));
typedef uint16_t Units8 __attribute__((vector_size(16)));

// The state of a decoding: bytes read, units written, and the bitwise or of all units.
struct Decoding {
  size_t at = 0, to = 0;
  uint32_t all = 0;
};

// Decodes one character after the other until `end` is reached or passed. False where one is malformed.
inline bool DecodeOneByOne(const uint8_t* in, size_t size, size_t end, uint16_t* out, Decoding* decoding) {
  size_t to = decoding->to, at = decoding->at;
  uint32_t all = decoding->all;
  while (at < end) {
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
      if (((second & 0xc0) ^ 0x80) | ((third & 0xc0) ^ 0x80) | ((fourth & 0xc0) ^ 0x80) || code < 0x10000 ||
          code > 0x10ffff)
        return false;
      all |= 0xffff;
      out[to++] = static_cast<uint16_t>(0xd7c0 + (code >> 10));
      out[to++] = static_cast<uint16_t>(0xdc00 + (code & 0x3ff));
      at += 4;
    }
  }
  *decoding = {at, to, all};
  return true;
}

#if defined(__x86_64__)
// The functions for blocks compute a unit for every byte, as if it were the last byte of a character, from it and the
// three before it, and then keep the units of bytes that are. A character of four bytes gives its high surrogate at its
// third byte and the low one at its fourth. A block begins at least three bytes into the text, between two characters;
// StepBack moves the end of the last block back to the end of a character.
inline void StepBack(const uint8_t* in, Decoding* decoding) {
  const uint8_t* at = in + decoding->at;
  if (at[-1] >= 0xc0) {
    decoding->at -= 1;
  } else if (at[-2] >= 0xe0) {
    decoding->at -= 2;
  } else if (at[-3] >= 0xf0) {
    decoding->at -= 3;
    decoding->to -= 1;
  }
}

// For each set of eight units: the shuffle that moves the units in the set together.
struct Gatherings {
  uint8_t of[256][16];
  constexpr Gatherings() : of() {
    for (int set = 0; set < 256; set++) {
      int to = 0;
      for (int lane = 0; lane < 8; lane++) {
        if ((set >> lane & 1) == 0) continue;
        of[set][to++] = static_cast<uint8_t>(lane * 2);
        of[set][to++] = static_cast<uint8_t>(lane * 2 + 1);
      }
      while (to < 16) of[set][to++] = 0x80;
    }
  }
};
alignas(16) constexpr Gatherings kGatherings;

AVX2_TARGET inline __m128i AtLeast(__m128i bytes, int least) {
  __m128i limit = _mm_set1_epi8(static_cast<char>(least));
  return _mm_cmpeq_epi8(_mm_max_epu8(bytes, limit), bytes);
}

AVX2_TARGET inline size_t StoreSome(__m128i units, unsigned set, uint16_t* out) {
  __m128i order = _mm_load_si128(reinterpret_cast<const __m128i*>(kGatherings.of[set]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(units, order));
  return static_cast<size_t>(_mm_popcnt_u32(set));
}

AVX2_TARGET inline bool DecodeBlocksAvx2(const uint8_t* in, size_t size, uint16_t* out, Decoding* decoding) {
  size_t at = decoding->at, to = decoding->to;
  __m256i all = _mm256_setzero_si256(), wrong = all;
  auto load = [&](size_t from) AVX2_TARGET { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + from)); };
  for (; at + 16 <= size; at += 16) {
    __m128i bytes = load(at);
    __m128i one = load(at - 1), two = load(at - 2), three = load(at - 3);
    __m128i follows2 = AtLeast(two, 0xe0), follows3 = AtLeast(three, 0xf0);
    __m128i ends2 = _mm_andnot_si128(AtLeast(one, 0xe0), AtLeast(one, 0xc0));
    __m128i follows = _mm_or_si128(AtLeast(one, 0xc0), _mm_or_si128(follows2, follows3));
    __m128i continues = _mm_cmpgt_epi8(_mm_set1_epi8(-64), bytes);
    __m128i misplaced = _mm_xor_si128(follows, continues);
    if (_mm_movemask_epi8(bytes) == 0 && _mm_movemask_epi8(misplaced) == 0) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + to), _mm256_cvtepu8_epi16(bytes));
      to += 16;
      continue;
    }
    auto set = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(ends2, follows2), follows3))) |
               (~static_cast<unsigned>(_mm_movemask_epi8(bytes)) & 0xffff);
    __m256i inside = _mm256_cvtepi8_epi16(continues), third = _mm256_cvtepi8_epi16(follows2);
    __m256i low = _mm256_and_si256(_mm256_cvtepu8_epi16(bytes), _mm256_set1_epi16(0x7f));
    __m256i middle = _mm256_slli_epi16(_mm256_and_si256(_mm256_cvtepu8_epi16(one), _mm256_set1_epi16(0x3f)), 6);
    __m256i high = _mm256_and_si256(_mm256_slli_epi16(_mm256_cvtepu8_epi16(two), 12), third);
    __m256i units = _mm256_or_si256(_mm256_or_si256(low, _mm256_and_si256(middle, inside)), high);
    // The smallest valid unit for a character of so many bytes. First bytes of characters give no unit, so 0 is right.
    __m256i least =
        _mm256_blendv_epi8(_mm256_and_si256(inside, _mm256_set1_epi16(0x80)), _mm256_set1_epi16(0x800), third);
    wrong = _mm256_or_si256(wrong, _mm256_cvtepi8_epi16(misplaced));
    __m256i surrogates = _mm256_cmpeq_epi16(_mm256_and_si256(units, _mm256_set1_epi16(static_cast<short>(0xf800))),
                                            _mm256_set1_epi16(static_cast<short>(0xd800)));
    wrong = _mm256_or_si256(wrong, surrogates);
    __m128i beyond = _mm_or_si128(AtLeast(two, 0xf0), follows3);
    if (_mm_movemask_epi8(beyond) != 0) {
      __m256i upper = _mm256_cvtepi8_epi16(AtLeast(two, 0xf0)), lower = _mm256_cvtepi8_epi16(follows3);
      // The unit of a high surrogate has the upper 16 of 22 bits here: from U+10000 to U+10FFFF.
      least = _mm256_blendv_epi8(_mm256_andnot_si256(lower, least), _mm256_set1_epi16(0x400), upper);
      wrong = _mm256_or_si256(wrong, _mm256_and_si256(upper, _mm256_subs_epu16(units, _mm256_set1_epi16(0x43ff))));
      wrong = _mm256_or_si256(wrong, _mm256_subs_epu16(least, units));
      __m256i first = _mm256_add_epi16(_mm256_srli_epi16(units, 4), _mm256_set1_epi16(static_cast<short>(0xd7c0)));
      __m256i second = _mm256_or_si256(_mm256_and_si256(units, _mm256_set1_epi16(0x3ff)),
                                       _mm256_set1_epi16(static_cast<short>(0xdc00)));
      units = _mm256_blendv_epi8(_mm256_blendv_epi8(units, first, upper), second, lower);
    } else {
      wrong = _mm256_or_si256(wrong, _mm256_subs_epu16(least, units));
    }
    all = _mm256_or_si256(all, units);
    to += StoreSome(_mm256_castsi256_si128(units), set & 0xff, out + to);
    to += StoreSome(_mm256_extracti128_si256(units, 1), set >> 8, out + to);
  }
  if (_mm256_testz_si256(wrong, wrong) == 0) return false;
  uint16_t lanes[16], seen = 0;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), all);
  for (uint16_t lane : lanes) seen |= lane;
  *decoding = {at, to, decoding->all | seen};
  return true;
}

#define VBMI2_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi2,popcnt")))

// The same, 32 bytes at a time.
VBMI2_TARGET inline bool DecodeBlocksVbmi2(const uint8_t* in, size_t size, uint16_t* out, Decoding* decoding) {
  size_t at = decoding->at, to = decoding->to;
  __m512i all = _mm512_setzero_si512();
  __mmask32 wrong = 0;
  const __m256i lead2 = _mm256_set1_epi8(static_cast<char>(0xc0)), lead3 = _mm256_set1_epi8(static_cast<char>(0xe0)),
                lead4 = _mm256_set1_epi8(static_cast<char>(0xf0));
  for (; at + 32 <= size; at += 32) {
    __m256i bytes = _mm256_loadu_epi8(in + at), one = _mm256_loadu_epi8(in + at - 1);
    __m256i two = _mm256_loadu_epi8(in + at - 2), three = _mm256_loadu_epi8(in + at - 3);
    __mmask32 leads = _mm256_cmpge_epu8_mask(one, lead2), third = _mm256_cmpge_epu8_mask(two, lead3);
    __mmask32 lower = _mm256_cmpge_epu8_mask(three, lead4), continues = _mm256_cmplt_epi8_mask(bytes, lead2);
    wrong |= (leads | third | lower) ^ continues;
    __m512i low = _mm512_cvtepu8_epi16(bytes);
    if (_mm256_movepi8_mask(bytes) == 0) {
      _mm512_storeu_epi16(out + to, low);
      to += 32;
      continue;
    }
    __mmask32 set = (leads & ~_mm256_cmpge_epu8_mask(one, lead3)) | third | lower | ~_mm256_movepi8_mask(bytes);
    low = _mm512_and_si512(low, _mm512_set1_epi16(0x7f));
    __m512i middle = _mm512_slli_epi16(_mm512_and_si512(_mm512_cvtepu8_epi16(one), _mm512_set1_epi16(0x3f)), 6);
    __m512i high = _mm512_maskz_slli_epi16(third, _mm512_cvtepu8_epi16(two), 12);
    __m512i units = _mm512_or_si512(_mm512_or_si512(low, _mm512_maskz_mov_epi16(continues, middle)), high);
    __m512i least =
        _mm512_mask_blend_epi16(third, _mm512_maskz_set1_epi16(continues & ~lower, 0x80), _mm512_set1_epi16(0x800));
    wrong |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(units, _mm512_set1_epi16(static_cast<short>(0xf800))),
                                     _mm512_set1_epi16(static_cast<short>(0xd800)));
    __mmask32 upper = _mm256_cmpge_epu8_mask(two, lead4);
    if ((upper | lower) != 0) {
      least = _mm512_mask_mov_epi16(least, upper, _mm512_set1_epi16(0x400));
      wrong |=
          _mm512_mask_cmpgt_epu16_mask(upper, units, _mm512_set1_epi16(0x43ff)) | _mm512_cmplt_epu16_mask(units, least);
      __m512i first = _mm512_add_epi16(_mm512_srli_epi16(units, 4), _mm512_set1_epi16(static_cast<short>(0xd7c0)));
      __m512i second = _mm512_or_si512(_mm512_and_si512(units, _mm512_set1_epi16(0x3ff)),
                                       _mm512_set1_epi16(static_cast<short>(0xdc00)));
      units = _mm512_mask_mov_epi16(_mm512_mask_mov_epi16(units, upper, first), lower, second);
    } else {
      wrong |= _mm512_cmplt_epu16_mask(units, least);
    }
    all = _mm512_or_si512(all, units);
    _mm512_storeu_epi16(out + to, _mm512_maskz_compress_epi16(set, units));
    to += static_cast<size_t>(_mm_popcnt_u32(set));
  }
  if (wrong != 0) return false;
  uint16_t lanes[32], seen = 0;
  _mm512_storeu_epi16(lanes, all);
  for (uint16_t lane : lanes) seen |= lane;
  *decoding = {at, to, decoding->all | seen};
  return true;
}
#endif

// Well-formed UTF-8 as UTF-16, never more units than bytes. `seen`: the bitwise or of all units. False where it is
// malformed.
inline bool ToUtf16(const uint8_t* in, size_t size, uint16_t* out, size_t* length, uint16_t* seen) {
  Decoding decoding;
#if defined(__x86_64__)
  if (size >= 32 && processor::kFeatures.avx2) {
    if (!DecodeOneByOne(in, size, 3, out, &decoding)) return false;
    bool wide = size >= 64 && processor::kFeatures.vbmi2;
    if (!(wide ? DecodeBlocksVbmi2 : DecodeBlocksAvx2)(in, size, out, &decoding)) return false;
    StepBack(in, &decoding);
  }
#endif
  if (!DecodeOneByOne(in, size, size, out, &decoding)) return false;
  *length = decoding.to;
  *seen = static_cast<uint16_t>(decoding.all);
  return true;
}

// How many bytes the encoders may write beyond the result.
constexpr size_t kEncodeSpare = 64;

// Latin-1 as UTF-8: at most two bytes for each. Returns the bytes written.
inline size_t FromLatin1(const uint8_t* in, size_t size, uint8_t* out) {
  size_t to = 0;
  for (size_t at = 0; at < size;) {
    uint64_t word;
    if (at + 8 <= size && (memcpy(&word, in + at, 8), (word & 0x8080808080808080ULL) == 0)) {
      memcpy(out + to, &word, 8);
      at += 8;
      to += 8;
      continue;
    }
    size_t end = at + 8 < size ? at + 8 : size;
    for (; at < end; at++) {
      // Writes two bytes; the next character overwrites the first where one is enough.
      uint8_t unit = in[at];
      out[to] = static_cast<uint8_t>(0xc0 | unit >> 6);
      to += unit >> 7;
      out[to++] = static_cast<uint8_t>(unit & ~(unit >> 1 & 0x40));
    }
  }
  return to;
}

// The state of an encoding: units read, bytes written.
struct Encoding {
  size_t at = 0, to = 0;
};

// Encodes one character after the other until `end` is reached or passed; lone surrogates become U+FFFD.
inline void EncodeOneByOne(const uint16_t* in, size_t size, size_t end, uint8_t* out, Encoding* encoding) {
  size_t at = encoding->at, to = encoding->to;
  while (at < end) {
    uint32_t unit = in[at++];
    if (unit < 0x80) {
      out[to++] = static_cast<uint8_t>(unit);
      continue;
    }
    if (unit < 0x800) {
      out[to++] = static_cast<uint8_t>(0xc0 | unit >> 6);
      out[to++] = 0x80 | (unit & 0x3f);
      continue;
    }
    if ((unit & 0xf800) == 0xd800) {
      if (unit < 0xdc00 && at < size && (in[at] & 0xfc00) == 0xdc00) {
        uint32_t code = 0x10000 + ((unit & 0x3ff) << 10) + (in[at++] & 0x3ff);
        out[to++] = static_cast<uint8_t>(0xf0 | code >> 18);
        out[to++] = 0x80 | (code >> 12 & 0x3f);
        out[to++] = 0x80 | (code >> 6 & 0x3f);
        out[to++] = 0x80 | (code & 0x3f);
        continue;
      }
      unit = 0xfffd;
    }
    out[to++] = static_cast<uint8_t>(0xe0 | unit >> 12);
    out[to++] = 0x80 | (unit >> 6 & 0x3f);
    out[to++] = 0x80 | (unit & 0x3f);
  }
  *encoding = {at, to};
}

#if defined(__x86_64__)
// Sixteen units at a time, each in a lane of four bytes of which some are kept. A surrogate pair is written by its low
// half. Begins after the first unit, and leaves at least one unit unread.
VBMI2_TARGET inline void EncodeBlocks(const uint16_t* in, size_t size, uint8_t* out, Encoding* encoding) {
  size_t at = encoding->at, to = encoding->to;
  const __m512i low6 = _mm512_set1_epi32(0x3f);
  for (; at + 17 <= size; at += 16) {
    __m256i narrow = _mm256_loadu_epi16(in + at);
    if (_mm256_test_epi16_mask(narrow, _mm256_set1_epi16(static_cast<short>(0xff80))) == 0) {
      _mm_storeu_epi8(out + to, _mm256_cvtepi16_epi8(narrow));
      to += 16;
      continue;
    }
    __m512i units = _mm512_cvtepu16_epi32(narrow);
    __mmask16 three = _mm512_cmpge_epu32_mask(units, _mm512_set1_epi32(0x800)),
              two = _mm512_cmpge_epu32_mask(units, _mm512_set1_epi32(0x80));
    const __m512i kind = _mm512_set1_epi32(0xfc00), isHigh = _mm512_set1_epi32(0xd800),
                  isLow = _mm512_set1_epi32(0xdc00);
    __mmask16 high = _mm512_cmpeq_epi32_mask(_mm512_and_si512(units, kind), isHigh),
              low = _mm512_cmpeq_epi32_mask(_mm512_and_si512(units, kind), isLow);
    __mmask16 paired = 0;
    __m512i code = units;
    if ((high | low) != 0) {
      __m512i before = _mm512_cvtepu16_epi32(_mm256_loadu_epi16(in + at - 1)),
              after = _mm512_cvtepu16_epi32(_mm256_loadu_epi16(in + at + 1));
      paired = low & _mm512_cmpeq_epi32_mask(_mm512_and_si512(before, kind), isHigh);
      high &= _mm512_cmpeq_epi32_mask(_mm512_and_si512(after, kind), isLow);
      __mmask16 alone =
          (_mm512_cmpeq_epi32_mask(_mm512_and_si512(units, _mm512_set1_epi32(0xf800)), isHigh)) & ~paired & ~high;
      code = _mm512_mask_mov_epi32(code, alone, _mm512_set1_epi32(0xfffd));
      // 0x10000 + (before - 0xd800) * 0x400 + unit - 0xdc00.
      __m512i pair = _mm512_add_epi32(_mm512_add_epi32(_mm512_slli_epi32(before, 10), units),
                                      _mm512_set1_epi32(0x10000 - 0xd800 * 0x400 - 0xdc00));
      code = _mm512_mask_mov_epi32(code, paired, pair);
    } else {
      high = 0;
    }
    // The bytes of each character, its first byte in the lowest place.
    __m512i last = _mm512_or_si512(_mm512_and_si512(code, low6), _mm512_set1_epi32(0x80));
    __m512i second = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(code, 6), low6), _mm512_set1_epi32(0x80));
    __m512i bytes =
        _mm512_mask_mov_epi32(code, two,
                              _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi32(code, 6), _mm512_set1_epi32(0xc0)),
                                              _mm512_slli_epi32(last, 8)));
    __m512i of3 = _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi32(code, 12), _mm512_set1_epi32(0xe0)),
                                  _mm512_or_si512(_mm512_slli_epi32(second, 8), _mm512_slli_epi32(last, 16)));
    bytes = _mm512_mask_mov_epi32(bytes, three, of3);
    __m512i kept = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(_mm512_set1_epi32(0xff), two, _mm512_set1_epi32(0xffff)),
                                         three, _mm512_set1_epi32(0xffffff));
    if (paired != 0) {
      __m512i third = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(code, 12), low6), _mm512_set1_epi32(0x80));
      __m512i of4 = _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi32(code, 18), _mm512_set1_epi32(0xf0)),
                                    _mm512_slli_epi32(third, 8));
      of4 = _mm512_or_si512(of4, _mm512_or_si512(_mm512_slli_epi32(second, 16), _mm512_slli_epi32(last, 24)));
      bytes = _mm512_mask_mov_epi32(bytes, paired, of4);
      kept = _mm512_mask_mov_epi32(kept, paired, _mm512_set1_epi32(-1));
    }
    kept = _mm512_maskz_mov_epi32(static_cast<__mmask16>(~high), kept);
    __mmask64 set = _mm512_movepi8_mask(kept);
    _mm512_storeu_epi8(out + to, _mm512_maskz_compress_epi8(set, bytes));
    to += static_cast<size_t>(_mm_popcnt_u64(set));
  }
  // The pair's high half has written nothing yet.
  if ((in[at] & 0xfc00) == 0xdc00 && (in[at - 1] & 0xfc00) == 0xd800) at--;
  *encoding = {at, to};
}
#endif

// UTF-16 as UTF-8: at most three bytes a unit, and kEncodeSpare beyond them. Returns the bytes written.
inline size_t FromUtf16(const uint16_t* in, size_t size, uint8_t* out) {
  Encoding encoding;
#if defined(__x86_64__)
  if (size >= 24 && processor::kFeatures.vbmi2) {
    EncodeOneByOne(in, size, 1, out, &encoding);
    EncodeBlocks(in, size, out, &encoding);
  }
#endif
  EncodeOneByOne(in, size, size, out, &encoding);
  return encoding.to;
}

}  // namespace codecs
