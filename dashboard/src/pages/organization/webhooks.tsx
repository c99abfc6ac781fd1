// Webhooks of an organization: create (the secret is shown once), disable, test, and view deliveries.
import { PaperPlaneIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Checkbox } from '../../components/field.tsx';
import { MenuItem } from '../../components/menu.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.ts';
import { AddButton, type AddFormProps } from '../../records/add-button.tsx';
import { RecordForm } from '../../records/record-form.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { RowMenu } from '../../records/row-menu.tsx';
import { useChange } from '../../records/use-change.ts';
import { OrganizationPage } from './organization-page.tsx';
import { Deliveries } from './webhook-deliveries.tsx';

const events = [
  ['deployment.created', 'Deployment created'],
  ['deployment.succeeded', 'Deployment succeeded'],
  ['deployment.failed', 'Deployment failed'],
  ['deployment.canceled', 'Deployment canceled'],
  ['deployment.promoted', 'Deployment promoted to production'],
  ['release.started', 'Guarded release started'],
  ['release.advanced', 'Guarded release advanced a step'],
  ['release.promoted', 'Guarded release promoted'],
  ['release.rolled_back', 'Guarded release rolled back'],
  ['release.canceled', 'Guarded release canceled'],
  ['domain.active', 'Domain active'],
] as const;
type EventName = (typeof events)[number][0];

const readWebhooks = (id: string, signal: AbortSignal) =>
  dataOf(api.get('/orgs/:id/webhooks', { params: { id }, signal }));
type Webhook = Awaited<ReturnType<typeof readWebhooks>>[number];

const SECRET = { title: 'Webhook secret', hint: 'Deliveries are signed with this secret.' };

export function WebhooksPage() {
  return (
    <OrganizationPage
      title="Webhooks"
      actions={({ id }) => (
        <AddButton label="New webhook" secret={SECRET}>
          {(form) => <NewWebhook id={id} {...form} />}
        </AddButton>
      )}
    >
      {({ id }) => <Webhooks id={id} />}
    </OrganizationPage>
  );
}

const columns: readonly Column<Webhook>[] = [
  { id: 'url', header: 'URL', phone: 'first', cell: ({ url }) => <code title={url}>{url}</code> },
  {
    id: 'events',
    header: 'Events',
    cell: ({ events: names }) => (names.length === events.length ? 'all' : names.join(', ')),
  },
  {
    id: 'state',
    header: 'Status',
    isFitted: true,
    cell: ({ enabled }) => <State tone={enabled ? 'ok' : 'neutral'}>{enabled ? 'Enabled' : 'Disabled'}</State>,
  },
  { id: 'made', header: 'Created', isLabelled: true, isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

function Webhooks({ id }: { readonly id: string }) {
  const queryKey = ['webhooks', id];
  const { webhook: openId } = useSearch({ from: '/orgs/$org/webhooks' });
  const navigate = useNavigate({ from: '/orgs/$org/webhooks' });
  const open = (webhook: string | undefined): void => void navigate({ search: { webhook } });
  const query = useQuery({ queryKey, queryFn: ({ signal }) => readWebhooks(id, signal) });
  const change = useChange<Webhook[], { webhookId: string; enabled: boolean }, unknown>({
    queryKey,
    show: (all, { webhookId, enabled }) => all.map((one) => (one.id === webhookId ? { ...one, enabled } : one)),
    act: ({ webhookId, enabled }) =>
      dataOf(api.patch('/orgs/:id/webhooks/:webhookId', { params: { id, webhookId }, body: { enabled } })),
    failed: 'Could not update the webhook',
  });
  const ping = useChange({
    queryKey: ['webhook-deliveries'],
    act: (webhookId: string) => dataOf(api.post('/orgs/:id/webhooks/:webhookId/test', { params: { id, webhookId } })),
    failed: 'Could not send the test',
    onDone: (_, webhookId) => {
      noteDone('Ping sent');
      open(webhookId);
    },
  });
  const opened = query.data?.find((one) => one.id === openId) ?? null;
  return (
    <>
      <RecordList
        name="webhooks"
        query={query}
        columns={columns}
        rowKey={(one) => one.id}
        onOpen={(one) => open(one.id)}
        selectedKey={openId ?? null}
        empty={
          <EmptyState icon={<PaperPlaneIcon />} title="No webhooks yet">
            Webhooks notify your chat, monitoring or programs of deployments and domains. Deliveries are signed with a
            secret.
          </EmptyState>
        }
        actions={({ id: webhookId, url, enabled }) => (
          <RowMenu
            id={webhookId}
            name={url}
            queryKey={queryKey}
            deleted="Webhook deleted"
            onDelete={() => dataOf(api.delete('/orgs/:id/webhooks/:webhookId', { params: { id, webhookId } }))}
          >
            <MenuItem onSelect={() => open(webhookId)}>Deliveries</MenuItem>
            <MenuItem onSelect={() => ping.mutate(webhookId)} isDisabled={!enabled}>
              Send ping
            </MenuItem>
            <MenuItem onSelect={() => change.mutate({ webhookId, enabled: !enabled })}>
              {enabled ? 'Disable' : 'Enable'}
            </MenuItem>
          </RowMenu>
        )}
      />
      {opened !== null && <Deliveries organizationId={id} webhook={opened} onClose={() => open(undefined)} />}
    </>
  );
}

function NewWebhook({ id, onSecret, onClose }: AddFormProps & { readonly id: string }) {
  const [chosen, setChosen] = useState<readonly EventName[]>(['deployment.succeeded', 'deployment.failed']);
  return (
    <RecordForm
      title="New webhook"
      action="Create webhook"
      failed="Could not create the webhook"
      queryKey={['webhooks', id]}
      isDisabled={chosen.length === 0}
      fields={{
        url: {
          label: 'URL',
          hint: 'https, at a public address',
          type: 'url',
          isCode: true,
          maxLength: 2048,
          placeholder: 'https://example.com/hooks',
        },
      }}
      act={({ url }) => dataOf(api.post('/orgs/:id/webhooks', { params: { id }, body: { url, events: [...chosen] } }))}
      onDone={({ secret }) => onSecret(secret)}
      onClose={onClose}
    >
      {events.map(([name, words]) => (
        <Checkbox
          key={name}
          label={words}
          checked={chosen.includes(name)}
          onChange={({ target }) =>
            setChosen(target.checked ? [...chosen, name] : chosen.filter((one) => one !== name))
          }
        />
      ))}
    </RecordForm>
  );
}
