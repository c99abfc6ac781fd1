// Memory: what a guest holds outside V8's heap, what still fits on the heap, and new buffers.
#pragma once

#include <v8.h>

#include "shared-memories.h"

namespace native {

using namespace v8;

struct Guest;

struct MemoryState {
  // How many bytes the guest may hold outside the heap; 0: any.
  size_t external_max;
  SharedMemories shared;
  // CPU since the size was checked at the end of an entry.
  int64_t unchecked_ns;
  // The entry was ended because the guest holds more than it may.
  bool exceeded;
};

// Whether a guest holds more outside its heap than it may, with so many bytes more: buffers, and WebAssembly memories,
// which isolated-vm does not see. Collects garbage before it says yes.
bool ExceedsMemory(Guest* guest, size_t more = 0);

// The check at the end of an entry that took so much CPU; only every millisecond of CPU, since it takes a few
// microseconds.
void CheckMemoryAfter(Guest* guest, int64_t cpu_ns);

// Counts a shared memory as what it may grow to; false where that is more than is left.
bool CountShared(Guest* guest, const std::shared_ptr<BackingStore>& store);

// Below this size nothing is checked: V8's own reserve is larger.
constexpr size_t kUncheckedBytesMax = 1024 * 1024;

// Whether so many bytes more fit on the heap. A string that does not fit would end the isolate, and its thread with it.
bool FitsOnHeap(Isolate* isolate, size_t bytes);

void ThrowNoMemory(Isolate* isolate);

// A new buffer, not initialized; where there is no memory for it, that is thrown, and it is empty.
MaybeLocal<ArrayBuffer> NewBuffer(Isolate* isolate, size_t size);

// Function of the guest, see guest.cc.
void Trim(const FunctionCallbackInfo<Value>& info);

}  // namespace native
