// Entries of a cache binding: look up by key, and a list if the cache supports it.
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { ApiFailure } from '../../api/failure.ts';
import { Button } from '../../components/button.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { Input } from '../../components/field.tsx';
import { EmptyState, ErrorState, Notice } from '../../components/notice.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { branchOf, cacheEntryQuery, cacheQuery, type BindingPlace } from '../../queries/resources.ts';
import type { ListSearch } from '../../queries/resource-search.ts';
import { AreaPage } from './binding-page.tsx';
import { targetOf, useChanges } from './changes.tsx';
import { bindingKind, storageArea } from './kinds.ts';
import styles from './storage.module.css';
import { bytesText, LongText } from './value.tsx';

export function CachesPage() {
  return (
    <AreaPage area={storageArea} kind={bindingKind('cache')}>
      {(place) => <Cache key={`${place.binding} ${place.branch ?? ''}`} place={place} />}
    </AreaPage>
  );
}

function Cache({ place }: { readonly place: BindingPlace }) {
  const { key } = useSearch({ strict: false }) as ListSearch;
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const { data, error, refetch } = useQuery(cacheQuery(place));
  const open = (next: string | undefined): void =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, key: next }) } as never);
  const isListed = !(error instanceof ApiFailure && error.status === 501);
  return (
    <>
      <form
        className={styles.bar}
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== '') open(typed);
        }}
      >
        <Input
          className={styles.grow}
          aria-label="Key"
          placeholder="Key…"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button type="submit">Look up</Button>
      </form>
      {!isListed && (
        <Notice title="This cache cannot be listed">
          It is shared by all engines and supports only lookups by key.
        </Notice>
      )}
      {isListed && data === undefined && <Unloaded what="the entries" error={error} refetch={refetch} />}
      {data?.items.length === 0 && (
        <EmptyState title="No entries">
          {`To add an entry, call \`await env.${place.binding}.set('greeting', 'hello')\` in your worker. Entries are evicted when the cache is full.`}
        </EmptyState>
      )}
      {data !== undefined && data.items.length > 0 && (
        <Table
          label="Entries"
          rows={data.items}
          rowKey={(item) => item.key}
          onOpen={(item) => open(item.key)}
          selectedKey={key ?? null}
          columns={[
            {
              id: 'key',
              header: 'Key',
              phone: 'first',
              cell: (item) => <span className={styles.mono}>{item.key}</span>,
            },
            { id: 'bytes', header: 'Size', align: 'end', isFitted: true, cell: ({ bytes }) => bytesText(bytes) },
            {
              id: 'at',
              header: 'Expires',
              isLabelled: true,
              isFitted: true,
              cell: ({ expiresAt }) => <Time at={expiresAt} />,
            },
          ]}
        />
      )}
      {key !== undefined && <EntrySheet key={key} place={place} name={key} onClose={() => open(undefined)} />}
    </>
  );
}

function EntrySheet({
  place,
  name,
  onClose,
}: {
  readonly place: BindingPlace;
  readonly name: string;
  readonly onClose: () => void;
}) {
  const { data, error } = useQuery(cacheEntryQuery(place, name));
  const { change, isPending, question } = useChanges(place);
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={name}
      description={`${place.binding}, ${targetOf(place)}`}
      footer={
        data !== undefined && (
          <Button
            variant="danger"
            isPending={isPending}
            onClick={() =>
              change({
                done: 'Entry deleted',
                failed: 'Could not delete the entry',
                act: () =>
                  dataOf(
                    api.delete('/projects/:id/caches/:binding/entry', {
                      params: { id: place.id, binding: place.binding },
                      query: { ...branchOf(place), key: name },
                    }),
                  ),
                after: onClose,
              })
            }
          >
            Delete
          </Button>
        )
      }
    >
      {error !== null && <ErrorState one="entry" error={error} />}
      {data === undefined && error === null && <SkeletonRows rows={3} />}
      {data !== undefined && <LongText text={data.value} />}
      {question}
    </Sheet>
  );
}
