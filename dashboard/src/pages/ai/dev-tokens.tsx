// Members' AI gateway tokens for `platform dev`, with expiry and revocation.
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { useRemoval } from '../../records/removals.ts';

const readTokens = (id: string, signal: AbortSignal) =>
  dataOf(api.get('/orgs/:id/ai/dev-tokens', { params: { id }, signal }));
type DevToken = Awaited<ReturnType<typeof readTokens>>[number];

const nameOf = ({ login }: DevToken): string => login ?? 'a deleted account';

const columns: readonly Column<DevToken>[] = [
  { id: 'who', header: 'Member', phone: 'first', cell: (token) => <strong dir="auto">{nameOf(token)}</strong> },
  { id: 'made', header: 'Created', isLabelled: true, isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { id: 'ends', header: 'Expires', isLabelled: true, isFitted: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
];

export function DevTokens({ id }: { readonly id: string }) {
  const queryKey = ['ai-dev-tokens', id];
  const remove = useRemoval(queryKey);
  const query = useQuery({ queryKey, queryFn: ({ signal }) => readTokens(id, signal) });
  if (query.error === null && (query.data ?? []).length === 0) return null;
  return (
    <Section title="Tokens for platform dev">
      <RecordList
        name="tokens for platform dev"
        query={query}
        columns={columns}
        rowKey={(token) => token.id}
        empty={null}
        actions={(token) => (
          <Button
            size="small"
            aria-label={`Revoke the token of ${nameOf(token)}`}
            onClick={() =>
              remove(token.id, 'Token revoked', () =>
                dataOf(api.delete('/orgs/:id/ai/dev-tokens/:devTokenId', { params: { id, devTokenId: token.id } })),
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
