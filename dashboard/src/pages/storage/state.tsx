// Entries of a state binding: search by prefix, view, edit. A save fails if the entry changed since it was loaded.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { PlusIcon } from '@radix-ui/react-icons';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { Dialog, Sheet } from '../../components/dialog.tsx';
import { Field, FieldRow, Input, TextArea } from '../../components/field.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { Facts } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { branchOf, stateEntryQuery, stateQuery, type BindingPlace } from '../../queries/resources.ts';
import type { ListSearch } from '../../queries/resource-search.ts';
import { AreaPage } from './binding-page.tsx';
import { targetOf, useChanges } from './changes.tsx';
import { bindingKind, storageArea } from './kinds.ts';
import { PrefixField } from './prefix-field.tsx';
import styles from './storage.module.css';
import { StoredActivity } from './stored-activity.tsx';
import { hexText, jsonLine, LongText } from './value.tsx';

/** Larger texts cannot be edited on this page, because typing would be slow. */
const EDITED_CHARS_MAX = 200_000;

export function StatePage() {
  return (
    <AreaPage area={storageArea} kind={bindingKind('state')}>
      {(place) => <Entries key={`${place.binding} ${place.branch ?? ''}`} place={place} />}
    </AreaPage>
  );
}

function Entries({ place }: { readonly place: BindingPlace }) {
  const { prefix = '', key } = useSearch({ strict: false }) as ListSearch;
  const navigate = useNavigate();
  const [isAdding, setAdding] = useState(false);
  const query = useInfiniteQuery(stateQuery(place, prefix));
  const open = (next: string | undefined): void =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, key: next }) } as never);
  return (
    <>
      <StoredActivity place={place} kind="state" />
      <div className={styles.bar} role="search">
        <PrefixField label="Key prefix" />
        <Button variant="primary" onClick={() => setAdding(true)}>
          <PlusIcon />
          Add entry
        </Button>
      </div>
      <CursorList
        name="entries"
        query={query}
        empty={
          <EmptyState title={prefix === '' ? 'No entries yet' : 'No results'}>
            {prefix === '' &&
              `To add an entry, call \`await env.${place.binding}.put('greeting', 'hello')\` in your worker.`}
          </EmptyState>
        }
      >
        {(items) => (
          <Table
            label="Entries"
            rows={items}
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
              {
                id: 'metadata',
                header: 'Metadata',
                cell: ({ metadata }) =>
                  metadata === null ? '' : <span className={styles.mono}>{jsonLine(metadata, 80)}</span>,
              },
              {
                id: 'expires',
                header: 'Expires',
                align: 'end',
                isFitted: true,
                cell: ({ expiresAt }) =>
                  expiresAt === null ? <span className={styles.faint}>never</span> : <Time at={expiresAt} />,
              },
            ]}
          />
        )}
      </CursorList>
      {key !== undefined && <EntrySheet key={key} place={place} name={key} onClose={() => open(undefined)} />}
      {isAdding && <AddEntry place={place} onClose={() => setAdding(false)} />}
    </>
  );
}

