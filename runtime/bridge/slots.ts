// Numbers for things in flight: an array of slots with a free list. Not a Map: one keyed by request id keeps every request
// that its outgrown tables held alive until the next full collection, which cost 10 ms of p99 (facts in ARCHITECTURE.md).

const INDEX_BITS = 2 ** 20;

/** Holds values under ids that are not used again soon: index + generation. */
export class Slots<Value extends object> {
  #values: (Value | undefined)[] = [];
  #ids: number[] = [];
  #free: number[] = [];
  #size = 0;
  #first: number;

  /** `first`: added to every id, so that two tables of one isolate never give the same. */
  constructor(first = 0) {
    this.#first = first;
  }

  get size(): number {
    return this.#size;
  }

  add(value: Value): number {
    const index = this.#free.pop() ?? this.#values.length;
    const id = index < this.#ids.length ? (this.#ids[index] as number) + INDEX_BITS : this.#first + index + INDEX_BITS;
    this.#ids[index] = id;
    this.#values[index] = value;
    this.#size++;
    return id;
  }

  get(id: number): Value | undefined {
    const index = (id - this.#first) % INDEX_BITS;
    return this.#ids[index] === id ? this.#values[index] : undefined;
  }

  remove(id: number): Value | undefined {
    const value = this.get(id);
    if (value === undefined) return undefined;
    const index = (id - this.#first) % INDEX_BITS;
    this.#values[index] = undefined;
    this.#free.push(index);
    this.#size--;
    return value;
  }

  /** All values now held. */
  values(): Value[] {
    return this.#values.filter((value) => value !== undefined);
  }
}
