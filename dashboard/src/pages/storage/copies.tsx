// Snapshots of a database: create, restore, delete; and export as a file.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button, OutsideLink } from '../../components/button.tsx';
import { Confirm, ConfirmByName } from '../../components/confirm.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { branchOf, copiesQuery, type BindingPlace } from '../../queries/resources.ts';
import { targetOf, useChanges } from './changes.tsx';
import { Moments } from './moments.tsx';
import styles from './storage.module.css';
import { bytesText } from './value.tsx';

export function Copies({ place }: { readonly place: BindingPlace }) {
  const { data, error, refetch } = useQuery(copiesQuery(place));
  const { change, isPending, question } = useChanges(place);
  const [asked, setAsked] = useState<{ readonly name: string; readonly does: 'restore' | 'delete' } | null>(null);
  const params = { id: place.id, database: place.binding };
  const query = branchOf(place);
  const branch = place.branch === null ? '' : `?branch=${encodeURIComponent(place.branch)}`;
  const download = (
    <OutsideLink href={`/api/projects/${place.id}/databases/${place.binding}/export${branch}`} download>
      Download SQLite file
    </OutsideLink>
  );
  if (data === undefined)
    return (
      <>
        <Unloaded what="the copies" error={error} refetch={refetch} />
        {error !== null && <div>{download}</div>}
      </>
    );
  const make = (): void =>
    change({
      done: 'Copy created',
      failed: 'Could not create the copy',
      act: () => dataOf(api.post('/projects/:id/databases/:database/copies', { params, query })),
    });
  return (
    <>
      <div className={styles.bar}>
        <Button variant="primary" onClick={make} isPending={isPending}>
          Create copy
        </Button>
        <Moments place={place} change={change} isPending={isPending} />
        {download}
        <span className={styles.faint}>
          Database size: {bytesText(data.bytes)}. Up to {data.copiesMax} copies per project; a new one replaces the
          oldest.
        </span>
      </div>
      {data.items.length === 0 ? (
        <EmptyState title="No copies yet">
          Create a copy before a risky change, to restore it quickly. Deployments create one before migrations. Copies
          are stored on the same disk and do not replace backups.
        </EmptyState>
      ) : (
        <Table
          label="Copies"
          rows={data.items}
          rowKey={({ name }) => name}
          columns={[
            {
              id: 'name',
              header: 'Copy',
              phone: 'first',
              cell: ({ name }) => <span className={styles.mono}>{name}</span>,
            },
            { id: 'bytes', header: 'Size', align: 'end', isFitted: true, cell: ({ bytes }) => bytesText(bytes) },
            {
              id: 'at',
              header: 'Created',
              isLabelled: true,
              isFitted: true,
              cell: ({ madeAt }) => <Time at={madeAt} />,
            },
          ]}
          actions={({ name }) => (
            <span className={styles.bar}>
              <Button size="small" onClick={() => setAsked({ name, does: 'restore' })} aria-label={`Restore ${name}`}>
                Restore
              </Button>
              <Button
                size="small"
                variant="ghost"
                onClick={() => setAsked({ name, does: 'delete' })}
                aria-label={`Delete ${name}`}
              >
                Delete
              </Button>
            </span>
          )}
        />
      )}
      <ConfirmByName
        isOpen={asked?.does === 'restore'}
        onClose={() => setAsked(null)}
        name={place.binding}
        title="Restore this copy?"
        action="Restore copy"
        onConfirm={() => {
          const { name } = asked!;
          setAsked(null);
          change({
            done: 'Copy restored',
            failed: 'Could not restore the copy',
            act: () =>
              dataOf(
                api.post('/projects/:id/databases/:database/copies/:copy/restore', {
                  params: { ...params, copy: name },
                  query,
                }),
              ),
          });
        }}
      >
        Replaces {place.binding} ({targetOf(place)}) with {asked?.name}. The current data is saved as a new copy first.
      </ConfirmByName>
      <Confirm
        isOpen={asked?.does === 'delete'}
        onClose={() => setAsked(null)}
        title="Delete this copy?"
        action="Delete copy"
        isDanger
        onConfirm={() => {
          const { name } = asked!;
          setAsked(null);
          change({
            done: 'Copy deleted',
            failed: 'Could not delete the copy',
            act: () =>
              dataOf(
                api.delete('/projects/:id/databases/:database/copies/:copy', {
                  params: { ...params, copy: name },
                  query,
                }),
              ),
          });
        }}
      >
        Deletes {asked?.name}. The database does not change.
      </Confirm>
      {question}
    </>
  );
}
