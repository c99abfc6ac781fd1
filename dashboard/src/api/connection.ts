// Whether the API answers. Every request tells; while it does not, one request a few seconds finds out when it does
// again. The banner shows it, and everything on the page is then read anew.
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

/** A request was answered. */
export function noteAnswered(): void {
  if (!isAway) return;
  clearTimeout(timer);
  tell(false);
  for (const act of onReturn) act();
}

/** Nobody answered a request. */
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
      // It is looked for again.
    }
    if (isAway) look(Math.min(pauseMs * 1.5, LOOK_MS_MAX));
  }, pauseMs);
}

/** Statuses of something that stands before the API and does not reach it. */
export function isGatewayStatus(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}

/** Calls back whenever the API answers again. @returns ends it. */
export function whenItReturns(act: () => void): () => void {
  onReturn.add(act);
  return () => void onReturn.delete(act);
}

/** Whether nobody answers at the moment. */
export function useIsAway(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => isAway,
  );
}
