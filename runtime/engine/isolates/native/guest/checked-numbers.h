// Numbers that come from JavaScript, converted to what C++ works with. NaN, infinities, negative and huge numbers are
// refused. Plain numbers in and out, nothing of V8: test/native fuzzes this file.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace native {

// A memory limit in bytes; 0, which is no limit, where the number is none.
inline size_t ToByteLimit(double value) { return value >= 1 && value < 1e15 ? static_cast<size_t>(value) : 0; }

// Milliseconds as nanoseconds; false, and `ns` as it was, where the number is not between 0 and 30 years.
inline bool MillisecondsToNs(double ms, int64_t* ns) {
  if (!(ms >= 0 && ms < 1e12)) return false;
  *ns = static_cast<int64_t>(ms * 1e6);
  return true;
}

// How many bytes a buffer grows by when it is resized; 0 where it does not grow, or V8 will throw because it cannot.
inline size_t GrowthInBytes(double requested, size_t current, size_t max) {
  if (!(requested > static_cast<double>(current) && requested <= static_cast<double>(max))) return 0;
  return static_cast<size_t>(requested) - current;
}

}  // namespace native
