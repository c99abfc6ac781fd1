// Webhooks of an organization: create (the secret is shown once), disable, test, and view deliveries.
import { DotsHorizontalIcon, PaperPlaneIcon, PlusIcon } from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Checkbox, Field, Input } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.tsx';
import type { FullOrganization } from '../../queries/organization.ts';
import { removeLater, useRemoved } from '../../records/removals.ts';
import { Secret } from '../../records/secret.tsx';
import { OrganizationPage } from './organization-page.tsx';
import { Deliveries } from './webhook-deliveries.tsx';

const events = [
  ['deployment.created', 'Deployment created'],
  ['deployment.succeeded', 'Deployment succeeded'],
  ['deployment.failed', 'Deployment failed'],
  ['deployment.canceled', 'Deployment canceled'],
  ['deployment.promoted', 'Deployment promoted to production'],
  ['domain.active', 'Domain active'],
] as const;
type EventName = (typeof events)[number][0];

const readWebhooks = (id: string, signal: AbortSignal) =>
  dataOf(api.get('/orgs/:id/webhooks', { params: { id }, signal }));
type Webhook = Awaited<ReturnType<typeof readWebhooks>>[number];

export function WebhooksPage() {
  const [isMaking, setMaking] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <OrganizationPage
      title="Webhooks"
      actions={
        <Button variant="primary" onClick={() => setMaking(true)}>
          <PlusIcon /> New webhook
        </Button>
      }
    >
      {(organization) => (
        <>
          {secret !== null && (
            <Secret
              title="Webhook secret"
              value={secret}
              hint="Deliveries are signed with it."
              onClose={() => setSecret(null)}
            />
          )}
          <Webhooks organization={organization} />
          {isMaking && <NewWebhook id={organization.id} onMade={setSecret} onClose={() => setMaking(false)} />}
        </>
      )}
    </OrganizationPage>
  );
}

function Webhooks({ organization: { id } }: { readonly organization: FullOrganization }) {
  const queryKey = ['webhooks', id];
  const client = useQueryClient();
  const removed = useRemoved();
  const { webhook: openId } = useSearch({ from: '/orgs/$org/webhooks' });
  const navigate = useNavigate({ from: '/orgs/$org/webhooks' });
  const open = (webhook: string | undefined): void => void navigate({ search: { webhook } });
  const { data, error, isPending, refetch } = useQuery({ queryKey, queryFn: ({ signal }) => readWebhooks(id, signal) });
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
  if (isPending) return <SkeletonRows />;
  if (data === undefined)
    return <ErrorState title="Could not load the webhooks" error={error} onRetry={() => void refetch()} />;
  const rows = data.filter((one) => !removed.has(one.id));
  if (rows.length === 0)
    return (
      <EmptyState icon={<PaperPlaneIcon />} title="No webhooks yet">
        Webhooks notify your chat, monitoring or programs of deployments and domains. Deliveries are signed with a
        secret.
      </EmptyState>
    );
  const opened = rows.find((one) => one.id === openId) ?? null;
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
    { id: 'made', header: 'Created', isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (webhook) => (
        <Menu
          trigger={
            <IconButton label={`Actions for ${webhook.url}`} size="small">
              <DotsHorizontalIcon />
            </IconButton>
          }
        >
          <MenuItem onSelect={() => open(webhook.id)}>Deliveries</MenuItem>
          <MenuItem onSelect={() => ping.mutate(webhook.id)} isDisabled={!webhook.enabled}>
            Send ping
          </MenuItem>
          <MenuItem onSelect={() => change.mutate({ webhookId: webhook.id, enabled: !webhook.enabled })}>
            {webhook.enabled ? 'Disable' : 'Enable'}
          </MenuItem>
          <MenuItem
            isDanger
            onSelect={() =>
              removeLater(
                webhook.id,
                'Webhook deleted',
                () => dataOf(api.delete('/orgs/:id/webhooks/:webhookId', { params: { id, webhookId: webhook.id } })),
                () => client.invalidateQueries({ queryKey }),
              )
            }
          >
            Delete
          </MenuItem>
        </Menu>
      ),
    },
  ];
  return (
    <>
      <Table
        label="Webhooks"
        columns={columns}
        rows={rows}
        rowKey={(one) => one.id}
        onOpen={(one) => open(one.id)}
        selectedKey={openId ?? null}
      />
      {opened !== null && <Deliveries organizationId={id} webhook={opened} onClose={() => open(undefined)} />}
    </>
  );
}

function NewWebhook({
  id,
  onMade,
  onClose,
}: {
  readonly id: string;
  readonly onMade: (secret: string) => void;
  readonly onClose: () => void;
}) {
  const [url, setUrl] = useState('');
  const [chosen, setChosen] = useState<readonly EventName[]>(['deployment.succeeded', 'deployment.failed']);
  const make = useChange({
    queryKey: ['webhooks', id],
    failed: 'Could not create the webhook',
    act: async () => {
      return await dataOf(api.post('/orgs/:id/webhooks', { params: { id }, body: { url, events: [...chosen] } }));
    },
    onDone: ({ secret }) => {
      onMade(secret);
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title="New webhook"
      onSubmit={() => make.mutate(undefined)}
      action="Create webhook"
      isPending={make.isPending}
      isDisabled={chosen.length === 0}
    >
      <Field label="URL" hint="https, at a public address" error={make.problem}>
        {(control) => (
          <Input
            {...control}
            isCode
            type="url"
            required
            autoFocus
            maxLength={2048}
            placeholder="https://example.com/hooks"
            value={url}
            onChange={({ target }) => setUrl(target.value)}
          />
        )}
      </Field>
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
    </FormDialog>
  );
}
