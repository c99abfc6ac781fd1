// Whether the user is still signed in. A page that is opened without a session goes to the sign-in page at once; one
// that was in use stays, says so, and leads there when its reader wants: what was typed is not lost.
import { useSyncExternalStore } from 'react';

let wasSignedIn = false;
let hasEnded = false;
const listeners = new Set<() => void>();

function tell(next: boolean): void {
  if (hasEnded === next) return;
  hasEnded = next;
  for (const listener of listeners) listener();
}

/** A request was answered to somebody who is signed in: here, or in another tab since. */
export function noteSignedIn(): void {
  wasSignedIn = true;
  tell(false);
}

/** A request was refused with 401. */
export function noteSignedOut(): void {
  if (wasSignedIn) tell(true);
  else signIn();
}

/** Signs in and comes back to this very address. */
export function signIn(): void {
  const here = location.pathname + location.search + location.hash;
  location.assign(`/api/auth/sign-in?redirect=${encodeURIComponent(here)}`);
}

/** Whether the session ended while the page was in use. */
export function useHasSessionEnded(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => hasEnded,
  );
}
