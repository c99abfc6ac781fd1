// Alerts of a project (in its settings) and of the operator: rules, channels, history.
import { BellIcon, PlusIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { byCursor, CursorList } from '../../components/cursor-list.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.tsx';
import { removeLater, useRemoved } from '../../records/removals.ts';
import { Secret } from '../../records/secret.tsx';
import { SettingsPage } from '../settings/settings-page.tsx';
import styles from '../settings/settings.module.css';
import {
  deleteChannel,
  deleteRule,
  readChannels,
  readEvents,
  readRules,
  switchRule,
  testChannel,
  type AlertEvent,
  type Channel,
  type Rule,
} from './alert-calls.ts';
import { channelKinds, NewChannelDialog, NewRuleDialog, ruleKinds } from './alert-forms.tsx';

const LOOK_MS = 10_000;
const states: Readonly<Record<Rule['state'], readonly [tone: Tone, word: string]>> = {
  ok: ['ok', 'OK'],
  firing: ['failed', 'Firing'],
  off: ['neutral', 'Disabled'],
};
const types: Readonly<Record<AlertEvent['type'], readonly [tone: Tone, word: string]>> = {
  fired: ['failed', 'Fired'],
  resolved: ['ok', 'Resolved'],
  test: ['neutral', 'Test'],
};

interface OwnerProps {
  /** Null for the operator's alerts. */
  readonly projectId: string | null;
}

export function AlertsPage() {
  return <SettingsPage title="Alerts">{(project) => <Alerts projectId={project.id} />}</SettingsPage>;
}

export function OperatorAlertsPage() {
  return (
    <Page title="Alerts" description="Disk usage and certificates of the platform">
      <Alerts projectId={null} />
    </Page>
  );
}

function Alerts({ projectId }: OwnerProps) {
  const [isMaking, setMaking] = useState<'rule' | 'channel' | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const channels = useQuery({
    queryKey: ['alert-channels', projectId],
    queryFn: ({ signal }) => readChannels(projectId, signal),
  });
  const close = (): void => setMaking(null);
  return (
    <>
      {secret !== null && (
        <Secret
          title="Channel secret"
          value={secret}
          hint="Notifications are signed with it."
          onClose={() => setSecret(null)}
        />
      )}
      <Section
        title="Rules"
        actions={
          <Button variant="primary" size="small" onClick={() => setMaking('rule')}>
            <PlusIcon /> New rule
          </Button>
        }
      >
        <Rules projectId={projectId} />
      </Section>
      <Section
        title="Channels"
        actions={
          <Button size="small" onClick={() => setMaking('channel')}>
            <PlusIcon /> New channel
          </Button>
        }
      >
        {channels.isPending && <SkeletonRows />}
        {channels.data === undefined && channels.error !== null && (
          <ErrorState
            title="Could not load the channels"
            error={channels.error}
            onRetry={() => void channels.refetch()}
          />
        )}
        {channels.data !== undefined && <Channels projectId={projectId} channels={channels.data.items} />}
      </Section>
      <Section title="History">
        <History projectId={projectId} />
      </Section>
      {isMaking === 'rule' && (
        <NewRuleDialog projectId={projectId} channels={channels.data?.items ?? []} onClose={close} />
      )}
      {isMaking === 'channel' && (
        <NewChannelDialog
          projectId={projectId}
          sendsMail={channels.data?.sendsMail ?? false}
          onMade={setSecret}
          onClose={close}
        />
      )}
    </>
  );
}

function Rules({ projectId }: OwnerProps) {
  const queryKey = ['alert-rules', projectId];
  const client = useQueryClient();
  const removed = useRemoved();
  const { data, error, isPending, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readRules(projectId, signal),
    refetchInterval: LOOK_MS,
  });
  const change = useChange({
    queryKey,
    act: ({ id, state }: Rule) => switchRule(projectId, id, state === 'off'),
    failed: 'Could not update the rule',
  });
  if (isPending) return <SkeletonRows />;
  if (data === undefined)
    return <ErrorState title="Could not load the rules" error={error} onRetry={() => void refetch()} />;
  const rows = data.filter((one) => !removed.has(one.id));
  if (rows.length === 0)
    return (
      <EmptyState icon={<BellIcon />} title="No rules yet">
        A rule notifies your channels when it fires and when it resolves.
      </EmptyState>
    );
  const columns: readonly Column<Rule>[] = [
    { id: 'name', header: 'Name', phone: 'first', cell: ({ name }) => name },
    { id: 'kind', header: 'Condition', cell: ({ kind, threshold }) => ruleKinds[kind].at(threshold) },
    {
      id: 'state',
      header: 'Status',
      cell: ({ state, message }) => (
        <div style={{ whiteSpace: 'normal', padding: '4px 0' }}>
          <State tone={states[state][0]}>{states[state][1]}</State>
          {message !== '' && <p className={styles.soft}>{message}</p>}
        </div>
      ),
    },
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (rule) => (
        <div className={styles.buttons}>
          <Button
            size="small"
            aria-label={`${rule.state === 'off' ? 'Enable' : 'Disable'} ${rule.name}`}
            onClick={() => change.mutate(rule)}
          >
            {rule.state === 'off' ? 'Enable' : 'Disable'}
          </Button>
          <Button
            size="small"
            aria-label={`Delete rule ${rule.name}`}
            onClick={() =>
              removeLater(
                rule.id,
                `Rule ${rule.name} deleted`,
                () => deleteRule(projectId, rule.id),
                () => client.invalidateQueries({ queryKey }),
              )
            }
          >
            Delete
          </Button>
        </div>
      ),
    },
  ];
  return <Table label="Rules" columns={columns} rows={rows} rowKey={(one) => one.id} />;
}

