// Whether the API is reachable. Every request updates this state. While the API is unreachable, a health check runs
// every few seconds. The shell shows a banner, and all queries are refetched when the API is back.
import { useSyncExternalStore } from 'react';

const LOOK_MS = 2000;
const LOOK_MS_MAX = 15_000;

let isAway = false;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
const onReturn = new Set<() => void>();

function tell(next: boolean): void {
  if (isAway === next) return;
  isAway = next;
  for (const listener of listeners) listener();
}

/** Records that a request got a response. */
export function noteAnswered(): void {
  if (!isAway) return;
  clearTimeout(timer);
  tell(false);
  for (const act of onReturn) act();
}

/** Records that a request got no response. */
export function noteAway(): void {
  if (isAway) return;
  tell(true);
  look(LOOK_MS);
}

function look(pauseMs: number): void {
  timer = setTimeout(async () => {
    try {
      const response = await fetch('/api/health', { cache: 'no-store' });
      await response.body?.cancel();
      if (!isGatewayStatus(response.status)) return noteAnswered();
    } catch {
      // Checked again below.
    }
    if (isAway) look(Math.min(pauseMs * 1.5, LOOK_MS_MAX));
  }, pauseMs);
}

/** Statuses of a proxy that cannot reach the API. */
export function isGatewayStatus(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}

/** Calls back whenever the API is reachable again. @returns unsubscribes. */
export function whenItReturns(act: () => void): () => void {
  onReturn.add(act);
  return () => void onReturn.delete(act);
}

/** Whether the API is currently unreachable. */
export function useIsAway(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => isAway,
  );
}
