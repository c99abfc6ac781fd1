// The table of tokens, and the dialog to create one. For accounts and organizations.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../components/button.tsx';
import { Field, FieldRow, Input, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Badge } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { userQuery } from '../../queries/account.ts';

type Scope = 'read' | 'deploy' | 'write' | 'admin';

/** A token, without its secret. */
export interface Token {
  readonly id: string;
  readonly hint: string;
  readonly name: string;
  readonly login: string | null;
  readonly organizationId: string | null;
  readonly projectId: string | null;
  readonly scope: Scope;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
}

const scopeWords: readonly (readonly [Scope, string])[] = [
  ['read', 'Read: view projects, logs and data'],
  ['deploy', 'Deploy: read, and create deployments'],
  ['write', 'Write: deploy, and change projects, data and variables'],
  ['admin', 'Admin: all your permissions'],
];
const SOON_MS = 7 * 86_400_000;

interface TokenTableProps {
  readonly tokens: readonly Token[];
  /** Shows the owners. */
  readonly hasLogin?: boolean;
  readonly onRevoke: (token: Token) => void;
}

export function TokenTable({ tokens, hasLogin = false, onRevoke }: TokenTableProps) {
  const columns: readonly Column<Token>[] = [
    {
      id: 'name',
      header: 'Name',
      phone: 'first',
      cell: ({ name, hint }) => (
        <>
          <strong dir="auto">{name}</strong> <code title="Start of the token">{hint}…</code>
        </>
      ),
    },
    ...(hasLogin ? [{ id: 'login', header: 'Owner', isFitted: true, cell: ({ login }: Token) => login ?? '' }] : []),
    {
      id: 'scope',
      header: 'Scope',
      isFitted: true,
      cell: ({ scope }) => <Badge tone={scope === 'admin' ? 'warning' : 'neutral'}>{scope}</Badge>,
    },
    {
      id: 'used',
      header: 'Last used',
      isFitted: true,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
    },
    { id: 'ends', header: 'Expires', isFitted: true, cell: ({ expiresAt }) => <Ends at={expiresAt} /> },
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (token) => (
        <Button size="small" aria-label={`Revoke ${token.name}`} onClick={() => onRevoke(token)}>
          Revoke
        </Button>
      ),
    },
  ];
  return <Table label="Tokens" columns={columns} rows={tokens} rowKey={({ id }) => id} />;
}

function Ends({ at }: { readonly at: string | null }) {
  if (at === null) return <Badge tone="warning">never</Badge>;
  const left = Date.parse(at) - Date.now();
  return left < SOON_MS ? (
    <Badge tone="warning">
      <Time at={at} />
    </Badge>
  ) : (
    <Time at={at} />
  );
}

interface NewTokenProps {
  /** The token's organization; undefined lets the user choose. */
  readonly organizationId?: string;
  readonly queryKey: readonly string[];
  readonly onMade: (token: string) => void;
  readonly onClose: () => void;
}

export function NewToken({ organizationId: given, queryKey, onMade, onClose }: NewTokenProps) {
  const [name, setName] = useState('');
  const [scope, setScope] = useState<Scope>('deploy');
  const [days, setDays] = useState('90');
  const [chosen, setChosen] = useState(given ?? '');
  const { data: user } = useQuery(userQuery);
  const make = useChange({
    queryKey,
    failed: 'Could not create the token',
    act: async () => {
      const body = {
        name,
        scope,
        expiresInDays: days === '' ? null : Number(days),
        ...(chosen !== '' && { organizationId: chosen }),
      };
      return await dataOf(api.post('/tokens', { body }));
    },
    onDone: ({ token }) => {
      onMade(token);
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title="New token"
      onSubmit={() => make.mutate(undefined)}
      action="Create token"
      isPending={make.isPending}
    >
      <Field label="Name" hint="What you will use it for" error={make.problem}>
        {(control) => (
          <Input
            {...control}
            required
            autoFocus
            maxLength={100}
            placeholder="guest-book CI"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <Field label="Scope">
        {(control) => (
          <Select {...control} value={scope} onChange={({ target }) => setScope(target.value as Scope)}>
            {scopeWords.map(([one, words]) => (
              <option key={one} value={one}>
                {words}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <FieldRow>
        {given === undefined && (
          <Field label="Organization">
            {(control) => (
              <Select {...control} value={chosen} onChange={({ target }) => setChosen(target.value)}>
                <option value="">All my organizations</option>
                {user?.organizations.map(({ id, name: organization }) => (
                  <option key={id} value={id}>
                    {organization}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <Field label="Expires">
          {(control) => (
            <Select {...control} value={days} onChange={({ target }) => setDays(target.value)}>
              <option value="7">In 7 days</option>
              <option value="30">In 30 days</option>
              <option value="90">In 90 days</option>
              <option value="365">In 1 year</option>
              <option value="">Never</option>
            </Select>
          )}
        </Field>
      </FieldRow>
    </FormDialog>
  );
}
