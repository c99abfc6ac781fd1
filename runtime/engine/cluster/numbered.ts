// Exchanges under the numbers that the other engine gave them. Not a Map, for the reason in bridge/slots.ts. Used by
// receiver.ts.

/** Values by running numbers of somebody else's making; two live ones are never far apart. */
export class Numbered<Value extends object> {
  #values: (Value | undefined)[] = Array.from({ length: 64 });
  #numbers: number[] = this.#values.map(() => -1);

  /** @throws {Error} when the number is taken, or no table of a sensible size holds it beside the others. */
  put(number: number, value: Value): void {
    while (this.#numbers[number & (this.#numbers.length - 1)] !== -1) {
      if (this.get(number) !== undefined || this.#numbers.length >= 2 ** 20)
        throw new Error(`exchange ${number} is taken`);
      this.#grow();
    }
    const slot = number & (this.#numbers.length - 1);
    this.#numbers[slot] = number;
    this.#values[slot] = value;
  }

  get(number: number): Value | undefined {
    const slot = number & (this.#numbers.length - 1);
    return this.#numbers[slot] === number ? this.#values[slot] : undefined;
  }

  /** Whether there was one. */
  remove(number: number): boolean {
    const slot = number & (this.#numbers.length - 1);
    if (this.#numbers[slot] !== number) return false;
    this.#numbers[slot] = -1;
    this.#values[slot] = undefined;
    return true;
  }

  values(): Value[] {
    return this.#values.filter((value) => value !== undefined);
  }

  #grow(): void {
    const numbers = this.#numbers;
    const values = this.#values;
    for (let size = numbers.length * 2; ; size *= 2) {
      this.#values = Array.from({ length: size });
      this.#numbers = this.#values.map(() => -1);
      const fits = numbers.every((number, slot) => {
        if (number === -1) return true;
        const to = number & (size - 1);
        if (this.#numbers[to] !== -1) return false;
        this.#numbers[to] = number;
        this.#values[to] = values[slot];
        return true;
      });
      if (fits) return;
    }
  }
}
