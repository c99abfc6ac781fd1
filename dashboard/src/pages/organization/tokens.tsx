// All members' tokens that are limited to an organization.
import { PlusIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { CursorList, byCursor } from '../../components/cursor-list.tsx';
import { EmptyState } from '../../components/notice.tsx';
import type { FullOrganization } from '../../queries/organization.ts';
import { removeLater, useRemoved } from '../../state/removals.ts';
import { NewToken, TokenTable } from '../account/token-list.tsx';
import { Secret } from '../settings/secret.tsx';
import { OrganizationPage } from './organization-page.tsx';

export function OrganizationTokensPage() {
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  return (
    <OrganizationPage
      title="Tokens"
      actions={
        <Button variant="primary" onClick={() => setMaking(true)}>
          <PlusIcon /> New token
        </Button>
      }
    >
      {(organization) => (
        <>
          {made !== null && (
            <Secret
              title="New token"
              value={made}
              hint="Use it as PLATFORM_API_TOKEN, or as the password for git push."
              onClose={() => setMade(null)}
            />
          )}
          <Tokens organization={organization} />
          {isMaking && (
            <NewToken
              organizationId={organization.id}
              queryKey={['org-tokens', organization.id]}
              onMade={setMade}
              onClose={() => setMaking(false)}
            />
          )}
        </>
      )}
    </OrganizationPage>
  );
}

function Tokens({ organization: { id } }: { readonly organization: FullOrganization }) {
  const client = useQueryClient();
  const removed = useRemoved();
  const query = useInfiniteQuery({
    queryKey: ['org-tokens', id],
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/orgs/:id/tokens', {
          params: { id },
          query: { limit: 100, ...(pageParam !== undefined && { cursor: pageParam }) },
          signal,
        }),
      ),
    ...byCursor,
  });
  return (
    <CursorList
      name="tokens"
      query={query}
      empty={
        <EmptyState title="No tokens yet" commands={['platform tokens create ci --scope deploy']}>
          Tokens of this organization can access nothing else of their owner's account. Use them for programs and CI.
        </EmptyState>
      }
    >
      {(items) => (
        <TokenTable
          hasLogin
          tokens={items.filter((token) => !removed.has(token.id))}
          onRevoke={(token) =>
            removeLater(
              token.id,
              `${token.name} revoked`,
              () => dataOf(api.delete('/orgs/:id/tokens/:tokenId', { params: { id, tokenId: token.id } })),
              () => client.invalidateQueries({ queryKey: ['org-tokens', id] }),
            )
          }
        />
      )}
    </CursorList>
  );
}
