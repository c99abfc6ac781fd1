// Counts shared memories for as long as anything holds them: V8 counts them for no isolate. Sizes in, a sum out,
// nothing of V8: test/native fuzzes this file.
#pragma once

#include <stddef.h>

#include <memory>
#include <new>

namespace native {

class SharedMemories {
 public:
  // V8 reserves more address space than this for each; it also bounds how many there are.
  static constexpr size_t kBytesMin = 64 * 1024;

  SharedMemories() = default;
  SharedMemories(const SharedMemories&) = delete;
  ~SharedMemories() { delete[] entries_; }

  // What a memory that may grow to `bytes_max` counts as.
  static size_t CountedBytes(size_t bytes_max) { return bytes_max > kBytesMin ? bytes_max : kBytesMin; }

  // Counts a memory until it is released; false where there is no room to note it.
  bool Add(const std::shared_ptr<void>& memory, size_t bytes_max) {
    if (count_ == capacity_ && !Reserve(capacity_ == 0 ? 8 : capacity_ * 2)) return false;
    entries_[count_++] = {memory, CountedBytes(bytes_max)};
    return true;
  }

  // The sum of what still is held.
  size_t Bytes() {
    size_t bytes = 0, kept = 0;
    for (size_t at = 0; at < count_; at++) {
      if (entries_[at].memory.expired()) continue;
      bytes += entries_[at].bytes;
      if (kept != at) entries_[kept] = std::move(entries_[at]);
      kept++;
    }
    for (size_t at = kept; at < count_; at++) entries_[at].memory.reset();
    count_ = kept;
    return bytes;
  }

 private:
  struct Entry {
    std::weak_ptr<void> memory;
    size_t bytes;
  };

  bool Reserve(size_t capacity) {
    auto* larger = new (std::nothrow) Entry[capacity];
    if (larger == nullptr) return false;
    for (size_t at = 0; at < count_; at++) larger[at] = std::move(entries_[at]);
    delete[] entries_;
    entries_ = larger;
    capacity_ = capacity;
    return true;
  }

  Entry* entries_ = nullptr;
  size_t count_ = 0, capacity_ = 0;
};

}  // namespace native
