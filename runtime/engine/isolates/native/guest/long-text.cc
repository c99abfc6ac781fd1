#include "long-text.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <memory>
#include <new>
#include <utility>

#include "guest.h"
#include "kept-blocks.h"

namespace native {

namespace {

// Not from malloc, which may keep what it is given back.
struct Mapped {
  static uint8_t* Take(size_t size) {
    void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return bytes == MAP_FAILED ? nullptr : static_cast<uint8_t*>(bytes);
  }
  static void Give(Block block) { munmap(block.bytes, block.capacity); }
};

// Of all guests of the process; each runs on a thread of its own.
KeptBlocks<Mapped> kept;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

Block Take(size_t size) {
  pthread_mutex_lock(&lock);
  Block block = kept.Take(size);
  pthread_mutex_unlock(&lock);
  return block;
}

void Give(void* bytes, size_t, void* capacity) {
  pthread_mutex_lock(&lock);
  kept.Give({static_cast<uint8_t*>(bytes), reinterpret_cast<size_t>(capacity)});
  pthread_mutex_unlock(&lock);
}

class LongText final : public String::ExternalOneByteStringResource {
 public:
  explicit LongText(std::shared_ptr<BackingStore> store) : store_(std::move(store)) {}
  const char* data() const override { return static_cast<const char*>(store_->Data()); }
  size_t length() const override { return store_->ByteLength(); }

 private:
  std::shared_ptr<BackingStore> store_;
};

}  // namespace

MaybeLocal<String> NewLongText(Guest* guest, const uint8_t* bytes, size_t length) {
  Isolate* isolate = guest->isolate;
  if (ExceedsMemory(guest, length)) return {};
  Block block = Take(length);
  if (block.bytes == nullptr) return {};
  memcpy(block.bytes, bytes, length);
  std::shared_ptr<BackingStore> store =
      ArrayBuffer::NewBackingStore(block.bytes, length, Give, reinterpret_cast<void*>(block.capacity));
  // This buffer, which nobody sees, stands for the string.
  ArrayBuffer::New(isolate, store);
  LookAtBuffers(isolate);
  auto* resource = new (std::nothrow) LongText(std::move(store));
  if (resource == nullptr) return {};
  MaybeLocal<String> text = String::NewExternalOneByte(isolate, resource);
  if (text.IsEmpty()) delete resource;
  return text;
}

void FreeUnusedText() {
  pthread_mutex_lock(&lock);
  kept.FreeAll();
  pthread_mutex_unlock(&lock);
}

}  // namespace native
