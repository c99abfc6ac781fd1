// The guarded release of a deployment: its state, and the measurements of each step for it and for the previous
// deployment.
import { Section } from '../../components/page.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import type { Deployment } from '../../queries/deployments.ts';
import styles from './deployments.module.css';

type Guarded = NonNullable<Deployment['guardedRelease']>;
type Step = Guarded['steps'][number];
type Seen = NonNullable<Step['now']>;

/** @example 'This deployment gets 5 % of visitors, then 25 % and 100 %, for 5 min each.' */
export function stepsSentence({ steps, minutes }: Pick<Guarded['settings'], 'steps' | 'minutes'>): string {
  const [first, ...others] = steps.map((percent) => `${percent} %`);
  return `This deployment gets ${first} of visitors, then ${others.join(' and ')}, for ${minutes} min each.`;
}

const states: Readonly<Record<Guarded['state'], readonly [tone: Tone, word: string]>> = {
  running: ['running', 'Running'],
  promoted: ['ok', 'Promoted'],
  rolled_back: ['failed', 'Rolled back'],
  canceled: ['neutral', 'Canceled'],
};

const rounded = (value: number): string => String(Number(value.toPrecision(value >= 100 ? 4 : 2)));
const failed = ({ failures, requests }: Seen): string =>
  requests === 0 ? '–' : `${rounded((100 * failures) / requests)} %`;
const ms = (value: number | null): string => (value === null ? '–' : `${rounded(value)} ms`);

/** A value of the new deployment, and that of the previous deployment. */
function both(of: (seen: Seen) => string): Column<Step>['cell'] {
  return ({ now, before }) => (now === null || before === null ? '–' : `${of(now)} / ${of(before)}`);
}

const columns: readonly Column<Step>[] = [
  { id: 'percent', header: 'Visitors', isFitted: true, phone: 'first', cell: ({ percent }) => `${percent} %` },
  { id: 'requests', header: 'Requests', align: 'end', isFitted: true, cell: both(({ requests }) => String(requests)) },
  { id: 'failed', header: 'Failed', align: 'end', isFitted: true, cell: both(failed) },
  { id: 'p99', header: 'p99', align: 'end', isFitted: true, cell: both(({ p99Ms }) => ms(p99Ms)) },
  { id: 'cpu', header: 'CPU', align: 'end', isFitted: true, cell: both(({ cpuMs }) => ms(cpuMs)) },
  {
    id: 'verdict',
    header: 'Decision',
    cell: ({ verdict }) => <span style={{ whiteSpace: 'normal' }}>{verdict ?? 'Not judged yet'}</span>,
  },
];

export function GuardedRelease({ deployment: { guardedRelease } }: { readonly deployment: Deployment }) {
  if (guardedRelease === null) return null;
  const { state, settings, steps, reason } = guardedRelease;
  const [tone, word] = states[state];
  return (
    <Section title="Guarded release" actions={<State tone={tone}>{word}</State>}>
      <p className={styles.soft}>
        {reason === null ? stepsSentence(settings) : `${reason}.`} Values are those of this deployment / the previous
        one.
      </p>
      <Table label="Steps" columns={columns} rows={steps} rowKey={({ startedAt }) => startedAt} />
    </Section>
  );
}
