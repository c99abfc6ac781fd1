// How many bytes of events a broker holds at a time: what comes next waits in its order until there is room. So the
// most is the bound, or one event that is larger by itself. Used by work/workflow.ts, whose events carry the whole
// history of a run. Pure.

/** Bytes that were let in. */
export interface Hold {
  /** It turned out to be so many. */
  keep(bytes: number): void;
  release(): void;
}

/** The gate. */
export class ByteGate {
  readonly #bytesMax: number;
  #held = 0;
  #waiting: { readonly bytes: number; readonly go: () => void }[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** Resolves when there is room for so many bytes, or nothing else is held. */
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
