// Changes of resources: confirm once before changing production, show errors, refetch the data.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { noteDone, noteFailed } from '../../components/toast.ts';
import { mode } from '../../state/mode.ts';
import { keyOf, type ResourcePlace } from '../../queries/resources.ts';

/** Projects for which the user has confirmed changes of production, until the page is reloaded. */
const allowed = new Set<string>();

/** A change: what it calls, and the texts that the page shows for it. */
export interface Change {
  /** Success toast: "Message sent". Null: none. */
  readonly done: string | null;
  /** Title of the error: "Could not send the message". */
  readonly failed: string;
  readonly act: () => Promise<unknown>;
  /** Called after success. */
  readonly after?: () => void;
}

/** Label of project and environment. */
export function targetOf({ project, branch }: ResourcePlace): string {
  if (mode === 'dev') return `${project} on this machine`;
  return branch === null ? `${project} production` : `${project} preview ${branch}`;
}

/**
 * Runs changes, after a confirmation for production. The page must render `question`, the dialog of the confirmation.
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
        This changes production data of <strong>{place.project}</strong> and is recorded in the audit log. We won't ask
        again until you reload.
      </Confirm>
    ),
  };
}
