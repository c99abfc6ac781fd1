// Limits the bytes of events that a broker holds: further events wait in order until there is room. So the broker holds
// at most the limit, or a single larger event. Used by work/workflow.ts, whose events contain the whole history of a
// run. Pure.

/** Reserved bytes. */
export interface Hold {
  /** Corrects the size. */
  keep(bytes: number): void;
  release(): void;
}

/** Limits held bytes. */
export class ByteGate {
  readonly #bytesMax: number;
  #held = 0;
  #waiting: { readonly bytes: number; readonly go: () => void }[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes currently held. */
  get held(): number {
    return this.#held;
  }

  /** Resolves when there is room for this many bytes, or no other bytes are held. */
  async take(bytes: number): Promise<Hold> {
    if (this.#waiting.length > 0 || !this.#fits(bytes))
      await new Promise<void>((go) => this.#waiting.push({ bytes, go }));
    else this.#held += bytes;
    let own = bytes;
    const keep = (now: number): void => {
      this.#held += now - own;
      own = now;
      this.#letIn();
    };
    return { keep, release: () => keep(0) };
  }

  #fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#bytesMax;
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#held += next.bytes;
      next.go();
    }
  }
}
