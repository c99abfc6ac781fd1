// Members' AI gateway tokens for `platform dev`, with expiry and revocation.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { ErrorState } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { removeLater, useRemoved } from '../../state/removals.ts';

const readTokens = (id: string, signal: AbortSignal) =>
  dataOf(api.get('/orgs/:id/ai/dev-tokens', { params: { id }, signal }));
type DevToken = Awaited<ReturnType<typeof readTokens>>[number];

const nameOf = ({ login }: DevToken): string => login ?? 'a deleted account';

export function DevTokens({ id }: { readonly id: string }) {
  const queryKey = ['ai-dev-tokens', id];
  const client = useQueryClient();
  const removed = useRemoved();
  const { data, error, refetch } = useQuery({ queryKey, queryFn: ({ signal }) => readTokens(id, signal) });
  const columns: readonly Column<DevToken>[] = [
    {
      id: 'who',
      header: 'Member',
      phone: 'first',
      cell: (token) => <strong dir="auto">{nameOf(token)}</strong>,
    },
    { id: 'made', header: 'Created', isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    { id: 'ends', header: 'Expires', isFitted: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (token) => (
        <Button
          size="small"
          aria-label={`Revoke the token of ${nameOf(token)}`}
          onClick={() =>
            removeLater(
              token.id,
              'Token revoked',
              () => dataOf(api.delete('/orgs/:id/ai/dev-tokens/:devTokenId', { params: { id, devTokenId: token.id } })),
              () => client.invalidateQueries({ queryKey }),
            )
          }
        >
          Revoke
        </Button>
      ),
    },
  ];
  const rows = data?.filter((token) => !removed.has(token.id)) ?? [];
  if (error !== null)
    return <ErrorState title="Could not load the tokens" error={error} onRetry={() => void refetch()} />;
  if (rows.length === 0) return null;
  return (
    <Section title="Tokens for platform dev">
      <Table label="Tokens for platform dev" columns={columns} rows={rows} rowKey={(token) => token.id} />
    </Section>
  );
}
