// A process's most recent output, for later readers and followers, each reading at its own pace. The oldest output is
// dropped first.

type LogEvent =
  | { readonly type: 'stdout' | 'stderr'; readonly data: string }
  | { readonly type: 'exit'; readonly exitCode: number }
  /** The number of characters that were dropped before this reader reached them. */
  | { readonly type: 'dropped'; readonly chars: number };

export interface OutputLog {
  add(type: 'stdout' | 'stderr', data: string): void;
  end(exitCode: number): void;
  /** All retained output. */
  text(): string;
  readonly truncated: boolean;
  /** The output at an offset, and the next offset; null means that there is no output yet. Offsets start at 0. */
  from(at: number): { readonly event: LogEvent; readonly after: number } | null;
  /** Registers a callback for new output. @returns a function that removes the callback. */
  follow(onMore: () => void): () => void;
}

/** Small writes are merged: an entry costs more than its characters. */
const JOINED_CHARS_MAX = 4096;

export function createOutputLog(charsMax: number): OutputLog {
  const kept: { type: 'stdout' | 'stderr'; data: string; at: number }[] = [];
  const followers = new Set<() => void>();
  let chars = 0;
  // Offsets in characters: of the first retained character, and of the next one.
  let next = 0;
  let exitCode: number | null = null;
  const tell = (): void => {
    for (const onMore of followers) onMore();
  };
  return {
    add(type, data) {
      if (data === '') return;
      const last = kept.at(-1);
      if (last !== undefined && last.type === type && last.data.length + data.length <= JOINED_CHARS_MAX)
        last.data += data;
      else kept.push({ type, data, at: next });
      next += data.length;
      chars += data.length;
      let forgotten = 0;
      while (chars > charsMax && forgotten < kept.length) chars -= kept[forgotten++]!.data.length;
      if (forgotten > 0) kept.splice(0, forgotten);
      tell();
    },
    end(code) {
      exitCode = code;
      tell();
    },
    text: () => kept.map(({ data }) => data).join(''),
    get truncated() {
      return (kept[0]?.at ?? next) > 0;
    },
    from(at) {
      const first = kept[0]?.at ?? next;
      if (at < first) return { event: { type: 'dropped', chars: first - at }, after: first };
      if (at < next) {
        const chunk = kept.findLast((each) => each.at <= at)!;
        return {
          event: { type: chunk.type, data: chunk.data.slice(at - chunk.at) },
          after: chunk.at + chunk.data.length,
        };
      }
      return exitCode === null ? null : { event: { type: 'exit', exitCode }, after: next };
    },
    follow(onMore) {
      followers.add(onMore);
      return () => followers.delete(onMore);
    },
  };
}
