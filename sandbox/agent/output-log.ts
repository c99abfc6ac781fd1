// The end of what a process wrote, for those who ask later and those who follow, each at a pace of its own. What does
// not fit is forgotten from the front.

type LogEvent =
  | { readonly type: 'stdout' | 'stderr'; readonly data: string }
  | { readonly type: 'exit'; readonly exitCode: number }
  /** So many characters were forgotten before this reader came to them. */
  | { readonly type: 'dropped'; readonly chars: number };

export interface OutputLog {
  add(type: 'stdout' | 'stderr', data: string): void;
  end(exitCode: number): void;
  /** All that is kept. */
  text(): string;
  readonly truncated: boolean;
  /** What comes at a place, and the place after it; null: nothing yet. Places count from 0. */
  from(at: number): { readonly event: LogEvent; readonly after: number } | null;
  /** Calls whenever there is more. @returns what ends that. */
  follow(onMore: () => void): () => void;
}

/** Small writes are joined: a place costs more than its characters. */
const JOINED_CHARS_MAX = 4096;

export function createOutputLog(charsMax: number): OutputLog {
  const kept: { type: 'stdout' | 'stderr'; data: string; at: number }[] = [];
  const followers = new Set<() => void>();
  let chars = 0;
  // Places are characters: of the first that is kept, and of the next that comes.
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
