// Short words at the edge of the page: something was done, with its undo, or could not be done.
import { Toaster as Sonner, toast } from 'sonner';
import 'sonner/dist/styles.css';
import { ApiFailure, wordsOf } from '../api/failure.ts';
import styles from './toast.module.css';

const UNDO_MS = 10_000;
const ERROR_MS = 12_000;

/** Where they appear; once in the page. */
export function Toaster() {
  return <Sonner className={styles.toaster ?? ''} position="bottom-right" visibleToasts={4} gap={8} />;
}

/** Something was done. @example noteDone('Variable saved') */
export function noteDone(words: string, description?: string): void {
  toast.success(words, description === undefined ? {} : { description });
}

/** Something was not done: what, then why. */
export function noteFailed(words: string, error: unknown): void {
  const id = error instanceof ApiFailure && error.requestId !== null ? ` (request ${error.requestId})` : '';
  toast.error(words, { description: `${wordsOf(error)}${id}`, duration: ERROR_MS });
}

/** Something was done that can be undone for ten seconds. */
export function noteUndo(words: string, undo: () => void): void {
  toast(words, { duration: UNDO_MS, action: { label: 'Undo', onClick: undo } });
}

/**
 * Does something in ten seconds, unless it is undone: what is not on the API's side undoable. The page shows it as
 * done.
 *
 * @param act is called when the time is over, or the page is left.
 * @param undone puts the page back.
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
