// Answers in memory, each for a while, all of them within a number of bytes: the one that was not asked for longest
// goes first. They end with the process.

interface Kept {
  readonly text: string;
  readonly bytes: number;
  /** ms since 1970. */
  readonly until: number;
}

export interface AnswerStore {
  get(key: string): string | null;
  /** One that is too large is not kept. */
  set(key: string, text: string, ttlMs: number): void;
  /** Of all that is kept. */
  bytes(): number;
}

/** A call under way that others wait for. */
interface Pending {
  readonly hash: string;
  readonly ended: Promise<void>;
}

/** Answers that a gateway keeps, and calls whose answers are awaited. */
export interface KeptAnswers {
  readonly store: AnswerStore;
  readonly pending: Map<string, Pending>;
}

/** What a key and its place cost beside the text. */
const OVERHEAD_BYTES = 500;

export function createAnswerStore(parts: {
  readonly now: () => number;
  readonly bytesMax: number;
  readonly answerBytesMax: number;
}): AnswerStore {
  const { now, bytesMax, answerBytesMax } = parts;
  const kept = new Map<string, Kept>();
  let size = 0;
  const remove = (key: string): void => {
    size -= kept.get(key)?.bytes ?? 0;
    kept.delete(key);
  };
  return {
    get(key) {
      const found = kept.get(key);
      if (found === undefined) return null;
      kept.delete(key);
      kept.set(key, found);
      if (found.until > now()) return found.text;
      remove(key);
      return null;
    },
    set(key, text, ttlMs) {
      remove(key);
      // As V8 keeps a text at most.
      const bytes = text.length * 2 + OVERHEAD_BYTES;
      if (bytes > answerBytesMax) return;
      kept.set(key, { text, bytes, until: now() + ttlMs });
      size += bytes;
      for (const oldest of kept.keys()) {
        if (size <= bytesMax) return;
        remove(oldest);
      }
    },
    bytes: () => size,
  };
}
