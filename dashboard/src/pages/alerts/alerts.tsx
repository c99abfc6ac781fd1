// Alerts of a project (in its settings) and of the operator: rules, channels, history.
import { BellIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { byCursor } from '../../components/cursor-list.tsx';
import { MenuItem } from '../../components/menu.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { State, type Tone } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.tsx';
import { AddButton } from '../../records/add-button.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { RowMenu } from '../../records/row-menu.tsx';
import { useChange } from '../../records/use-change.ts';
import styles from '../settings/settings.module.css';
import { SettingsPage } from '../settings/settings-page.tsx';
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
import { channelKinds, NewChannel, NewRule, ruleKinds } from './alert-forms.tsx';

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

const SECRET = { title: 'Channel secret', hint: 'Notifications are signed with it.' };

const useChannels = (projectId: string | null) =>
  useQuery({ queryKey: ['alert-channels', projectId], queryFn: ({ signal }) => readChannels(projectId, signal) });

function Alerts({ projectId }: OwnerProps) {
  const { data: channels } = useChannels(projectId);
  return (
    <>
      <Section
        title="Rules"
        actions={
          <AddButton label="New rule" size="small">
            {({ onClose }) => <NewRule projectId={projectId} channels={channels?.items ?? []} onClose={onClose} />}
          </AddButton>
        }
      >
        <Rules projectId={projectId} />
      </Section>
      <Section
        title="Channels"
        actions={
          <AddButton label="New channel" size="small" isPrimary={false} secret={SECRET}>
            {(form) => <NewChannel projectId={projectId} sendsMail={channels?.sendsMail ?? false} {...form} />}
          </AddButton>
        }
      >
        <Channels projectId={projectId} />
      </Section>
      <Section title="History">
        <History projectId={projectId} />
      </Section>
    </>
  );
}

const ruleColumns: readonly Column<Rule>[] = [
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
];

function Rules({ projectId }: OwnerProps) {
  const queryKey = ['alert-rules', projectId];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => readRules(projectId, signal),
    refetchInterval: LOOK_MS,
  });
  const change = useChange({
    queryKey,
    act: ({ id, state }: Rule) => switchRule(projectId, id, state === 'off'),
    failed: 'Could not update the rule',
  });
  return (
    <RecordList
      name="rules"
      query={query}
      columns={ruleColumns}
      rowKey={(one) => one.id}
      empty={
        <EmptyState icon={<BellIcon />} title="No rules yet">
          A rule notifies your channels when it fires and when it resolves.
        </EmptyState>
      }
      actions={(rule) => (
        <RowMenu
          id={rule.id}
          name={rule.name}
          queryKey={queryKey}
          deleted={`Rule ${rule.name} deleted`}
          onDelete={() => deleteRule(projectId, rule.id)}
        >
          <MenuItem onSelect={() => change.mutate(rule)}>{rule.state === 'off' ? 'Enable' : 'Disable'}</MenuItem>
        </RowMenu>
      )}
    />
  );
}

const channelColumns: readonly Column<Channel>[] = [
  { id: 'name', header: 'Name', phone: 'first', cell: ({ name }) => name },
  { id: 'kind', header: 'Kind', isFitted: true, cell: ({ kind }) => channelKinds[kind] },
  { id: 'target', header: 'Target', cell: ({ target }) => <code>{target}</code> },
];

function Channels({ projectId }: OwnerProps) {
  const queryKey = ['alert-channels', projectId];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => readChannels(projectId, signal),
    select: ({ items }) => items,
  });
  const test = useChange({
    queryKey: ['alert-events', projectId],
    act: (channelId: string) => testChannel(projectId, channelId),
    failed: 'Could not send the test',
    onDone: () => noteDone('Test sent. The history shows the result'),
  });
  return (
    <RecordList
      name="channels"
      query={query}
      columns={channelColumns}
      rowKey={(one) => one.id}
      empty={<EmptyState title="No channels yet">A channel is a webhook, a chat or an email address.</EmptyState>}
      actions={({ id, name }) => (
        <RowMenu
          id={id}
          name={name}
          queryKey={queryKey}
          deleted={`Channel ${name} deleted`}
          onDelete={() => deleteChannel(projectId, id)}
        >
          <MenuItem onSelect={() => test.mutate(id)}>Send test</MenuItem>
        </RowMenu>
      )}
    />
  );
}

const eventColumns: readonly Column<AlertEvent>[] = [
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

function History({ projectId }: OwnerProps) {
  const query = useInfiniteQuery({
    queryKey: ['alert-events', projectId],
    queryFn: ({ signal, pageParam }) => readEvents(projectId, pageParam, signal),
    ...byCursor,
    refetchInterval: LOOK_MS,
  });
  return (
    <RecordList
      name="alerts"
      query={query}
      columns={eventColumns}
      rowKey={(one) => one.id}
      empty={<EmptyState title="No alerts in the last 90 days" />}
    />
  );
}

function toldTo({ channel, state, attempt, error }: AlertEvent['deliveries'][number]): string {
  if (state === 'delivered') return `${channel}: delivered`;
  if (state === 'failed') return `${channel}: failed. ${error ?? ''}`;
  return error === null ? `${channel}: pending` : `${channel}: ${error}, attempt ${attempt}, will be retried`;
}
