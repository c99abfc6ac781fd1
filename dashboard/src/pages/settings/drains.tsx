// Log drains of a project: target, delivery status, test.
import { PaperPlaneIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { MenuItem } from '../../components/menu.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State, type Tone } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone, noteFailed } from '../../components/toast.ts';
import { AddButton } from '../../records/add-button.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { RowMenu } from '../../records/row-menu.tsx';
import { useChange } from '../../records/use-change.ts';
import { NewDrain } from './new-drain.tsx';
import styles from './settings.module.css';
import { SettingsPage } from './settings-page.tsx';

const LOOK_MS = 5000;
const states: Readonly<Record<Drain['state'], readonly [tone: Tone, word: string]>> = {
  on: ['ok', 'Enabled'],
  retrying: ['warning', 'Retrying'],
  paused: ['failed', 'Paused'],
  off: ['neutral', 'Disabled'],
};

const readDrains = (id: string, signal: AbortSignal) =>
  dataOf(api.get('/projects/:id/drains', { params: { id }, signal }));
type Drain = Awaited<ReturnType<typeof readDrains>>[number];

export function DrainsPage() {
  return (
    <SettingsPage
      title="Log drains"
      actions={({ id }) => (
        <AddButton label="New drain">{({ onClose }) => <NewDrain projectId={id} onClose={onClose} />}</AddButton>
      )}
    >
      {({ id }) => <Drains id={id} />}
    </SettingsPage>
  );
}

const columns: readonly Column<Drain>[] = [
  { id: 'name', header: 'Name', phone: 'first', cell: ({ name }) => name },
  { id: 'target', header: 'Target', cell: (one) => <code title={targetOf(one)}>{targetOf(one)}</code> },
  { id: 'lines', header: 'Lines', isExtra: true, cell: (one) => linesOf(one) },
  {
    id: 'state',
    header: 'Status',
    cell: ({ state, error }) => (
      <div style={{ whiteSpace: 'normal', padding: '4px 0' }}>
        <State tone={states[state][0]}>{states[state][1]}</State>
        {error !== null && <p className={styles.soft}>{error}</p>}
      </div>
    ),
  },
  {
    id: 'delivered',
    header: 'Last delivery',
    isFitted: true,
    cell: ({ deliveredAt, deliveredLines }) =>
      deliveredAt === null ? (
        'Never'
      ) : (
        <span title={`${deliveredLines} lines in total`}>
          <Time at={deliveredAt} />
        </span>
      ),
  },
];

function Drains({ id }: { readonly id: string }) {
  const queryKey = ['drains', id];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => readDrains(id, signal),
    refetchInterval: LOOK_MS,
  });
  const change = useChange({
    queryKey,
    act: ({ drainId, enabled }: { readonly drainId: string; readonly enabled: boolean }) =>
      dataOf(api.patch('/projects/:id/drains/:drainId', { params: { id, drainId }, body: { enabled } })),
    failed: 'Could not update the drain',
  });
  const test = useChange({
    queryKey,
    act: (drainId: string) => dataOf(api.post('/projects/:id/drains/:drainId/test', { params: { id, drainId } })),
    failed: 'Could not send the test',
    onDone: ({ ok, error }) =>
      ok ? noteDone('Test delivered') : noteFailed('Test delivery failed', new Error(error ?? '')),
  });
  return (
    <RecordList
      name="log drains"
      query={query}
      columns={columns}
      rowKey={(one) => one.id}
      empty={
        <EmptyState icon={<PaperPlaneIcon />} title="No log drains yet">
          A drain forwards the logs of this project by HTTP or to an S3 bucket.
        </EmptyState>
      }
      actions={({ id: drainId, name, state }) => {
        const isSending = state === 'on' || state === 'retrying';
        return (
          <RowMenu
            id={drainId}
            name={name}
            queryKey={queryKey}
            deleted={`Drain ${name} deleted`}
            onDelete={() => dataOf(api.delete('/projects/:id/drains/:drainId', { params: { id, drainId } }))}
          >
            <MenuItem onSelect={() => test.mutate(drainId)}>Send test</MenuItem>
            <MenuItem onSelect={() => change.mutate({ drainId, enabled: !isSending })}>
              {isSending ? 'Disable' : state === 'paused' ? 'Resume' : 'Enable'}
            </MenuItem>
          </RowMenu>
        );
      }}
    />
  );
}

function targetOf({ target }: Drain): string {
  return target.kind === 's3' ? `s3://${[target.bucket, target.prefix].filter(Boolean).join('/')}` : target.url;
}

function linesOf({ level, kinds, branch }: Drain): string {
  const parts = [level === 'debug' ? 'all levels' : `${level} and above`, kinds?.join(', '), branch];
  return parts.filter((part) => part !== null && part !== undefined).join('; ');
}
