// Cached responses in memory, each with a time to live, limited in total bytes. The least recently used response is
// evicted first. The cache is lost when the process exits.

interface Kept {
  readonly text: string;
  readonly bytes: number;
  /** ms since 1970. */
  readonly until: number;
}

export interface AnswerStore {
  get(key: string): string | null;
  /** Larger responses are not cached. */
  set(key: string, text: string, ttlMs: number): void;
  /** Total bytes of the cache. */
  bytes(): number;
}

/** A call in progress that others wait for. */
interface Pending {
  readonly hash: string;
  readonly ended: Promise<void>;
}

/** Cached responses, and calls in progress. */
export interface KeptAnswers {
  readonly store: AnswerStore;
  readonly pending: Map<string, Pending>;
}

/** Overhead of a key and its entry, besides the text. */
const OVERHEAD_BYTES = 500;

export function createAnswerStore(deps: {
  readonly now: () => number;
  readonly bytesMax: number;
  readonly answerBytesMax: number;
}): AnswerStore {
  const { now, bytesMax, answerBytesMax } = deps;
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
      // Upper bound of the memory that V8 needs for the text.
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
