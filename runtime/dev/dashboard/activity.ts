// What happened lately: requests, events, log lines, new deployments. Kept in memory, bounded, and told to those who
// listen. dev.ts writes, events.ts of the dashboard reads.

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
    }
  | { readonly type: 'log'; readonly level: 'debug' | 'info' | 'warn' | 'error'; readonly message: string }
  | { readonly type: 'deployed'; readonly deployment: string };

/** With its number and its time, ms since 1970. */
export type Noted = ActivityEvent & { readonly seq: number; readonly at: number };

/** Bounds of it. */
interface ActivityLimits {
  /** Events that are kept. */
  readonly recordsMax: number;
  /** Characters of a log line or a path. */
  readonly textCharsMax: number;
}

/** The memory of what happened. */
export interface Activity {
  note(event: ActivityEvent): void;
  /** What is kept and came after a number, the oldest first. */
  since(seq: number): readonly Noted[];
  /** Calls back for everything from now on. @returns ends it. */
  listen(listener: (noted: Noted) => void): () => void;
}

export function createActivity(limits: ActivityLimits, now: () => number = Date.now): Activity {
  let kept: Noted[] = [];
  let seq = 0;
  const listeners = new Set<(noted: Noted) => void>();
  const cut = (text: string): string =>
    text.length > limits.textCharsMax ? `${text.slice(0, limits.textCharsMax)}…` : text;
  return {
    note(event) {
      const bounded =
        event.type === 'log'
          ? { ...event, message: cut(event.message) }
          : event.type === 'request'
            ? { ...event, path: cut(event.path) }
            : event;
      const noted: Noted = { ...bounded, seq: ++seq, at: now() };
      kept.push(noted);
      if (kept.length >= limits.recordsMax * 2) kept = kept.slice(-limits.recordsMax);
      for (const listener of listeners) listener(noted);
    },
    since: (after) => kept.slice(-limits.recordsMax).filter((noted) => noted.seq > after),
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
