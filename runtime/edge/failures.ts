// Failed certificate requests, by host: the authority's message, and when the next request is allowed. Used by edge.ts.
// Pure.
interface Failure {
  readonly problem: string;
  readonly count: number;
  readonly at: number;
  readonly until: number;
}

/** Recorded failures. */
interface Failures {
  /** Records a failure. @returns when the next request is allowed, in ms. */
  add(host: string, problem: string): number;
  clear(host: string): void;
  of(host: string): { readonly problem: string; readonly until: number } | null;
}

/** Two log lines about one attempt are only counted as one failure. */
const SAME_MS = 2000;
const PROBLEM_CHARS_MAX = 500;

/** @param most maximum number of recorded hosts; the oldest are dropped. */
export function createFailures(
  { retryMs, retryMsMax, most }: { retryMs: number; retryMsMax: number; most: number },
  now: () => number = Date.now,
): Failures {
  const failures = new Map<string, Failure>();
  return {
    add(host, problem) {
      const before = failures.get(host);
      const at = now();
      const isSame = before !== undefined && at - before.at < SAME_MS;
      const count = isSame ? before.count : (before?.count ?? 0) + 1;
      // After an error about a rate limit, the authority must not be asked more often.
      const least = /rateLimited|\b429\b/.test(problem) ? retryMsMax : 0;
      const until = at + Math.max(least, Math.min(retryMsMax, retryMs * 2 ** Math.min(count - 1, 20)));
      failures.delete(host);
      failures.set(host, { problem: plain(problem), count, at, until });
      const oldest = failures.keys().next();
      if (failures.size > most && oldest.done === false) failures.delete(oldest.value);
      return until;
    },
    clear: (host) => void failures.delete(host),
    of: (host) => failures.get(host) ?? null,
  };
}

/** The text is external, so it is reduced to one short line. */
function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- that is what is taken out
  const line = text.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim();
  return line.length > PROBLEM_CHARS_MAX ? `${line.slice(0, PROBLEM_CHARS_MAX - 1)}…` : line;
}
