// Host objects that guest code names by number, such as crypto keys and compressors: one bounded table per isolate. Numbers
// are never used twice, so a stale one names nothing.
import { PlatformError } from '#core/errors.ts';

/** What is closed with its handle, if it holds resources. */
interface Closable {
  close?(): void;
}

export class HandleTable {
  #values = new Map<number, object>();
  #next = 1;
  #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws {PlatformError} `invalid_argument` when the worker holds too many. */
  add(value: object): number {
    if (this.#values.size >= this.#max)
      throw new PlatformError('invalid_argument', { reason: `More than ${this.#max} keys and streams of one worker are open` });
    const id = this.#next++;
    this.#values.set(id, value);
    return id;
  }

  get(id: unknown): object | undefined {
    return typeof id === 'number' ? this.#values.get(id) : undefined;
  }

  delete(id: unknown): void {
    if (typeof id !== 'number') return;
    (this.#values.get(id) as Closable | undefined)?.close?.();
    this.#values.delete(id);
  }

  closeAll(): void {
    for (const value of this.#values.values()) (value as Closable).close?.();
    this.#values.clear();
  }
}
