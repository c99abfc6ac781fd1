// Copies of a production database: made here or by a release, restored, deleted; and the whole as a file.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button, OutsideLink } from '../../components/button.tsx';
import { Confirm, ConfirmByName } from '../../components/confirm.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { branchOf, copiesQuery, type BindingPlace } from '../../queries/resources.ts';
import { targetOf, useChanges } from './changes.tsx';
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
      Download as SQLite file
    </OutsideLink>
  );
  if (error !== null)
    return (
      <>
        <ErrorState title="The copies could not be read" error={error} onRetry={() => void refetch()} />
        <div>{download}</div>
      </>
    );
  if (data === undefined) return <SkeletonRows />;
  const make = (): void =>
    change({
      done: 'Copy made',
      failed: 'No copy was made',
      act: () => dataOf(api.post('/projects/:id/databases/:database/copies', { params, query })),
    });
  return (
    <>
      <div className={styles.bar}>
        <Button variant="primary" onClick={make} isPending={isPending}>
          Make a copy
        </Button>
        {download}
        <span className={styles.faint}>
          The database has {bytesText(data.bytes)}. {data.copiesMax} copies of a project are kept; the oldest goes for a
          new one.
        </span>
      </div>
      {data.items.length === 0 ? (
        <EmptyState title="No copies yet">
          A copy lies beside the database and is restored in a moment: make one before a change that you might regret.
          Releases make one before they migrate. It is on the same disk, so it is no backup.
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
            { id: 'at', header: 'Made', isFitted: true, cell: ({ madeAt }) => <Time at={madeAt} /> },
            {
              id: 'actions',
              header: 'Actions',
              isHeaderHidden: true,
              isFitted: true,
              phone: 'first-end',
              cell: ({ name }) => (
                <span className={styles.bar}>
                  <Button
                    size="small"
                    onClick={() => setAsked({ name, does: 'restore' })}
                    aria-label={`Restore ${name}`}
                  >
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
              ),
            },
          ]}
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
            failed: 'The copy was not restored',
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
        {asked?.name} takes the place of {place.binding} of {targetOf(place)}. What was written since is in a new copy
        then.
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
            failed: 'The copy was not deleted',
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
        {asked?.name} is gone then. The database itself stays as it is.
      </Confirm>
      {question}
    </>
  );
}
