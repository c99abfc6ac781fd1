// Limits the memory of one namespace's uploads, independently of their number. Above the limit, only the oldest upload
// continues, and the others and their clients wait. So at most the limit and one upload are in memory, and no upload
// waits for a waiting one. Pure.

/** One upload. */
export interface Share {
  /** Resolves when this many more bytes may be held. @throws {Error} after the upload was closed. */
  take(bytes: number): Promise<void>;
  /** Releases bytes. */
  give(bytes: number): void;
  /** Called when the upload has ended; its remaining bytes are released. */
  close(): void;
}

interface Waiting {
  readonly bytes: number;
  readonly go: (error?: Error) => void;
}

interface Member {
  held: number;
  waiting: Waiting | null;
}

/** Bytes by namespace. */
export class ByteBudget {
  #bytesMax: number;
  #namespaces = new Map<string, Set<Member>>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Number of bytes that the uploads of a namespace hold. */
  held(namespace: string): number {
    let held = 0;
    for (const member of this.#namespaces.get(namespace) ?? []) held += member.held;
    return held;
  }

  open(namespace: string): Share {
    const members = this.#namespaces.get(namespace) ?? new Set<Member>();
    this.#namespaces.set(namespace, members);
    const member: Member = { held: 0, waiting: null };
    members.add(member);
    const mayHold = (one: Member, bytes: number): boolean =>
      this.held(namespace) + bytes <= this.#bytesMax || members.values().next().value === one;
    const resume = (): void => {
      for (const one of members) {
        const { waiting } = one;
        if (waiting === null || !mayHold(one, waiting.bytes)) continue;
        one.waiting = null;
        one.held += waiting.bytes;
        waiting.go();
      }
    };
    return {
      take(bytes) {
        if (!members.has(member)) return Promise.reject(new Error('The upload has ended'));
        if (mayHold(member, bytes)) {
          member.held += bytes;
          return Promise.resolve();
        }
        return new Promise((resolve, reject) => {
          member.waiting = { bytes, go: (error) => (error === undefined ? resolve() : reject(error)) };
        });
      },
      give(bytes) {
        member.held -= bytes;
        resume();
      },
      close: () => {
        if (!members.delete(member)) return;
        member.waiting?.go(new Error('The upload has ended'));
        if (members.size === 0) this.#namespaces.delete(namespace);
        resume();
      },
    };
  }
}
