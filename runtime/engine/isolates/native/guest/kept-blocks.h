// Blocks of memory that are used again: on a virtual machine the first touch of a page costs more than to copy it full.
// Sizes in, blocks out, nothing of V8: test/native fuzzes this file. Who uses it from several threads locks it.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace native {

struct Block {
  uint8_t* bytes;
  size_t capacity;
};

// `Memory` has `uint8_t* Take(size_t)`, null where there is none, and `void Give(Block)`.
template <typename Memory>
class KeptBlocks {
 public:
  static constexpr size_t kCountMax = 1024;
  // Of all that lies unused.
  static constexpr size_t kBytesMax = 64 * 1024 * 1024;
  // Sizes are multiples of it; no page is larger.
  static constexpr size_t kRound = 16 * 1024;

  KeptBlocks() = default;
  KeptBlocks(const KeptBlocks&) = delete;

  // One with room for `size`, not much larger; its `bytes` are null where there is no memory. What it holds is what its
  // last user left there.
  Block Take(size_t size) {
    for (size_t at = count_; at > 0; at--) {
      Block block = kept_[at - 1];
      if (block.capacity < size || block.capacity - size > size / 8 + kRound) continue;
      Remove(at - 1);
      return block;
    }
    if (size > SIZE_MAX - kRound) return {nullptr, 0};
    size_t capacity = (size + kRound - 1) / kRound * kRound;
    return {Memory::Take(capacity), capacity};
  }

  // Keeps it, and frees what has been unused longest where that is too much.
  void Give(Block block) {
    if (block.capacity > kBytesMax) return Memory::Give(block);
    while (count_ == kCountMax || bytes_ + block.capacity > kBytesMax) {
      Memory::Give(kept_[0]);
      Remove(0);
    }
    kept_[count_++] = block;
    bytes_ += block.capacity;
  }

  void FreeAll() {
    while (count_ > 0) {
      Memory::Give(kept_[count_ - 1]);
      Remove(count_ - 1);
    }
  }

 private:
  void Remove(size_t from) {
    bytes_ -= kept_[from].capacity;
    count_--;
    for (size_t at = from; at < count_; at++) kept_[at] = kept_[at + 1];
  }

  // In the order in which they came.
  Block kept_[kCountMax] = {};
  size_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace native
