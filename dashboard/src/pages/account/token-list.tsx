// The list of tokens of an account or an organization, and the button to create a token.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { byCursor, type Page } from '../../components/cursor-list.tsx';
import { Badge } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { userQuery } from '../../queries/account.ts';
import { AddButton } from '../../records/add-button.tsx';
import { RecordForm } from '../../records/record-form.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { useRemoval } from '../../records/removals.ts';

type Scope = 'read' | 'deploy' | 'write' | 'admin';

/** A token, without its secret. */
interface Token {
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
const lifetimes = [
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In 1 year'],
  ['', 'Never'],
] as const;
const SOON_MS = 7 * 86_400_000;

const ownerColumn: Column<Token> = { id: 'login', header: 'Owner', isFitted: true, cell: ({ login }) => login ?? '' };
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
  {
    id: 'scope',
    header: 'Scope',
    isFitted: true,
    cell: ({ scope }) => <Badge tone={scope === 'admin' ? 'warning' : 'neutral'}>{scope}</Badge>,
  },
  {
    id: 'used',
    header: 'Last used',
    isLabelled: true,
    isFitted: true,
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
  },
  { id: 'ends', header: 'Expires', isLabelled: true, isFitted: true, cell: ({ expiresAt }) => <Ends at={expiresAt} /> },
];
const columnsWithOwner = columns.toSpliced(1, 0, ownerColumn);

interface TokenListProps {
  readonly queryKey: readonly string[];
  /** Reads a page. */
  readonly read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Token>>;
  readonly revoke: (id: string) => Promise<unknown>;
  readonly hasOwner?: boolean;
  readonly empty: ReactNode;
}

export function TokenList({ queryKey, read, revoke, hasOwner = false, empty }: TokenListProps) {
  const remove = useRemoval(queryKey);
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) => read(pageParam, signal),
    ...byCursor,
  });
  return (
    <RecordList
      name="tokens"
      query={query}
      columns={hasOwner ? columnsWithOwner : columns}
      rowKey={({ id }) => id}
      empty={empty}
      actions={({ id, name }) => (
        <Button
          size="small"
          aria-label={`Revoke ${name}`}
          onClick={() => remove(id, `${name} revoked`, () => revoke(id))}
        >
          Revoke
        </Button>
      )}
    />
  );
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
}

/** A button with the form for a new token. */
export function NewTokenButton({ organizationId, queryKey }: NewTokenProps) {
  const { data: user } = useQuery(userQuery);
  const organizations = user?.organizations.map(({ id, name }) => [id, name] as const) ?? [];
  return (
    <AddButton
      label="New token"
      secret={{ title: 'New token', hint: 'Use the token as PLATFORM_API_TOKEN, or as the password for git push.' }}
    >
      {({ onSecret, onClose }) => (
        <RecordForm
          title="New token"
          action="Create token"
          failed="Could not create the token"
          queryKey={queryKey}
          fields={{
            name: {
              label: 'Name',
              hint: 'What you will use the token for',
              maxLength: 100,
              placeholder: 'guest-book CI',
            },
            scope: { label: 'Scope', choices: scopeWords, value: 'deploy' },
            organization: {
              label: 'Organization',
              choices: [['', 'All my organizations'], ...organizations],
              isShown: () => organizationId === undefined,
            },
            days: { label: 'Expires', choices: lifetimes, value: '90' },
          }}
          act={({ name, scope, organization, days }) => {
            const limitedTo = organizationId ?? organization;
            const body = {
              name,
              scope: scope as Scope,
              expiresInDays: days === '' ? null : Number(days),
              ...(limitedTo !== '' && { organizationId: limitedTo }),
            };
            return dataOf(api.post('/tokens', { body }));
          }}
          onDone={({ token }) => onSecret(token)}
          onClose={onClose}
        />
      )}
    </AddButton>
  );
}
