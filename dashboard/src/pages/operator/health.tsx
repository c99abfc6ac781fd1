// Health of the installation, for the operator: checks, failures first; machine, engines, busiest projects.
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Notice } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Prose } from '../../components/prose.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import styles from '../settings/settings.module.css';
import { Machine } from './machine.tsx';

const LOOK_MS = 15_000;
const tones: Readonly<Record<Finding['status'], readonly [tone: Tone, word: string]>> = {
  fail: ['failed', 'Failed'],
  warn: ['warning', 'Warning'],
  ok: ['ok', 'OK'],
};
const order = ['fail', 'warn', 'ok'];

const readHealth = (signal: AbortSignal) => dataOf(api.get('/operator/health', { signal }));
type Finding = Awaited<ReturnType<typeof readHealth>>['findings'][number];

const columns: readonly Column<Finding>[] = [
  { id: 'name', header: 'Check', isFitted: true, phone: 'first', cell: ({ name }) => <strong>{name}</strong> },
  {
    id: 'status',
    header: 'Status',
    isFitted: true,
    phone: 'first-end',
    cell: ({ status }) => <State tone={tones[status][0]}>{tones[status][1]}</State>,
  },
  {
    id: 'message',
    header: 'Details',
    cell: ({ message, advice }) => (
      <div style={{ whiteSpace: 'normal', padding: '4px 0' }}>
        <Prose text={message} />
        {advice !== null && (
          <p className={styles.soft}>
            <Prose text={advice} />
          </p>
        )}
      </div>
    ),
  },
];

export function HealthPage() {
  const { data, error, isFetching, refetch, dataUpdatedAt } = useQuery({
    queryKey: ['operator-health'],
    queryFn: ({ signal }) => readHealth(signal),
    refetchInterval: LOOK_MS,
  });
  const findings =
    data?.findings.toSorted((one, other) => order.indexOf(one.status) - order.indexOf(other.status)) ?? [];
  const bad = findings.filter(({ status }) => status !== 'ok');
  return (
    <Page
      title="Health"
      description="Checks of all parts of the platform"
      actions={
        <Button onClick={() => void refetch()} isPending={isFetching}>
          Check again
        </Button>
      }
    >
      {data === undefined && <Unloaded what="the health checks" error={error} refetch={refetch} />}
      {data !== undefined && (
        <>
          <Notice
            tone={bad.length === 0 ? 'ok' : bad.some(({ status }) => status === 'fail') ? 'failed' : 'warning'}
            title={
              bad.length === 0
                ? 'All checks passed'
                : `${bad.length} of ${findings.length} checks ${bad.length === 1 ? 'needs' : 'need'} attention`
            }
          >
            {bad.map(({ name, message, advice }) => (
              <p key={`${name} ${message}`}>
                <strong>{name}</strong>: <Prose text={advice === null ? message : `${message}. ${advice}`} />
              </p>
            ))}
            <p className={styles.soft}>
              Checked <Time at={dataUpdatedAt} />
            </p>
          </Notice>
          <Machine />
          <Section title="Checks">
            <Table
              label="Checks"
              columns={columns}
              rows={findings}
              rowKey={({ name, message }) => `${name} ${message}`}
            />
          </Section>
        </>
      )}
      <Section title="On the command line">
        <p className={styles.soft}>Also checks programs, ports, file modes and DNS.</p>
        <CodeBlock code="platform doctor" isCommand />
        <CodeBlock code="platform backup" isCommand />
      </Section>
    </Page>
  );
}