function putEntry(
  place: BindingPlace,
  key: string,
  body: { value: string; metadata?: unknown; expirationTtl?: number; version: string | null },
) {
  return dataOf(
    api.put('/projects/:id/state/:binding/entry', {
      params: { id: place.id, binding: place.binding },
      query: { ...branchOf(place), key },
      body,
    }),
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
  const { data, error } = useQuery(stateEntryQuery(place, name));
  const { change, isPending, question } = useChanges(place);
  const [edited, setEdited] = useState<{ readonly text: string; readonly version: string } | null>(null);
  const [isDeleting, setDeleting] = useState(false);
  const value = data?.value;
  const isTooLong = (value?.length ?? 0) > EDITED_CHARS_MAX;
  const save = (): void => {
    if (edited === null || data === undefined) return;
    const ttl = data.expiresAt === null ? null : Math.max(1, Math.round((data.expiresAt - Date.now()) / 1000));
    change({
      done: 'Entry saved',
      failed: 'Could not save the entry',
      act: () =>
        putEntry(place, name, {
          value: edited.text,
          ...(data.metadata !== null && { metadata: data.metadata }),
          ...(ttl !== null && { expirationTtl: ttl }),
          version: edited.version,
        }),
      after: () => setEdited(null),
    });
  };
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={name}
      description={`${place.binding}, ${targetOf(place)}`}
      footer={
        data !== undefined &&
        (edited === null ? (
          <>
            <Button variant="danger" onClick={() => setDeleting(true)}>
              Delete
            </Button>
            {value !== undefined && !isTooLong && (
              <Button onClick={() => setEdited({ text: value, version: data.version })}>Edit</Button>
            )}
          </>
        ) : (
          <>
            <Button onClick={() => setEdited(null)}>Cancel</Button>
            <Button variant="primary" onClick={save} isPending={isPending}>
              Save
            </Button>
          </>
        ))
      }
    >
      {error !== null && <ErrorState one="entry" error={error} />}
      {data === undefined && error === null && <SkeletonRows rows={4} />}
      {data !== undefined && (
        <>
          <Facts
            facts={[
              ['Expires', data.expiresAt === null ? 'never' : <Time key="at" at={data.expiresAt} />],
              [
                'Metadata',
                data.metadata === null ? null : (
                  <span key="metadata" className={styles.mono}>
                    {jsonLine(data.metadata, 2000)}
                  </span>
                ),
              ],
            ]}
          />
          {edited !== null ? (
            <Field label="Value" hint="Saving fails if the entry was changed in the meantime.">
              {(control) => (
                <TextArea
                  {...control}
                  rows={14}
                  value={edited.text}
                  onChange={(event) => setEdited({ ...edited, text: event.target.value })}
                />
              )}
            </Field>
          ) : value !== undefined ? (
            <LongText text={pretty(value)} />
          ) : (
            <CodeBlock code={hexText(data.base64 ?? '')} />
          )}
          {isTooLong && (
            <p className={styles.faint}>This value is too long to edit here. Use the CLI or your worker.</p>
          )}
        </>
      )}
      {question}
      <Confirm
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title="Delete this entry?"
        action="Delete entry"
        isDanger
        onConfirm={() => {
          setDeleting(false);
          change({
            done: 'Entry deleted',
            failed: 'Could not delete the entry',
            act: () =>
              dataOf(
                api.delete('/projects/:id/state/:binding/entry', {
                  params: { id: place.id, binding: place.binding },
                  query: { ...branchOf(place), key: name },
                }),
              ),
            after: onClose,
          });
        }}
      >
        <span className={styles.mono}>{name}</span> of {targetOf(place)} is gone then.
      </Confirm>
    </Sheet>
  );
}

/** Pretty-prints JSON; returns other texts unchanged. */
function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text) || text.length > EDITED_CHARS_MAX) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function AddEntry({ place, onClose }: { readonly place: BindingPlace; readonly onClose: () => void }) {
  const { change, isPending, question } = useChanges(place);
  const [key, setKey] = useState('');
  const [value, setValue] = useState('');
  const [ttl, setTtl] = useState('');
  return (
    <>
      <Dialog
        isOpen
        onClose={onClose}
        title="Add entry"
        description={`${place.binding}, ${targetOf(place)}`}
        onSubmit={() =>
          change({
            done: 'Entry added',
            failed: 'Could not add the entry',
            act: () =>
              putEntry(place, key, {
                value,
                version: null,
                ...(ttl !== '' && { expirationTtl: Math.max(1, Math.round(Number(ttl))) }),
              }),
            after: onClose,
          })
        }
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" isPending={isPending}>
              Add
            </Button>
          </>
        }
      >
        <FieldRow>
          <Field label="Key">
            {(control) => (
              <Input {...control} isCode required value={key} onChange={(event) => setKey(event.target.value)} />
            )}
          </Field>
          <Field label="Expires after (seconds)" hint="Leave empty for no expiry">
            {(control) => (
              <Input {...control} type="number" min={1} value={ttl} onChange={(event) => setTtl(event.target.value)} />
            )}
          </Field>
        </FieldRow>
        <Field label="Value">
          {(control) => (
            <TextArea {...control} rows={8} value={value} onChange={(event) => setValue(event.target.value)} />
          )}
        </Field>
      </Dialog>
      {question}
    </>
  );
}
