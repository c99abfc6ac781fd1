// What happened lately: requests, events, log lines, new deployments. Bounded for each of them, so that a frequent
// schedule drives no request out; told to those who listen; kept over restarts by activity-file.ts. dev.ts writes, the
// routes of the dashboard read.
import type { HeaderList, Recorded } from './recorded-exchange.ts';

/** Something that happened. */
type ActivityEvent =
  | {
      readonly type: 'request';
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly outcome: string;
      readonly cpuMs: number;
      readonly wallMs: number;
      /** Of its log lines. */
      readonly invocation?: string;
      /** In words, of one that failed. */
      readonly reason?: string;
      /** Secrets in them are masked. */
      readonly requestHeaders?: HeaderList;
      readonly responseHeaders?: HeaderList;
    }
  | {
      readonly type: 'event';
      readonly kind: 'queue' | 'timer' | 'cron' | 'workflow';
      /** The queue, the timer's binding, the schedule or the workflow. */
      readonly name: string;
      /** The timer or the run; empty for others. */
      readonly id: string;
      readonly outcome: string;
      readonly cpuMs: number;
      readonly wallMs: number;
      readonly invocation?: string;
      readonly reason?: string;
    }
  | {
      readonly type: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly message: string;
      readonly invocation?: string;
    }
  | { readonly type: 'deployed'; readonly deployment: string };

/** With its number and its time, ms since 1970. */
export type Noted = ActivityEvent & { readonly seq: number; readonly at: number };

/** Bounds of it. */
interface ActivityLimits {
  /** Of requests, of events and of log lines, each. */
  readonly recordsMax: number;
  /** Characters of a log line or a path. */
  readonly textCharsMax: number;
}

/** The memory of what happened. */
export interface Activity {
  /** @param recorded of a request: what it takes to send it again. */
  note(event: ActivityEvent, recorded?: Recorded): Noted;
  /** What is kept and came after a number, the oldest first. */
  since(seq: number): readonly Noted[];
  /** What a request said, as it came; null: it is from before dev was started, or gone. */
  recorded(seq: number): Recorded | null;
  /** Forgets all of it. */
  clear(): void;
  /** Calls back for everything from now on. @returns ends it. */
  listen(listener: (noted: Noted) => void): () => void;
}

/** Where it is kept over restarts. */
export interface ActivityKeeper {
  readonly before: readonly Noted[];
  keep(noted: Noted): void;
  clear(): void;
}

const GROUPS = ['request', 'event', 'log', 'deployed'] as const;

export function createActivity(
  limits: ActivityLimits,
  now: () => number = Date.now,
  keeper: ActivityKeeper | null = null,
): Activity {
  const kept = new Map<string, Noted[]>(GROUPS.map((type) => [type, []]));
  const exchanges = new Map<number, Recorded>();
  let seq = 0;
  const listeners = new Set<(noted: Noted) => void>();
  const cut = (text: string): string =>
    text.length > limits.textCharsMax ? `${text.slice(0, limits.textCharsMax)}…` : text;

  function add(noted: Noted): void {
    const list = kept.get(noted.type)!;
    list.push(noted);
    seq = Math.max(seq, noted.seq);
    if (list.length >= limits.recordsMax * 2) list.splice(0, list.length - limits.recordsMax);
  }

  for (const noted of keeper?.before ?? []) add(noted);
  return {
    note(event, recorded) {
      const bounded =
        event.type === 'log'
          ? { ...event, message: cut(event.message) }
          : event.type === 'request'
            ? {
                ...event,
                path: cut(event.path),
                ...(recorded !== undefined && {
                  requestHeaders: masked(recorded.requestHeaders, cut),
                  responseHeaders: masked(recorded.responseHeaders, cut),
                }),
              }
            : event;
      const noted: Noted = { ...bounded, seq: seq + 1, at: now() };
      add(noted);
      if (recorded !== undefined) {
        exchanges.set(noted.seq, recorded);
        const [oldest] = exchanges.keys();
        if (exchanges.size > limits.recordsMax) exchanges.delete(oldest!);
      }
      keeper?.keep(noted);
      for (const listener of listeners) listener(noted);
      return noted;
    },
    since: (after) =>
      [...kept.values()]
        .flatMap((list) => list.slice(-limits.recordsMax).filter((noted) => noted.seq > after))
        .toSorted((one, other) => one.seq - other.seq),
    recorded: (number) => exchanges.get(number) ?? null,
    clear() {
      for (const list of kept.values()) list.length = 0;
      exchanges.clear();
      keeper?.clear();
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

const SECRET_HEADERS = /^(?:proxy-)?authorization$|^(?:set-)?cookie2?$|secret|token|api-?key|password/i;

/** Values that would sign somebody in are not shown, and not kept: a cookie's name is enough to know it was there. */
function masked(headers: HeaderList, cut: (text: string) => string): HeaderList {
  return headers.map(([name, value]) => {
    if (!SECRET_HEADERS.test(name)) return [name, cut(value)];
    if (/^cookie$/i.test(name)) return [name, cut(value.replace(/=[^;]*/g, '=•••'))];
    if (/^set-cookie$/i.test(name)) return [name, cut(value.replace(/^([^=;]*)=[^;]*/, '$1=•••'))];
    const [scheme, rest] = value.split(' ', 2);
    return [name, rest === undefined ? '•••' : `${scheme} •••`];
  });
}
