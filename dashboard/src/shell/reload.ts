// Handles missing application files after an upgrade of the platform: reloads the page once, then shows a toast.
import { wordsOf } from '../api/failure.ts';
import { noteDone } from '../components/toast.ts';

const RELOADED_KEY = 'platform-reloaded-at';
const NOTICE_KEY = 'platform-reload-notice';
/** The router also reloads if a page's own file is missing, and records it under this prefix. */
const ROUTER_KEY = 'tanstack_router_reload:';
const SAID = 'said';
const RELOAD_PAUSE_MS = 10_000;
const MESSAGE = /dynamically imported module|module script|error loading|preload CSS/i;

const unloaded = new WeakSet<object>();

/** Tracks errors of missing files, and shows a toast after a reload. */
export function startReloads(): void {
  addEventListener('vite:preloadError', (event) => void unloaded.add((event as Event & { payload: Error }).payload));
  if (wasReloaded()) noteDone('Page reloaded', 'The dashboard was updated to a newer version.');
}

/** Whether the page was just reloaded, by this file or the router; true once. */
function wasReloaded(): boolean {
  try {
    const notices = Object.keys(sessionStorage).filter((key) => key === NOTICE_KEY || key.startsWith(ROUTER_KEY));
    const news = notices.filter((key) => sessionStorage.getItem(key) !== SAID);
    // Keep the router's entry: it prevents a reload loop.
    for (const key of news) sessionStorage.setItem(key, SAID);
    return news.length > 0;
  } catch {
    return false;
  }
}

/** Whether an error is due to a missing application file. */
export function isUnloaded(error: unknown): boolean {
  return (typeof error === 'object' && error !== null && unloaded.has(error)) || MESSAGE.test(wordsOf(error));
}

/** Reloads the page, unless it was just reloaded. @returns whether it reloads. */
export function reloadOnce(): boolean {
  try {
    if (Date.now() - Number(sessionStorage.getItem(RELOADED_KEY) ?? 0) < RELOAD_PAUSE_MS) return false;
    sessionStorage.setItem(RELOADED_KEY, String(Date.now()));
    sessionStorage.setItem(NOTICE_KEY, 'yes');
  } catch {
    return false;
  }
  location.reload();
  return true;
}
