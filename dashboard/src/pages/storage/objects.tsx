// Durable objects of a class: when they were last active, their alarms and WebSockets; for one object, its stored
// values, an SQL field, and buttons to end or delete it.
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { PlayIcon } from '@radix-ui/react-icons';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { Editor } from '../../components/editor.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { Facts, Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { branchOf, objectQuery, objectsQuery, objectValuesQuery, type BindingPlace } from '../../queries/resources.ts';
import type { ListSearch } from '../../queries/resource-search.ts';
import { AreaPage } from './binding-page.tsx';
import { targetOf, useChanges } from './changes.tsx';
import { CopyRows } from './copy-rows.tsx';
import { Grid } from './grid.tsx';
import { objectKind, storageArea } from './kinds.ts';
import styles from './storage.module.css';
import { bytesText, type Cell } from './value.tsx';

/** The initial SQL of the field, which lists the tables of the object. */
const FIRST_SQL = 'SELECT name, sql FROM sqlite_schema;';

export function ObjectsPage() {
  return (
    <AreaPage area={storageArea} kind={objectKind}>
      {(place) => <Objects key={`${place.binding} ${place.branch ?? ''}`} place={place} />}
    </AreaPage>
  );
}

function Objects({ place }: { readonly place: BindingPlace }) {
  const { key } = useSearch({ strict: false }) as ListSearch;
  const navigate = useNavigate();
  const query = useInfiniteQuery(objectsQuery(place));
  const open = (next: string | undefined): void =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, key: next }) } as never);
  return (
    <>
      <CursorList
        name="objects"
        query={query}
        empty={
          <EmptyState title="No objects yet">
            {`An object is listed once it has stored something: \`env.${place.binding}.getByName('lobby')\`.`}
          </EmptyState>
        }
      >
        {(items) => (
          <Table
            label="Objects"
            rows={items}
            rowKey={(item) => item.id}
            onOpen={(item) => open(item.id)}
            selectedKey={key ?? null}
            columns={[
              {
                id: 'name',
                header: 'Name',
                phone: 'first',
                cell: ({ id, name }) => <span className={styles.mono}>{name ?? `${id.slice(0, 16)}…`}</span>,
              },
              {
                id: 'state',
                header: 'State',
                isFitted: true,
                cell: ({ isLive }) => (isLive ? 'In memory' : <span className={styles.faint}>Stored</span>),
              },
              { id: 'sockets', header: 'WebSockets', align: 'end', isFitted: true, cell: ({ sockets }) => sockets },
              {
                id: 'alarm',
                header: 'Alarm',
                isLabelled: true,
                isFitted: true,
                cell: ({ alarm }) =>
                  alarm === null ? <span className={styles.faint}>none</span> : <Time at={alarm} />,
              },
              { id: 'bytes', header: 'Size', align: 'end', isFitted: true, cell: ({ bytes }) => bytesText(bytes) },
              {
                id: 'active',
                header: 'Last active',
                align: 'end',
                isFitted: true,
                cell: ({ activeAt }) => <Time at={activeAt} />,
              },
            ]}
          />
        )}
      </CursorList>
      {key !== undefined && <ObjectSheet key={key} place={place} object={key} onClose={() => open(undefined)} />}
    </>
  );
}

/** Parameters of a request about an object. */
const asked = (place: BindingPlace, object: string) => ({
  params: { id: place.id, binding: place.binding },
  query: { ...branchOf(place), object },
});

