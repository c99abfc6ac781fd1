// Recent activity: requests, events, log lines, new deployments. The number of records is limited per type, so that a
// frequent schedule does not displace requests. Records are sent to listeners, and activity-file.ts keeps them over
// restarts. Written by dev.ts, read by the routes of the dashboard.
import type { HeaderList, Recorded } from './recorded-exchange.ts';

/** One activity. */
type ActivityEvent =
  | {
      readonly type: 'request';
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly outcome: string;
      readonly cpuMs: number;
      readonly wallMs: number;
      /** Id of the invocation, by which its log lines are found. */
      readonly invocation?: string;
      /** Reason of a failure, in words. */
      readonly reason?: string;
      /** Secrets are masked. */
      readonly requestHeaders?: HeaderList;
      readonly responseHeaders?: HeaderList;
    }
  | {
      readonly type: 'event';
      readonly kind: 'queue' | 'timer' | 'cron' | 'workflow';
      /** Name of the queue, the timer's binding, the schedule or the workflow. */
      readonly name: string;
      /** Id of the timer or the run; empty for other events. */
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

/** A record with its number and its time in ms since 1970. */
export type Noted = ActivityEvent & { readonly seq: number; readonly at: number };

/** The limits of the history. */
interface ActivityLimits {
  /** Maximum number of requests, of events, and of log lines. */
  readonly recordsMax: number;
  /** Maximum number of characters of a log line or a path. */
  readonly textCharsMax: number;
}

/** The history. */
export interface Activity {
  /** @param recorded the data that is needed to replay the request. */
  note(event: ActivityEvent, recorded?: Recorded): Noted;
  /** The kept records after a number, oldest first. */
  since(seq: number): readonly Noted[];
  /** The recorded data of a request; null if it was dropped, or dev was restarted since. */
  recorded(seq: number): Recorded | null;
  /** Clears the history. */
  clear(): void;
  /** Calls back for each record from now on. @returns stops it. */
  listen(listener: (noted: Noted) => void): () => void;
}

/** Storage over restarts. */
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

/** Credentials are neither shown nor stored; the name of a cookie is sufficient to see that it was sent. */
function masked(headers: HeaderList, cut: (text: string) => string): HeaderList {
  return headers.map(([name, value]) => {
    if (!SECRET_HEADERS.test(name)) return [name, cut(value)];
    if (/^cookie$/i.test(name)) return [name, cut(value.replace(/=[^;]*/g, '=•••'))];
    if (/^set-cookie$/i.test(name)) return [name, cut(value.replace(/^([^=;]*)=[^;]*/, '$1=•••'))];
    const [scheme, rest] = value.split(' ', 2);
    return [name, rest === undefined ? '•••' : `${scheme} •••`];
  });
}
