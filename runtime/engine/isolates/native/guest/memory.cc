#include "memory.h"

#include <memory>
#include <utility>

#include "guest.h"
#include "long-text.h"

#ifdef __linux__
// Of glibc alone.
extern "C" __attribute__((weak)) int malloc_trim(size_t);
#endif

namespace native {

namespace {

constexpr int64_t kCheckNs = 1'000'000;
// Giving back takes a hundredth of the time that it took to fill so much.
constexpr size_t kGivenBackMin = 32 * 1024 * 1024;

size_t ExternalBytes(Guest* guest) {
  HeapStatistics statistics;
  guest->isolate->GetHeapStatistics(&statistics);
  MemoryState& memory = guest->memory;
  size_t bytes = statistics.external_memory() + memory.shared.Bytes(), all = bytes + statistics.used_heap_size();
  if (all > memory.most) memory.most = all;
  return bytes;
}

void CollectGarbage(Isolate* isolate) {
  isolate->MemoryPressureNotification(MemoryPressureLevel::kCritical);
  isolate->MemoryPressureNotification(MemoryPressureLevel::kNone);
}

}  // namespace

bool ExceedsMemory(Guest* guest, size_t more) {
  size_t max = guest->memory.external_max;
  if (max == 0) return false;
  if (more > max) return true;
  if (ExternalBytes(guest) + more <= max) return false;
  CollectGarbage(guest->isolate);
  return ExternalBytes(guest) + more > max;
}

void CheckMemoryAfter(Guest* guest, int64_t cpu_ns) {
  MemoryState& memory = guest->memory;
  memory.unchecked_ns += cpu_ns;
  if (memory.exceeded || memory.unchecked_ns < kCheckNs) return;
  memory.unchecked_ns = 0;
  memory.exceeded = !guest->isolate->IsExecutionTerminating() && ExceedsMemory(guest);
}

bool CountShared(Guest* guest, const std::shared_ptr<BackingStore>& store) {
  size_t bytes = store->MaxByteLength();
  return !ExceedsMemory(guest, SharedMemories::CountedBytes(bytes)) && guest->memory.shared.Add(store, bytes);
}

bool MayHold(Guest* guest, size_t bytes) {
  MemoryState& memory = guest->memory;
  memory.unchecked_held += bytes;
  if (memory.unchecked_held < kUncheckedBytesMax) return true;
  memory.unchecked_held = 0;
  LookAtBuffers(guest->isolate);
  return !ExceedsMemory(guest, bytes);
}

void Hold(Guest* guest, Local<Object> holder, size_t bytes) {
  Isolate* isolate = guest->isolate;
  Global<Private>& key = guest->memory.held_key;
  if (key.IsEmpty()) key.Reset(isolate, Private::New(isolate));
  // Over no memory: nobody sees it. V8 counts it until it collects the object, and it with it.
  std::shared_ptr<BackingStore> store = ArrayBuffer::NewBackingStore(
      guest, bytes, [](void*, size_t, void*) {}, nullptr);
  Local<ArrayBuffer> buffer = ArrayBuffer::New(isolate, std::move(store));
  if (holder->SetPrivate(isolate->GetCurrentContext(), key.Get(isolate), buffer).IsNothing()) return;
}

size_t HeldBytes(Guest* guest, Local<Object> holder) {
  Isolate* isolate = guest->isolate;
  Local<Value> buffer;
  if (guest->memory.held_key.IsEmpty() ||
      !holder->GetPrivate(isolate->GetCurrentContext(), guest->memory.held_key.Get(isolate)).ToLocal(&buffer) ||
      !buffer->IsArrayBuffer())
    return 0;
  return buffer.As<ArrayBuffer>()->ByteLength();
}

void GiveBackAfter(const MemoryState& memory) {
#ifdef __linux__
  if (memory.most >= kGivenBackMin && malloc_trim != nullptr) malloc_trim(0);
#endif
}

void LookAtBuffers(Isolate* isolate) {
  ArrayBuffer::NewBackingStore(isolate, 1, BackingStoreInitializationMode::kUninitialized,
                               BackingStoreOnFailureMode::kReturnNull);
}

bool FitsOnHeap(Isolate* isolate, size_t bytes) {
  if (bytes < kUncheckedBytesMax) return true;
  HeapStatistics statistics;
  isolate->GetHeapStatistics(&statistics);
  if (bytes > statistics.heap_size_limit()) return false;
  if (statistics.used_heap_size() + bytes <= statistics.heap_size_limit()) return true;
  CollectGarbage(isolate);
  isolate->GetHeapStatistics(&statistics);
  return statistics.used_heap_size() + bytes <= statistics.heap_size_limit();
}

void ThrowNoMemory(Isolate* isolate) {
  auto message = String::NewFromUtf8Literal(isolate, "Array buffer allocation failed");
  isolate->ThrowException(Exception::RangeError(message));
}

MaybeLocal<ArrayBuffer> NewBuffer(Isolate* isolate, size_t size) {
  auto buffer = ArrayBuffer::MaybeNew(isolate, size, BackingStoreInitializationMode::kUninitialized);
  if (buffer.IsEmpty()) ThrowNoMemory(isolate);
  return buffer;
}

// Twice: V8 keeps the pages that the first collection empties.
void Trim(const FunctionCallbackInfo<Value>& info) {
  for (int i = 0; i < 2; i++) CollectGarbage(info.GetIsolate());
  FreeUnusedText();
}

}  // namespace native
