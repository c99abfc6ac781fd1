// Items removed on the page but not yet by the API, since undo is possible for ten seconds. Lists hide these items,
// also after a refetch.
import { useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { doUnlessUndone, noteFailed } from '../components/toast.ts';

let removed: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

function set(id: string, isRemoved: boolean): void {
  const next = new Set(removed);
  if (isRemoved) next.add(id);
  else next.delete(id);
  removed = next;
  for (const listener of listeners) listener();
}

/** IDs hidden from lists. */
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
 * @param queryKey the list, refetched after the removal.
 * @returns a function that hides an item, and removes it after ten seconds unless undone: the item's ID, the toast, and
 *   the call of the API. If the call fails, the item is shown again.
 * @example
 * const remove = useRemoval(['tokens']);
 * remove(id, 'CI revoked', () => dataOf(api.delete('/tokens/:id', { params: { id } })));
 */
export function useRemoval(queryKey: QueryKey) {
  const client = useQueryClient();
  return (id: string, words: string, act: () => Promise<unknown>): void => {
    set(id, true);
    const back = (): void => set(id, false);
    const remove = async (): Promise<void> => {
      try {
        await act();
        await client.invalidateQueries({ queryKey });
      } catch (error) {
        noteFailed(`Reverted: ${words}`, error);
      }
      back();
    };
    doUnlessUndone(words, () => void remove(), back);
  };
}
