#include "memory.h"

#include "guest.h"
#include "long-text.h"

namespace native {

namespace {

constexpr int64_t kCheckNs = 1'000'000;

size_t ExternalBytes(Guest* guest) {
  HeapStatistics statistics;
  guest->isolate->GetHeapStatistics(&statistics);
  return statistics.external_memory() + guest->memory.shared.Bytes();
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
