// What is in flight, by number: a ring of slots under running numbers. Not a Map: one keyed by request id keeps every
// request that its outgrown tables held alive until the next full collection, which cost 10 ms of p99
// (docs/decisions/06-slots-not-maps.md). All numbers of the first table are small integers, which V8 keeps, prints and
// reads without allocating.

const NUMBER_MAX = 2 ** 31 - 1;
/** Slots that a table grows to for numbers of somebody else's making. */
const SLOTS_MAX = 2 ** 20;

/** Holds values under running numbers, its own (`add`) or those that another table gave (`put`), never both. */
export class InFlight<Value extends object> {
  #values: (Value | undefined)[];
  /** Number of the value in each slot; 0 where there is none. */
  #numbers: number[];
  #mask = 15;
  #size = 0;
  #last = 0;
  #first: number;

  /** `first`: added to every id, so that two tables of one isolate never give the same. */
  constructor(first = 0) {
    this.#first = first;
    this.#values = Array.from({ length: this.#mask + 1 });
    this.#numbers = this.#values.map(() => 0);
  }

  get size(): number {
    return this.#size;
  }

  /** Gives a value the next number; one comes again after two thousand million others. */
  add(value: Value): number {
    // At most half full: a number whose slot is still taken by an older value is passed over.
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
   * Takes a value under a number that another table gave: two of them that are in flight there never want the same slot
   * here.
   *
   * @throws {Error} when the number is taken or none, or no table of a sensible size holds it beside the others.
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

  /** All values now held. */
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
