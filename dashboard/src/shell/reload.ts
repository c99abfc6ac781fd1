// Files of the application that could not be loaded: a platform that was upgraded has others. The page is loaded anew,
// once, and says afterwards that it was.
import { wordsOf } from '../api/failure.ts';
import { noteDone } from '../components/toast.tsx';

const RELOADED_KEY = 'platform-reloaded-at';
const NOTICE_KEY = 'platform-reload-notice';
/** The router loads the page anew by itself where a page's own file is missing, and keeps that under this. */
const ROUTER_KEY = 'tanstack_router_reload:';
const SAID = 'said';
const RELOAD_PAUSE_MS = 10_000;
const MESSAGE = /dynamically imported module|module script|error loading|preload CSS/i;

const unloaded = new WeakSet<object>();

/** Remembers which errors are of files, and says that the page was loaded anew where it was. */
export function startReloads(): void {
  addEventListener('vite:preloadError', (event) => void unloaded.add((event as Event & { payload: Error }).payload));
  if (wasReloaded())
    noteDone('The page was loaded anew', 'The dashboard has a newer version than the one that was open.');
}

/** Whether it was just loaded anew, by us or by the router; true once. */
function wasReloaded(): boolean {
  try {
    const notices = Object.keys(sessionStorage).filter((key) => key === NOTICE_KEY || key.startsWith(ROUTER_KEY));
    const news = notices.filter((key) => sessionStorage.getItem(key) !== SAID);
    // The router's own is what keeps it from doing so again and again: it stays.
    for (const key of news) sessionStorage.setItem(key, SAID);
    return news.length > 0;
  } catch {
    return false;
  }
}

/** Whether an error is that of a file of the application. */
export function isUnloaded(error: unknown): boolean {
  return (typeof error === 'object' && error !== null && unloaded.has(error)) || MESSAGE.test(wordsOf(error));
}

/** Loads the page anew, unless that has just been done. @returns whether it does. */
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
