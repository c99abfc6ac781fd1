// A table of values in flight, by number: a ring of slots under sequential numbers. Not a Map: a Map keyed by request
// id retains every request in its outgrown tables until the next full collection, which cost 10 ms of p99
// (docs/decisions/06-slots-not-maps.md). Numbers of the first table are small integers, which V8 stores, prints and
// parses without allocating.

const NUMBER_MAX = 2 ** 31 - 1;
/** Maximum number of slots in a table for numbers that another table allocates. */
const SLOTS_MAX = 2 ** 20;

/** Holds values under sequential numbers, allocated here (`add`) or by another table (`put`), never both. */
export class InFlight<Value extends object> {
  #values: (Value | undefined)[];
  /** Number of the value in each slot; 0 if the slot is empty. */
  #numbers: number[];
  #mask = 15;
  #size = 0;
  #last = 0;
  #first: number;

  /** @param first added to every id, so that two tables of one isolate never use the same id. */
  constructor(first = 0) {
    this.#first = first;
    this.#values = Array.from({ length: this.#mask + 1 });
    this.#numbers = this.#values.map(() => 0);
  }

  get size(): number {
    return this.#size;
  }

  /** Stores a value under the next number. Numbers repeat after two billion values. */
  add(value: Value): number {
    // The table is at most half full, so a free slot is near: a number whose slot still has an older value is skipped.
    if (this.#size * 2 > this.#mask) this.#grow();
    let number = this.#last;
    do {
      number = number === NUMBER_MAX ? 1 : number + 1;
    } while (this.#numbers[number & this.#mask] !== 0);
    this.#last = number;
    this.#set(number, value);
    return this.#first + number;
  }

  /**
   * Stores a value under a number from another table. Values that are in flight together never share a slot.
   *
   * @throws {Error} when the number is taken or invalid, or does not fit into a table of reasonable size.
   */
  put(id: number, value: Value): void {
    const number = id - this.#first;
    if (!(number >= 1)) throw new Error(`number ${id} is out of range`);
    while (this.#numbers[number & this.#mask] !== 0) {
      if (this.get(id) !== undefined || this.#mask >= SLOTS_MAX) throw new Error(`number ${id} is taken`);
      this.#grow();
    }
    this.#set(number, value);
  }

  get(id: number): Value | undefined {
    const number = id - this.#first;
    return this.#numbers[number & this.#mask] === number ? this.#values[number & this.#mask] : undefined;
  }

  remove(id: number): Value | undefined {
    const value = this.get(id);
    if (value === undefined) return undefined;
    const slot = (id - this.#first) & this.#mask;
    this.#numbers[slot] = 0;
    this.#values[slot] = undefined;
    this.#size--;
    return value;
  }

  /** All values that are currently in the table. */
  values(): Value[] {
    return this.#values.filter((value) => value !== undefined);
  }

  #set(number: number, value: Value): void {
    this.#numbers[number & this.#mask] = number;
    this.#values[number & this.#mask] = value;
    this.#size++;
  }

  #grow(): void {
    const numbers = this.#numbers;
    const values = this.#values;
    this.#mask = this.#mask * 2 + 1;
    this.#values = Array.from({ length: this.#mask + 1 });
    this.#numbers = this.#values.map(() => 0);
    for (const [slot, number] of numbers.entries()) {
      if (number === 0) continue;
      this.#numbers[number & this.#mask] = number;
      this.#values[number & this.#mask] = values[slot];
    }
  }
}
