// Backups of the installation, for its operator: when the next is due, how the last ones went, and one now.
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { ErrorState, Notice } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Duration, Time } from '../../components/time.tsx';
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
    header: 'Begun',
    isFitted: true,
    phone: 'first',
    cell: ({ startedAt }) => <Time at={startedAt} />,
  },
  { id: 'state', header: 'State', isFitted: true, phone: 'first-end', cell: (run) => <RunState run={run} /> },
  {
    id: 'took',
    header: 'Took',
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
    header: 'Where',
    cell: ({ location, error }) => (
      <div style={{ whiteSpace: 'normal', overflowWrap: 'anywhere', padding: '4px 0' }}>{error ?? location}</div>
    ),
  },
];

function RunState({ run: { endedAt, error, isRemoved } }: { readonly run: Run }) {
  if (endedAt === null) return <State tone="running">Under way</State>;
  if (error !== null) return <State tone="failed">Failed</State>;
  return isRemoved ? <State tone="neutral">Removed</State> : <State tone="ok">Made</State>;
}

export function BackupsPage() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => readBackups(signal),
    refetchInterval: LOOK_MS,
  });
  const start = useChange({
    queryKey,
    act: () => dataOf(api.post('/operator/backups', {})),
    failed: 'The backup was not started',
  });
  const isUnderWay = data?.runs[0]?.endedAt === null;
  return (
    <Page
      title="Backups"
      description="Everything that the platform has, in archives of your own"
      actions={
        data !== undefined &&
        data.plan !== null && (
          <Button variant="primary" onClick={() => start.mutate(undefined)} isPending={start.isPending || isUnderWay}>
            Back up now
          </Button>
        )
      }
    >
      {isPending && <SkeletonRows />}
      {data === undefined && error !== null && (
        <ErrorState title="The backups could not be read" error={error} onRetry={() => void refetch()} />
      )}
      {data !== undefined && (
        <>
          <Plan backups={data} />
          {data.runs.length > 0 && (
            <Table label="Backups" columns={columns} rows={data.runs} rowKey={({ startedAt }) => startedAt} />
          )}
        </>
      )}
      <Section title="On the machine itself">
        <p className={styles.soft}>A restore takes a platform that does not run.</p>
        <CodeBlock code="platform backup" isCommand />
        <CodeBlock code="platform restore --check <backup>" isCommand />
      </Section>
    </Page>
  );
}

function Plan({ backups: { plan, runs } }: { readonly backups: Backups }) {
  const last = runs.find(({ endedAt }) => endedAt !== null);
  const isWell = last !== undefined && last.error === null;
  const title =
    last === undefined ? 'No backup was ever made' : isWell ? 'The last backup was made' : 'The last backup failed';
  return (
    <Notice tone={isWell ? 'ok' : last === undefined ? 'warning' : 'failed'} title={title}>
      {plan === null ? (
        <p>Nothing here makes backups by itself.</p>
      ) : (
        <p>
          They go to {plan.target}.{' '}
          {plan.nextAt === null ? (
            'None is due: BACKUP_CRON sets a schedule.'
          ) : (
            <>
              The next is due <Time at={plan.nextAt} />.
            </>
          )}
        </p>
      )}
    </Notice>
  );
}
