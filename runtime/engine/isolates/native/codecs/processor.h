// Which instructions the processor has beside those of every x64 machine, detected once. The codecs have faster code
// for these, and portable code for all other machines.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>

namespace processor {

struct Features {
  bool avx2 = false, vbmi2 = false, sha = false;
  Features() {
    uint32_t a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0) return;
    bool saves = (c & bit_OSXSAVE) != 0, sse41 = (c & bit_SSE4_1) != 0, popcnt = (c & bit_POPCNT) != 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return;
    sha = sse41 && (b & bit_SHA) != 0;
    if (!saves || !popcnt) return;
    // Which registers the system saves for a thread: without that the instructions must not be used.
    uint32_t kept, upper;
    __asm__ volatile("xgetbv" : "=a"(kept), "=d"(upper) : "c"(0));
    avx2 = (kept & 0x06) == 0x06 && (b & bit_AVX2) != 0 && (b & bit_BMI2) != 0;
    vbmi2 = avx2 && (kept & 0xe6) == 0xe6 && (b & bit_AVX512BW) != 0 && (b & bit_AVX512VL) != 0 &&
            (c & bit_AVX512VBMI2) != 0;
  }
};

// Initialized when the addon is loaded, before another thread can read it.
inline const Features kFeatures;

}  // namespace processor
#endif
