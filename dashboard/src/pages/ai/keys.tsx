// AI gateway keys of an organization, for programs outside of workers: shown once, with separate limits.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { limitText } from '../../queries/ai.ts';
import { AddButton, type AddFormProps } from '../../records/add-button.tsx';
import { RecordForm } from '../../records/record-form.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { useRemoval } from '../../records/removals.ts';
import { LimitFields, untyped, type TypedLimit } from './limits.tsx';

const readKeys = (id: string, signal: AbortSignal) => dataOf(api.get('/orgs/:id/ai/keys', { params: { id }, signal }));
type Key = Awaited<ReturnType<typeof readKeys>>[number];

const columns: readonly Column<Key>[] = [
  {
    id: 'name',
    header: 'Name',
    phone: 'first',
    cell: ({ name, hint }) => (
      <>
        <strong dir="auto">{name}</strong> <code title="Start of the key">{hint}…</code>
      </>
    ),
  },
  {
    id: 'limits',
    header: 'Limits',
    cell: ({ limits }) => (limits.length === 0 ? 'none' : limits.map(limitText).join(', ')),
  },
  { id: 'made', header: 'Created', isLabelled: true, isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    id: 'ends',
    header: 'Expires',
    isLabelled: true,
    isFitted: true,
    cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} />),
  },
];
const lifetimes = [
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In 1 year'],
  ['', 'Never'],
] as const;
const SECRET = {
  title: 'New key',
  hint: "Use the key as the API key of any OpenAI client. The base URL is the platform's API URL followed by /ai.",
};

export function AiKeys({ id }: { readonly id: string }) {
  const queryKey = ['ai-keys', id];
  const remove = useRemoval(queryKey);
  const query = useQuery({ queryKey, queryFn: ({ signal }) => readKeys(id, signal) });
  return (
    <Section
      title="Keys"
      actions={
        <AddButton label="New key" isPrimary={false} secret={SECRET}>
          {(form) => <NewKey id={id} {...form} />}
        </AddButton>
      }
    >
      <RecordList
        name="keys"
        query={query}
        columns={columns}
        rowKey={(key) => key.id}
        empty={
          <EmptyState title="No keys">
            Programs outside of workers need a key to call models. Workers do not.
          </EmptyState>
        }
        actions={({ id: keyId, name }) => (
          <Button
            size="small"
            aria-label={`Revoke ${name}`}
            onClick={() =>
              remove(keyId, `${name} revoked`, () =>
                dataOf(api.delete('/orgs/:id/ai/keys/:keyId', { params: { id, keyId } })),
              )
            }
          >
            Revoke
          </Button>
        )}
      />
    </Section>
  );
}

function NewKey({ id, onSecret, onClose }: AddFormProps & { readonly id: string }) {
  const [limits, setLimits] = useState<readonly TypedLimit[]>([]);
  return (
    <RecordForm
      title="New key"
      action="Create key"
      failed="Could not create the key"
      queryKey={['ai-keys', id]}
      fields={{
        name: { label: 'Name', hint: 'What you will use the key for', maxLength: 100, placeholder: "Ada's notebook" },
        days: { label: 'Expires', choices: lifetimes, value: '90' },
      }}
      act={({ name, days }) => {
        const body = { name, limits: untyped(limits), ...(days !== '' && { days: Number(days) }) };
        return dataOf(api.post('/orgs/:id/ai/keys', { params: { id }, body }));
      }}
      onDone={({ key }) => onSecret(key)}
      onClose={onClose}
    >
      <LimitFields limits={limits} onChange={setLimits} />
    </RecordForm>
  );
}
