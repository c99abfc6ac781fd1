// All members' tokens that are limited to an organization.
import { api, dataOf } from '../../api/client.ts';
import { EmptyState } from '../../components/notice.tsx';
import { NewTokenButton, TokenList } from '../account/token-list.tsx';
import { OrganizationPage } from './organization-page.tsx';

const keyOf = (id: string): readonly string[] => ['org-tokens', id];

export function OrganizationTokensPage() {
  return (
    <OrganizationPage title="Tokens" actions={({ id }) => <NewTokenButton organizationId={id} queryKey={keyOf(id)} />}>
      {({ id }) => (
        <TokenList
          hasOwner
          queryKey={keyOf(id)}
          read={(cursor, signal) =>
            dataOf(
              api.get('/orgs/:id/tokens', {
                params: { id },
                query: { limit: 100, ...(cursor !== undefined && { cursor }) },
                signal,
              }),
            )
          }
          revoke={(tokenId) => dataOf(api.delete('/orgs/:id/tokens/:tokenId', { params: { id, tokenId } }))}
          empty={
            <EmptyState title="No tokens yet" commands={['platform tokens create ci --scope deploy']}>
              These tokens can access only this organization. Use them for programs and CI.
            </EmptyState>
          }
        />
      )}
    </OrganizationPage>
  );
}
