// A change that the page shows before the API has made it, and takes back where the API refuses.
import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query';
import { noteFailed } from '../components/toast.tsx';
import { wordsOf } from './failure.ts';

interface Change<Data, Input, Result> {
  /** The query whose answer the change is of. */
  readonly queryKey: QueryKey;
  /** What the answer will be. Without it the page waits for the API. */
  readonly show?: (before: Data, input: Input) => Data;
  readonly act: (input: Input) => Promise<Result>;
  /** What could not be done: "The member was not removed". */
  readonly failed: string;
  readonly onDone?: (result: Result, input: Input) => void;
}

/**
 * @example
 * const save = useChange({ queryKey, act: (body) => dataOf(api.patch(path, { body })), failed: 'It was not saved' });
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
  // Why it was refused, for the field that it is about.
  return { ...mutation, problem: mutation.error === null ? null : wordsOf(mutation.error) };
}