function Channels({ projectId, channels }: OwnerProps & { readonly channels: readonly Channel[] }) {
  const queryKey = ['alert-channels', projectId];
  const client = useQueryClient();
  const removed = useRemoved();
  const tryOut = useChange({
    queryKey: ['alert-events', projectId],
    act: (channelId: string) => testChannel(projectId, channelId),
    failed: 'Could not send the test',
    onDone: () => noteDone('Test sent. The history shows the result'),
  });
  const rows = channels.filter((one) => !removed.has(one.id));
  if (rows.length === 0)
    return <EmptyState title="No channels yet">A channel is a webhook, a chat or an email address.</EmptyState>;
  const columns: readonly Column<Channel>[] = [
    { id: 'name', header: 'Name', phone: 'first', cell: ({ name }) => name },
    { id: 'kind', header: 'Kind', isFitted: true, cell: ({ kind }) => channelKinds[kind] },
    { id: 'target', header: 'Target', cell: ({ target }) => <code>{target}</code> },
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: ({ id, name }) => (
        <div className={styles.buttons}>
          <Button size="small" aria-label={`Send a test to ${name}`} onClick={() => tryOut.mutate(id)}>
            Test
          </Button>
          <Button
            size="small"
            aria-label={`Delete channel ${name}`}
            onClick={() =>
              removeLater(
                id,
                `Channel ${name} deleted`,
                () => deleteChannel(projectId, id),
                () => client.invalidateQueries({ queryKey }),
              )
            }
          >
            Delete
          </Button>
        </div>
      ),
    },
  ];
  return <Table label="Channels" columns={columns} rows={rows} rowKey={(one) => one.id} />;
}

function History({ projectId }: OwnerProps) {
  const query = useInfiniteQuery({
    queryKey: ['alert-events', projectId],
    queryFn: ({ signal, pageParam }) => readEvents(projectId, pageParam, signal),
    ...byCursor,
    refetchInterval: LOOK_MS,
  });
  const columns: readonly Column<AlertEvent>[] = [
    { id: 'name', header: 'Rule', phone: 'first', cell: ({ name }) => name },
    {
      id: 'type',
      header: 'Event',
      isFitted: true,
      phone: 'first-end',
      cell: ({ type }) => <State tone={types[type][0]}>{types[type][1]}</State>,
    },
    {
      id: 'message',
      header: 'Details',
      cell: ({ message, deliveries }) => (
        <div style={{ whiteSpace: 'normal', padding: '4px 0' }}>
          {message}
          {deliveries.map((one) => (
            <p key={one.channel} className={styles.soft}>
              {toldTo(one)}
            </p>
          ))}
        </div>
      ),
    },
    { id: 'at', header: 'Time', isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
  return (
    <CursorList name="alerts" query={query} empty={<EmptyState title="No alerts in the last 90 days" />}>
      {(items) => <Table label="History" columns={columns} rows={items} rowKey={(one) => one.id} />}
    </CursorList>
  );
}

function toldTo({ channel, state, attempt, error }: AlertEvent['deliveries'][number]): string {
  if (state === 'delivered') return `${channel}: delivered`;
  if (state === 'failed') return `${channel}: failed. ${error ?? ''}`;
  return error === null ? `${channel}: pending` : `${channel}: ${error}, attempt ${attempt}, will be retried`;
}
