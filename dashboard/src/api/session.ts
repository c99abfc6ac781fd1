// Whether the user is still signed in. A page opened without a session redirects to the sign-in page. A page in use
// shows a banner with a sign-in button instead, so that typed text is not lost.
import { useSyncExternalStore } from 'react';

let wasSignedIn = false;
let hasEnded = false;
const listeners = new Set<() => void>();

function tell(next: boolean): void {
  if (hasEnded === next) return;
  hasEnded = next;
  for (const listener of listeners) listener();
}

/** Records a successful request: the user is signed in, in this tab or in another one. */
export function noteSignedIn(): void {
  wasSignedIn = true;
  tell(false);
}

/** Records a 401. */
export function noteSignedOut(): void {
  if (wasSignedIn) tell(true);
  else signIn();
}

/** Opens the sign-in page, which redirects back to this URL. */
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