function ObjectSheet({
  place,
  object,
  onClose,
}: {
  readonly place: BindingPlace;
  readonly object: string;
  readonly onClose: () => void;
}) {
  const { data, error } = useQuery(objectQuery(place, object));
  const { change, isPending, question } = useChanges(place);
  const [confirmed, setConfirmed] = useState<'reset' | 'delete' | null>(null);
  const reset = (): void =>
    change({
      done: 'Object reset',
      failed: 'Could not reset the object',
      act: () => dataOf(api.post('/projects/:id/objects/:binding/entry/reset', asked(place, object))),
    });
  const remove = (): void =>
    change({
      done: 'Object deleted',
      failed: 'Could not delete the object',
      act: () => dataOf(api.delete('/projects/:id/objects/:binding/entry', asked(place, object))),
      after: onClose,
    });
  const name = data?.name ?? object;
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={name}
      description={`${place.binding}, ${targetOf(place)}`}
      footer={
        data !== undefined && (
          <>
            <Button variant="danger" onClick={() => setConfirmed('delete')}>
              Delete
            </Button>
            <Button onClick={() => setConfirmed('reset')} isPending={isPending} disabled={!data.isLive}>
              Reset
            </Button>
          </>
        )
      }
    >
      {error !== null && <ErrorState one="object" error={error} />}
      {data === undefined && error === null && <SkeletonRows rows={4} />}
      {data !== undefined && (
        <>
          <Facts
            facts={[
              [
                'ID',
                <span key="id" className={styles.mono}>
                  {data.id}
                </span>,
              ],
              ['State', data.isLive ? 'In memory' : 'Stored'],
              ['Last active', <Time key="active" at={data.activeAt} />],
              ['Alarm', data.alarm === null ? 'none' : <Time key="alarm" at={data.alarm} />],
              ['WebSockets', String(data.sockets)],
              ['Size', bytesText(data.bytes)],
            ]}
          />
          <Section title="Keys">
            <Values place={place} object={object} />
          </Section>
          <Section title="SQL">
            <ObjectSql place={place} object={object} />
          </Section>
        </>
      )}
      {question}
      <Confirm
        isOpen={confirmed !== null}
        onClose={() => setConfirmed(null)}
        title={confirmed === 'delete' ? 'Delete this object?' : 'Reset this object?'}
        action={confirmed === 'delete' ? 'Delete object' : 'Reset object'}
        isDanger
        onConfirm={() => {
          setConfirmed(null);
          if (confirmed === 'delete') remove();
          else reset();
        }}
      >
        {confirmed === 'delete'
          ? 'Storage and alarm of the object are deleted, and its instance ends.'
          : 'The instance of the object ends; its storage stays. If it is running, the other objects of the deployment start again too.'}
      </Confirm>
    </Sheet>
  );
}

function Values({ place, object }: { readonly place: BindingPlace; readonly object: string }) {
  const query = useInfiniteQuery(objectValuesQuery(place, object));
  return (
    <CursorList name="keys" query={query} empty={<p className={styles.faint}>No keys</p>}>
      {(items) => (
        <Table
          label="Keys"
          rows={items}
          rowKey={(item) => item.key}
          columns={[
            {
              id: 'key',
              header: 'Key',
              phone: 'first',
              cell: ({ key, isKeyCut }) => (
                <span className={styles.mono}>{key.length > 200 || isKeyCut ? `${key.slice(0, 200)}…` : key}</span>
              ),
            },
            {
              id: 'value',
              header: 'Value',
              cell: ({ value, isCut }) => (
                <span className={styles.mono}>{value.length > 200 || isCut ? `${value.slice(0, 200)}…` : value}</span>
              ),
            },
          ]}
        />
      )}
    </CursorList>
  );
}

/** Makes the column names of a result unique, as the grid requires. */
function named(columns: readonly string[]): { readonly name: string }[] {
  return columns.map((name, at) => ({ name: columns.indexOf(name) === at ? name : `${name} (${at + 1})` }));
}

function ObjectSql({ place, object }: { readonly place: BindingPlace; readonly object: string }) {
  const [sql, setSql] = useState(FIRST_SQL);
  const { change, question } = useChanges(place);
  const request = { ...asked(place, object), body: { sql } };
  const running = useMutation({
    mutationFn: (writes: boolean) =>
      writes
        ? dataOf(api.post('/projects/:id/objects/:binding/entry/sql', request))
        : dataOf(api.post('/projects/:id/objects/:binding/entry/query', request)),
  });
  const isEmpty = sql.trim() === '';
  const read = (): void => running.mutate(false);
  const write = (): void =>
    change({
      done: null,
      failed: 'Could not run the statement',
      act: () => running.mutateAsync(true).catch(() => {}),
    });
  const { data } = running;
  return (
    <>
      <Editor label="SQL of the object" language="sql" value={sql} onChange={setSql} onRun={read} minHeight={80} />
      <div className={styles.bar}>
        <Button variant="primary" onClick={read} isPending={running.isPending} disabled={isEmpty}>
          <PlayIcon />
          Run
        </Button>
        <Button onClick={write} disabled={isEmpty || running.isPending}>
          Run and write
        </Button>
      </div>
      {running.error !== null && <ErrorState title="Could not run the statement" error={running.error} />}
      {data !== undefined && data.columns.length > 0 && (
        <>
          <CopyRows columns={data.columns} rows={data.rows as Cell[][]} table="rows" />
          <Grid label="Result" columns={named(data.columns)} rows={data.rows as Cell[][]} />
        </>
      )}
      {data !== undefined && data.columns.length === 0 && (
        <p className={styles.faint}>{data.rowsWritten} rows written</p>
      )}
      {question}
    </>
  );
}
