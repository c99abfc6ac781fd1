// Toasts: success, with or without undo, and failure.
import { Toaster as Sonner, toast } from 'sonner';
import 'sonner/dist/styles.css';
import { ApiFailure, wordsOf } from '../api/failure.ts';
import styles from './toast.module.css';

const UNDO_MS = 10_000;
const ERROR_MS = 12_000;

/** Container of toasts; rendered once. */
export function Toaster() {
  return <Sonner className={styles.toaster ?? ''} position="bottom-right" visibleToasts={4} gap={8} />;
}

/** Shows success. @example noteDone('Variable saved') */
export function noteDone(words: string, description?: string): void {
  toast.success(words, description === undefined ? {} : { description });
}

/** Shows a failure with its reason. */
export function noteFailed(words: string, error: unknown): void {
  const id = error instanceof ApiFailure && error.requestId !== null ? ` (request ${error.requestId})` : '';
  toast.error(words, { description: `${wordsOf(error)}${id}`, duration: ERROR_MS });
}

/** Shows success with an undo button for ten seconds. */
function noteUndo(words: string, undo: () => void): void {
  toast(words, { duration: UNDO_MS, action: { label: 'Undo', onClick: undo } });
}

/**
 * Delays an irreversible API call by ten seconds, for undo. The page already shows it as done.
 *
 * @param act called after ten seconds, or when the page is left.
 * @param undone restores the page.
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
