// Validates the arguments of an operation that a worker requested, with errors that name the limits. Used on the main
// thread and on worker threads.

/** The arguments of one operation; every field is untrusted. */
export class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #parts: readonly unknown[];

  constructor(values: unknown, parts: readonly unknown[]) {
    if (typeof values !== 'object' || values === null) throw new TypeError('The arguments must be an object');
    this.#values = values as Record<string, unknown>;
    this.#parts = parts;
  }

  raw(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }

  text(name: string, among?: readonly string[]): string {
    const value = this.raw(name);
    if (typeof value !== 'string' || value.length > 100) throw new TypeError(`${name} must be a short string`);
    if (among !== undefined && !among.includes(value))
      throw new TypeError(`${name} must be one of ${among.join(', ')}, not ${value}`);
    return value;
  }

  whole(name: string, least: number, most: number): number {
    const value = this.raw(name);
    if (typeof value !== 'number' || !Number.isSafeInteger(value))
      throw new TypeError(`${name} must be a whole number`);
    if (value < least || value > most) throw tooMuch(name, value, `${least} to ${most}`);
    return value;
  }

  /** The field as an integer, or undefined if it is missing. */
  optional(name: string, least: number, most: number): number | undefined {
    return this.raw(name) === undefined || this.raw(name) === null ? undefined : this.whole(name, least, most);
  }

  bytes(index: number): Uint8Array<ArrayBuffer> {
    const part = this.#parts[index];
    if (!(part instanceof Uint8Array)) throw new TypeError('Bytes are missing');
    return part as Uint8Array<ArrayBuffer>;
  }
}

/** The error for an argument above the cost limit of one call. */
export function tooMuch(name: string, value: number, allowed: string): RangeError {
  return Object.assign(new RangeError(`${name} is ${value}, but a worker may use ${allowed}`), {
    code: 'ERR_OUT_OF_RANGE',
  });
}
