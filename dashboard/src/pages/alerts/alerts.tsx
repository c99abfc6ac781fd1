// Alerts of a project (in its settings) and of the operator: rules, channels, history.
import { BellIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { MenuItem } from '../../components/menu.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.ts';
import type { AlertSearch } from '../../queries/alert-search.ts';
import { AddButton } from '../../records/add-button.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { RowMenu } from '../../records/row-menu.tsx';
import { useChange } from '../../records/use-change.ts';
import styles from '../settings/settings.module.css';
import { SettingsPage } from '../settings/settings-page.tsx';
import {
  deleteChannel,
  changeRule,
  deleteRule,
  eventsQuery,
  readChannels,
  rulesQuery,
  testChannel,
  type AlertEvent,
  type Channel,
  type Rule,
} from './alert-calls.ts';
import { channelKinds, NewChannel, RuleForm, ruleKinds } from './alert-forms.tsx';
import { eventTypes, RuleSheet, ruleStates } from './rule-sheet.tsx';

interface OwnerProps {
  /** Id of the project; null for the operator's alerts. */
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

const SECRET = { title: 'Channel secret', hint: 'Notifications are signed with this secret.' };

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
            {({ onClose }) => <RuleForm projectId={projectId} channels={channels?.items ?? []} onClose={onClose} />}
          </AddButton>
        }
      >
        <Rules projectId={projectId} channels={channels?.items ?? []} />
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
        <State tone={ruleStates[state][0]}>{ruleStates[state][1]}</State>
        {message !== '' && <p className={styles.soft}>{message}</p>}
      </div>
    ),
  },
];

function Rules({ projectId, channels }: OwnerProps & { readonly channels: readonly Channel[] }) {
  const { queryKey } = rulesQuery(projectId);
  const query = useQuery(rulesQuery(projectId));
  const { rule: openId } = useSearch({ strict: false }) as AlertSearch;
  const navigate = useNavigate();
  const open = (rule: string | undefined): void => void navigate({ to: '.', search: { rule } });
  const [edited, setEdited] = useState<Rule | null>(null);
  const opened = query.data?.find(({ id }) => id === openId);
  const change = useChange({
    queryKey,
    act: ({ id, state }: Rule) => changeRule(projectId, id, { enabled: state === 'off' }),
    failed: 'Could not update the rule',
  });
  return (
    <>
      <RecordList
        onOpen={({ id }) => open(id)}
        selectedKey={openId ?? null}
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
            <MenuItem onSelect={() => open(rule.id)}>Show graph</MenuItem>
            <MenuItem onSelect={() => setEdited(rule)}>Edit</MenuItem>
            <MenuItem onSelect={() => change.mutate(rule)}>{rule.state === 'off' ? 'Enable' : 'Disable'}</MenuItem>
          </RowMenu>
        )}
      />
      {opened !== undefined && edited === null && (
        <RuleSheet
          projectId={projectId}
          rule={opened}
          channels={channels}
          onEdit={() => setEdited(opened)}
          onClose={() => open(undefined)}
        />
      )}
      {edited !== null && (
        <RuleForm projectId={projectId} rule={edited} channels={channels} onClose={() => setEdited(null)} />
      )}
    </>
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
    cell: ({ type }) => <State tone={eventTypes[type][0]}>{eventTypes[type][1]}</State>,
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
  const query = useInfiniteQuery(eventsQuery(projectId));
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
