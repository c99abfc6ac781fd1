// AI gateway keys of an organization, for programs outside of workers: shown once, with limits of their own.
import { PlusIcon } from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../components/button.tsx';
import { Field, Input, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { limitText } from '../../queries/ai.ts';
import { removeLater, useRemoved } from '../../state/removals.ts';
import { Secret } from '../settings/secret.tsx';
import { LimitFields, untyped, type TypedLimit } from './limits.tsx';

const readKeys = (id: string, signal: AbortSignal) => dataOf(api.get('/orgs/:id/ai/keys', { params: { id }, signal }));
type Key = Awaited<ReturnType<typeof readKeys>>[number];

export function AiKeys({ id }: { readonly id: string }) {
  const queryKey = ['ai-keys', id];
  const client = useQueryClient();
  const removed = useRemoved();
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const { data, error, refetch } = useQuery({ queryKey, queryFn: ({ signal }) => readKeys(id, signal) });
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
    { id: 'made', header: 'Created', isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      id: 'ends',
      header: 'Expires',
      isFitted: true,
      cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} />),
    },
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (key) => (
        <Button
          size="small"
          aria-label={`Revoke ${key.name}`}
          onClick={() =>
            removeLater(
              key.id,
              `${key.name} revoked`,
              () => dataOf(api.delete('/orgs/:id/ai/keys/:keyId', { params: { id, keyId: key.id } })),
              () => client.invalidateQueries({ queryKey }),
            )
          }
        >
          Revoke
        </Button>
      ),
    },
  ];
  const rows = data?.filter((key) => !removed.has(key.id)) ?? [];
  return (
    <Section
      title="Keys"
      actions={
        <Button onClick={() => setMaking(true)}>
          <PlusIcon /> New key
        </Button>
      }
    >
      {made !== null && (
        <Secret
          title="New key"
          value={made}
          hint="Use it as the API key of any OpenAI client. The base URL is the platform's API URL followed by /ai."
          onClose={() => setMade(null)}
        />
      )}
      {data === undefined ? (
        error === null ? (
          <SkeletonRows rows={2} />
        ) : (
          <ErrorState title="Could not load the keys" error={error} onRetry={() => void refetch()} />
        )
      ) : rows.length === 0 ? (
        <EmptyState title="No keys">Programs outside of workers need a key to call models. Workers do not.</EmptyState>
      ) : (
        <Table label="Keys" columns={columns} rows={rows} rowKey={(key) => key.id} />
      )}
      {isMaking && <NewKey id={id} onMade={setMade} onClose={() => setMaking(false)} />}
    </Section>
  );
}

interface NewKeyProps {
  readonly id: string;
  readonly onMade: (key: string) => void;
  readonly onClose: () => void;
}

function NewKey({ id, onMade, onClose }: NewKeyProps) {
  const [name, setName] = useState('');
  const [days, setDays] = useState('90');
  const [limits, setLimits] = useState<readonly TypedLimit[]>([]);
  const make = useChange({
    queryKey: ['ai-keys', id],
    failed: 'Could not create the key',
    act: () => {
      const body = { name, limits: untyped(limits), ...(days !== '' && { days: Number(days) }) };
      return dataOf(api.post('/orgs/:id/ai/keys', { params: { id }, body }));
    },
    onDone: ({ key }) => {
      onMade(key);
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title="New key"
      action="Create key"
      onSubmit={() => make.mutate(undefined)}
      isPending={make.isPending}
    >
      <Field label="Name" hint="What you will use it for" error={make.problem}>
        {(control) => (
          <Input
            {...control}
            required
            autoFocus
            maxLength={100}
            placeholder="Ada's notebook"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <Field label="Expires">
        {(control) => (
          <Select {...control} value={days} onChange={({ target }) => setDays(target.value)}>
            <option value="30">In 30 days</option>
            <option value="90">In 90 days</option>
            <option value="365">In 1 year</option>
            <option value="">Never</option>
          </Select>
        )}
      </Field>
      <LimitFields limits={limits} onChange={setLimits} />
    </FormDialog>
  );
}
