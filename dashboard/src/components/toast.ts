// Toasts: success, with or without undo, and failure. The library is loaded at the first click or key. So the library
// is not part of the first load, and is available if the platform becomes unreachable later.
import type { toast } from 'sonner';
import { ApiFailure, wordsOf } from '../api/failure.ts';

const UNDO_MS = 10_000;
const ERROR_MS = 12_000;

const load = () => import('./toaster.tsx');

/** Loads the library at the first click or key. */
export function startToasts(): void {
  for (const event of ['pointerdown', 'keydown'])
    addEventListener(event, () => void load().catch(() => undefined), { once: true, capture: true });
}

function show(act: (library: typeof toast) => void): void {
  void load().then((loaded) => act(loaded.toast));
}

/** Shows success. @example noteDone('Variable saved') */
export function noteDone(words: string, description?: string): void {
  show((library) => library.success(words, description === undefined ? {} : { description }));
}

/** Shows a failure with its reason. */
export function noteFailed(words: string, error: unknown): void {
  const id = error instanceof ApiFailure && error.requestId !== null ? ` (request ${error.requestId})` : '';
  show((library) => library.error(words, { description: `${wordsOf(error)}${id}`, duration: ERROR_MS }));
}

/** Shows success with an undo button for ten seconds. */
function noteUndo(words: string, undo: () => void): void {
  show((library) => library(words, { duration: UNDO_MS, action: { label: 'Undo', onClick: undo } }));
}

/**
 * Delays an irreversible API call by ten seconds, in which the user can undo the action. The page shows the action as
 * done.
 *
 * @param act called after ten seconds, or when the page is left. @param undone a function that restores the page.
 */
export function doUnlessUndone(words: string, act: () => void, undone: () => void): void {
  let isOver = false;
  const finish = (): void => {
    if (isOver) return;
    isOver = true;
    removeEventListener('pagehide', finish);
    act();
  };
  addEventListener('pagehide', finish);
  const timer = setTimeout(finish, UNDO_MS);
  noteUndo(words, () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    removeEventListener('pagehide', finish);
    undone();
  });
}
