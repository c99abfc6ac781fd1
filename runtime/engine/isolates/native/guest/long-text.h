// Long strings outside of V8's heap, in memory that is used again.
#pragma once

#include <v8.h>

namespace native {

using namespace v8;

struct Guest;

// V8 maps memory anew for each string of more than 128 KB. Shorter ones lie on pages that it uses again.
constexpr size_t kLongTextMin = 128 * 1024;

// A string of one byte a character; empty where the guest may not hold so much outside of its heap, or there is no
// memory. V8 counts it there for as long as it lives.
MaybeLocal<String> NewLongText(Guest* guest, const uint8_t* bytes, size_t length);

// Gives the memory back that no string of the process uses.
void FreeUnusedText();

}  // namespace native
