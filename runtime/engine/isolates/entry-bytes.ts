// Byte arrays that enter or leave an isolate. Called by isolate.ts.
import ivm from 'isolated-vm';

/**
 * If a guest sends the same array twice in an entry, it arrives as one object. Each array gets its own memory, since
 * the receiver of a part may free the memory of the part. Modifies the list.
 */
export function apart(bytes: Uint8Array[]): Uint8Array[] {
  const seen = new Set<ArrayBufferLike>();
  for (let at = 0; at < bytes.length; at++) {
    const { buffer } = bytes[at] as Uint8Array;
    if (seen.has(buffer)) bytes[at] = (bytes[at] as Uint8Array).slice();
    else seen.add(buffer);
  }
  return bytes;
}

/**
 * Makes chunks transferable. Chunks that are marked as transferred cross with their memory, so that 1 MB takes 30 us
 * instead of 280 us and leaves no garbage.
 */
export function handOver(bytes: readonly Uint8Array[], transferred: readonly Uint8Array[]): ivm.Copy<Uint8Array>[] {
  let at = 0;
  return bytes.map((chunk) => {
    const isHanded = chunk === transferred[at];
    if (isHanded) at++;
    return new ivm.ExternalCopy(chunk, { transferOut: isHanded }).copyInto({ release: true, transferIn: isHanded });
  });
}
