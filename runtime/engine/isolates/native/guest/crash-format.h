// The text of a crash report. Characters in and out, nothing of V8: test/native fuzzes this file.
#pragma once

#include <stddef.h>

namespace native {

// Writes the report into `out`, cut off where it does not fit, and returns its length. Calls nothing that a handler of
// a signal may not call.
inline size_t FormatCrashReport(int signal, const char* owner, size_t owner_max, char* out, size_t out_max) {
  size_t size = 0;
  auto put = [&](char character) {
    if (size < out_max) out[size++] = character;
  };
  if (signal >= 10) put(static_cast<char>('0' + signal / 10 % 10));
  put(static_cast<char>('0' + signal % 10));
  put(' ');
  for (size_t at = 0; at < owner_max && owner[at] != 0; at++) put(owner[at]);
  put('\n');
  return size;
}

}  // namespace native
