// Optimistic updates: the page shows a change before the API confirms it, and reverts it if the API refuses.
import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query';
import { noteFailed } from '../components/toast.ts';
import { wordsOf } from '../api/failure.ts';

interface Change<Data, Input, Result> {
  /** The query whose data changes. */
  readonly queryKey: QueryKey;
  /**
   * Returns the expected data, which the page shows before the API confirms the change. Without this function, the page
   * waits for the API.
   */
  readonly show?: (before: Data, input: Input) => Data;
  readonly act: (input: Input) => Promise<Result>;
  /** Title of the error: "Could not remove the member". */
  readonly failed: string;
  readonly onDone?: (result: Result, input: Input) => void;
}

/**
 * @example
 * const save = useChange({ queryKey, act: (body) => dataOf(api.patch(path, { body })), failed: 'Could not save' });
 */
export function useChange<Data, Input, Result>({ queryKey, show, act, failed, onDone }: Change<Data, Input, Result>) {
  const client = useQueryClient();
  const mutation = useMutation({
    mutationFn: act,
    async onMutate(input: Input) {
      if (show === undefined) return undefined;
      await client.cancelQueries({ queryKey });
      const before = client.getQueryData<Data>(queryKey);
      if (before !== undefined) client.setQueryData<Data>(queryKey, show(before, input));
      return { before };
    },
    onError(error, _input, context) {
      if (context?.before !== undefined) client.setQueryData(queryKey, context.before);
      noteFailed(failed, error);
    },
    onSuccess: (result, input) => onDone?.(result, input),
    onSettled: () => client.invalidateQueries({ queryKey }),
  });
  // The reason, to be shown at the field.
  return { ...mutation, problem: mutation.error === null ? null : wordsOf(mutation.error) };
}
