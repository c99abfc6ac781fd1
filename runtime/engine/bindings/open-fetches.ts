// Limits the concurrent fetches and sockets of one worker, from the request to the last byte of the response, because
// each holds a socket of the engine. Used by fetch.ts and tcp.ts.
import { PlatformError } from '#core/errors.ts';
import type { HostMemory } from '../bridge/host-memory.ts';

/** Memory of a connection, including the response data read ahead. */
const FETCH_BYTES = 64 * 1024;

export class OpenFetches {
  #max: number;
  #open = new WeakMap<object, { count: number }>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Acquires a slot. @returns a function that releases the slot; calling it twice has no effect.
   *
   * @throws {PlatformError} `quota_exceeded`, `host_memory_exceeded`
   */
  take(isolate: { readonly memory: HostMemory }, what = 'Another open fetch'): () => void {
    let open = this.#open.get(isolate);
    if (open === undefined) this.#open.set(isolate, (open = { count: 0 }));
    const counted = open;
    if (counted.count >= this.#max) throw new PlatformError('quota_exceeded', { what, limit: this.#max });
    const hold = isolate.memory.hold(FETCH_BYTES, 'A fetch');
    counted.count++;
    let held = true;
    return () => {
      if (held) counted.count--;
      held = false;
      hold.release();
    };
  }
}
