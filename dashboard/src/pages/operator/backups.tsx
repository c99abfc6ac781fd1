// Backups of the installation, for the operator: next and recent backups, and a button to start one.
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Notice } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Duration, Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import styles from '../settings/settings.module.css';
import { bytesText } from '../storage/value.tsx';

const LOOK_MS = 2000;
const queryKey = ['operator-backups'];

const readBackups = (signal: AbortSignal) => dataOf(api.get('/operator/backups', { signal }));
type Backups = Awaited<ReturnType<typeof readBackups>>;
type Run = Backups['runs'][number];

const columns: readonly Column<Run>[] = [
  {
    id: 'startedAt',
    header: 'Started',
    isFitted: true,
    phone: 'first',
    cell: ({ startedAt }) => <Time at={startedAt} />,
  },
  { id: 'state', header: 'Status', isFitted: true, phone: 'first-end', cell: (run) => <RunState run={run} /> },
  {
    id: 'took',
    header: 'Duration',
    isFitted: true,
    cell: ({ startedAt, endedAt }) => <Duration from={startedAt} to={endedAt} />,
  },
  {
    id: 'size',
    header: 'Size',
    isFitted: true,
    cell: ({ bytes, writtenBytes }) => (bytes === 0 ? '' : `${bytesText(bytes)}, ${bytesText(writtenBytes)} written`),
  },
  {
    id: 'location',
    header: 'Location',
    cell: ({ location, error }) => (
      <div style={{ whiteSpace: 'normal', overflowWrap: 'anywhere', padding: '4px 0' }}>{error ?? location}</div>
    ),
  },
];

function RunState({ run: { endedAt, error, isRemoved } }: { readonly run: Run }) {
  if (endedAt === null) return <State tone="running">Running</State>;
  if (error !== null) return <State tone="failed">Failed</State>;
  return isRemoved ? <State tone="neutral">Removed</State> : <State tone="ok">Completed</State>;
}

export function BackupsPage() {
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readBackups(signal),
    refetchInterval: LOOK_MS,
  });
  const start = useChange({
    queryKey,
    act: () => dataOf(api.post('/operator/backups', {})),
    failed: 'Could not start the backup',
  });
  const isUnderWay = data?.runs[0]?.endedAt === null;
  return (
    <Page
      title="Backups"
      description="Archives of all data of the platform"
      actions={
        data !== undefined &&
        data.plan !== null && (
          <Button variant="primary" onClick={() => start.mutate(undefined)} isPending={start.isPending || isUnderWay}>
            Back up now
          </Button>
        )
      }
    >
      {data === undefined && <Unloaded what="the backups" error={error} refetch={refetch} />}
      {data !== undefined && (
        <>
          <Plan backups={data} />
          {data.runs.length > 0 && (
            <Table label="Backups" columns={columns} rows={data.runs} rowKey={({ startedAt }) => startedAt} />
          )}
        </>
      )}
      <Section title="On the command line">
        <p className={styles.soft}>Stop the platform before you restore a backup.</p>
        <CodeBlock code="platform backup" isCommand />
        <CodeBlock code="platform restore --check <backup>" isCommand />
      </Section>
    </Page>
  );
}

function Plan({ backups: { plan, runs } }: { readonly backups: Backups }) {
  const last = runs.find(({ endedAt }) => endedAt !== null);
  const isWell = last !== undefined && last.error === null;
  const title = last === undefined ? 'No backups yet' : isWell ? 'Last backup completed' : 'Last backup failed';
  const isPlanned = plan !== null && plan.nextAt !== null;
  return (
    <Notice tone={isWell && isPlanned ? 'ok' : isWell || last === undefined ? 'warning' : 'failed'} title={title}>
      {plan === null ? (
        <p>Automatic backups are not configured.</p>
      ) : (
        <p>
          Backups are stored in {plan.target}.{' '}
          {plan.nextAt === null ? (
            'No backup is scheduled: set BACKUP_CRON.'
          ) : (
            <>
              Next backup: <Time at={plan.nextAt} />.
            </>
          )}
        </p>
      )}
    </Notice>
  );
}
