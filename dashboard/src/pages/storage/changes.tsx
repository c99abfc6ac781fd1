// Changes of what bindings hold: they ask once before production is touched, name it, say what went wrong, and read
// anew what is shown.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { noteDone, noteFailed } from '../../components/toast.tsx';
import { mode } from '../../mode.ts';
import { keyOf, type ResourcePlace } from '../../queries/resources.ts';

/** Projects whose production may be changed, since somebody said so: until the page is loaded anew. */
const allowed = new Set<string>();

/** What a change is and says. */
export interface Change {
  /** In the perfect: "Message sent". Null: nothing is said. */
  readonly done: string | null;
  /** What did not work: "The message was not sent". */
  readonly failed: string;
  readonly act: () => Promise<unknown>;
  /** After it was done. */
  readonly after?: () => void;
}

/** Whose data it is, in words. */
export function targetOf({ project, branch }: ResourcePlace): string {
  if (mode === 'dev') return `${project} on this machine`;
  return branch === null ? `production of ${project}` : `the preview of ${branch} of ${project}`;
}

/**
 * Makes changes. `question` is to be shown on the page.
 *
 * @example const { change, isPending, question } = useChanges(place);
 */
export function useChanges(place: ResourcePlace): {
  readonly change: (change: Change) => void;
  readonly isPending: boolean;
  readonly question: ReactNode;
} {
  const client = useQueryClient();
  const [asked, setAsked] = useState<Change | null>(null);
  const mutation = useMutation({
    mutationFn: ({ act }: Change) => act(),
    onSuccess: async (_, { done, after }) => {
      if (done !== null) noteDone(done);
      after?.();
      await client.invalidateQueries({ queryKey: keyOf(place) });
    },
    onError: (error, { failed }) => noteFailed(failed, error),
  });
  const isAsked = mode === 'production' && place.branch === null && !allowed.has(place.id);
  return {
    change: (next) => (isAsked ? setAsked(next) : mutation.mutate(next)),
    isPending: mutation.isPending,
    question: (
      <Confirm
        isOpen={asked !== null}
        onClose={() => setAsked(null)}
        title={`Change production of ${place.project}?`}
        action="Change production"
        onConfirm={() => {
          allowed.add(place.id);
          if (asked !== null) mutation.mutate(asked);
          setAsked(null);
        }}
      >
        This changes what the production of <strong>{place.project}</strong> holds, now. The audit log names you. You
        are asked once until this page is loaded anew.
      </Confirm>
    ),
  };
}
