// Restores a replicated database as it was at a given time into a copy, which then appears in the list of copies.
// Nothing is shown if the database has no replica.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Field, Input } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { branchOf, momentsQuery, type BindingPlace } from '../../queries/resources.ts';
import type { Change } from './changes.tsx';

interface MomentsProps {
  readonly place: BindingPlace;
  readonly change: (change: Change) => void;
  readonly isPending: boolean;
}

/** The time in the format of an input of type `datetime-local`, in the time zone of the browser. */
function localText(time: Date): string {
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19);
}

export function Moments({ place, change, isPending }: MomentsProps) {
  const { data } = useQuery(momentsQuery(place));
  const [text, setText] = useState<string | null>(null);
  if (data === undefined || data.oldest === null) return null;
  const oldest = new Date(data.oldest);
  const restore = (): void => {
    const at = new Date(text!).toISOString();
    change({
      done: 'Restored into a copy',
      failed: 'Could not restore this moment',
      act: () =>
        dataOf(
          api.post('/projects/:id/databases/:database/restore', {
            params: { id: place.id, database: place.binding },
            query: branchOf(place),
            body: { at },
          }),
        ),
      after: () => setText(null),
    });
  };
  return (
    <>
      <Button onClick={() => setText(localText(new Date()))}>Restore a moment</Button>
      {text !== null && (
        <FormDialog
          onClose={() => setText(null)}
          title="Restore a moment"
          description="Creates a copy with the data of that time. The database does not change until you restore the copy."
          action="Create copy"
          onSubmit={restore}
          isPending={isPending}
          isDisabled={text === ''}
        >
          <Field label="Time" hint={`Local time, from ${oldest.toLocaleString()} to now`}>
            {(control) => (
              <Input
                {...control}
                type="datetime-local"
                step="1"
                min={localText(oldest)}
                value={text}
                onChange={({ currentTarget }) => setText(currentTarget.value)}
                required
              />
            )}
          </Field>
        </FormDialog>
      )}
    </>
  );
}
