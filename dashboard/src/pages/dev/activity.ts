// Activity of `platform dev`: one stream for all pages, kept while the application is open. The page keeps as many
// records as `platform dev` itself, and is updated at most a few times per second.
import { useEffect, useSyncExternalStore } from 'react';
import { useEvents } from '../../api/events.ts';

/** A request, an event, a line of the log, or a new deployment. `at` is milliseconds since 1970. */
export type Activity = { readonly seq: number; readonly at: number } & (
  | {
      readonly type: 'request';
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly outcome: string;
      readonly cpuMs: number;
      readonly wallMs: number;
      readonly reason?: string;
    }
  | {
      readonly type: 'event';
      readonly kind: string;
      readonly name: string;
      readonly id: string;
      readonly outcome: string;
      readonly cpuMs: number;
      readonly wallMs: number;
      readonly reason?: string;
    }
  | { readonly type: 'log'; readonly level: string; readonly message: string; readonly invocation?: string }
  | { readonly type: 'deployed'; readonly deployment: string }
);

const KEPT_MAX = 4000;
const TELL_MS = 100;

/** The records; null until the stream has sent the history. */
let kept: readonly Activity[] | null = null;
let coming: Activity[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function tell(): void {
  timer = undefined;
  const before = kept ?? [];
  const last = before.at(-1)?.seq ?? 0;
  kept = [...before, ...coming.filter(({ seq }) => seq > last)].slice(-KEPT_MAX);
  coming = [];
  for (const listener of listeners) listener();
}

/** Clears the records. */
export function clearActivity(): void {
  kept = [];
  coming = [];
  for (const listener of listeners) listener();
}

/** All records, oldest first, null until loaded; `isLive` is false while the stream is disconnected. */
export function useActivity(): { readonly records: readonly Activity[] | null; readonly isLive: boolean } {
  const isLive = useEvents('/activity', {
    onEvent: ({ text }) => {
      coming.push(JSON.parse(text) as Activity);
      timer ??= setTimeout(tell, TELL_MS);
    },
  });
  useEffect(() => {
    // When the stream is open, the page must stop loading, even if nothing has happened yet.
    if (isLive) timer ??= setTimeout(tell, TELL_MS);
  }, [isLive]);
  const records = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => kept,
  );
  return { records, isLive };
}
