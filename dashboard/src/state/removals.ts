// What was removed on the page and is not removed by the API yet, since it can be undone for ten seconds. Lists leave
// it out, also after they were read anew.
import { useSyncExternalStore } from 'react';
import { doUnlessUndone, noteFailed } from '../components/toast.tsx';

let removed: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

function set(id: string, isRemoved: boolean): void {
  const next = new Set(removed);
  if (isRemoved) next.add(id);
  else next.delete(id);
  removed = next;
  for (const listener of listeners) listener();
}

/** Ids that lists leave out. */
export function useRemoved(): ReadonlySet<string> {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => removed,
  );
}

/**
 * Removes something in ten seconds, unless that is undone.
 *
 * @param words what the page says, such as "API_KEY deleted".
 * @param act asks the API; where it refuses, what was removed is there again.
 * @param onDone reads the list anew.
 * @example removeLater(id, 'API_KEY deleted', () => dataOf(api.delete(...)), () => client.invalidateQueries(...));
 */
export function removeLater(
  id: string,
  words: string,
  act: () => Promise<unknown>,
  onDone: () => Promise<unknown>,
): void {
  set(id, true);
  const back = (): void => set(id, false);
  const remove = async (): Promise<void> => {
    try {
      await act();
      await onDone();
    } catch (error) {
      noteFailed(`${words}: it was not`, error);
    }
    back();
  };
  doUnlessUndone(words, () => void remove(), back);
}
