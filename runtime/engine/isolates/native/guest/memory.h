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
  // Under which an object keeps the buffer that stands for what it holds; what was held since the size was checked.
  Global<Private> held_key;
  size_t unchecked_held;
  // The most that it was seen to hold, on the heap and outside.
  size_t most;
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

// For memory that an object holds outside the heap and V8 knows nothing of. MayHold says, before it is made, whether so
// many bytes are left; Hold counts them for as long as it lives. HeldBytes: what was counted of an object.
bool MayHold(Guest* guest, size_t bytes);
void Hold(Guest* guest, Local<Object> holder, size_t bytes);
size_t HeldBytes(Guest* guest, Local<Object> holder);

// V8 collects young objects for what young buffers hold, and looks at that only when it makes memory for one: this
// does.
void LookAtBuffers(Isolate* isolate);

// The guest is gone: where it held much, what malloc keeps of it goes back to the system.
void GiveBackAfter(const MemoryState& memory);

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
