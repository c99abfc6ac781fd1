// Migrations recorded by the migrator, for a deployment or a database.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CursorList } from '../../components/cursor-list.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { durationText, Time } from '../../components/time.tsx';
import { hasEnded, type Deployment } from '../../queries/deployments.ts';
import { migrationsQuery, type Migration } from '../../queries/migrations.ts';
import { resourcesQuery, type BindingPlace } from '../../queries/resources.ts';
import styles from './migrations.module.css';

const results: Readonly<Record<Migration['result'], readonly [tone: Tone, word: string]>> = {
  running: ['running', 'Running'],
  applied: ['ok', 'Applied'],
  failed: ['failed', 'Failed'],
  changed: ['warning', 'Changed'],
};

const file: Column<Migration> = {
  id: 'file',
  header: 'File',
  phone: 'first',
  cell: (one) => (
    <>
      <code title={`SHA-256 ${one.sha256}`}>{one.file}</code>
      {one.errorMessage !== null && <p className={styles.reason}>{one.errorMessage}</p>}
    </>
  ),
};
const result: Column<Migration> = {
  id: 'result',
  header: 'Result',
  isFitted: true,
  phone: 'first-end',
  cell: ({ result: became }) => {
    const [tone, word] = results[became];
    return <State tone={tone}>{word}</State>;
  },
};
const rest: readonly Column<Migration>[] = [
  {
    id: 'took',
    isExtra: true,
    header: 'Duration',
    align: 'end',
    isFitted: true,
    cell: ({ durationMs, attempt }) => (
      <span title={attempt > 1 ? `Attempt ${attempt}: earlier attempts were interrupted` : undefined}>
        {durationMs === null ? 'unknown' : durationText(durationMs)}
        {attempt > 1 && ` (attempt ${attempt})`}
      </span>
    ),
  },
  {
    id: 'who',
    isExtra: true,
    header: 'Author',
    isFitted: true,
    phone: 'hidden',
    cell: ({ requestedBy: { login, author }, appliedBy }) => (
      <span title={`Applied by ${appliedBy}`}>{login ?? author ?? 'the platform'}</span>
    ),
  },
  { id: 'at', header: 'Time', isFitted: true, cell: ({ startedAt }) => <Time at={startedAt} /> },
];
const database: Column<Migration> = {
  id: 'database',
  header: 'Database',
  isFitted: true,
  cell: ({ database: name, branch }) => (branch === null ? name : `${name} (${branch})`),
};
const deployment: Column<Migration> = {
  id: 'deployment',
  header: 'Deployment',
  isFitted: true,
  phone: 'hidden',
  cell: ({ deploymentId }) => (
    <Link className="link" to="/deployments/$deployment" params={{ deployment: deploymentId }}>
      {deploymentId}
    </Link>
  ),
};

/** Migrations of a deployment; renders nothing without any. */
export function DeploymentMigrations({ deployment: one }: { readonly deployment: Deployment }) {
  const { data } = useInfiniteQuery(migrationsQuery(one.projectId, { deploymentId: one.id }, !hasEnded(one)));
  const rows = data?.pages.flatMap(({ items }) => items) ?? [];
  if (rows.length === 0) return null;
  return (
    <Section title="Migrations">
      <Table label="Migrations" rows={rows} rowKey={({ id }) => id} columns={[file, result, database, ...rest]} />
    </Section>
  );
}

/** Migrations of a database, in production or a branch. */
export function DatabaseMigrations({ place }: { readonly place: BindingPlace }) {
  const { data } = useQuery(resourcesQuery(place));
  const resource = data?.items.find(({ kind, binding }) => kind === 'db' && binding === place.binding)?.resource;
  const wanted = { database: resource ?? place.binding, branch: place.branch ?? '' };
  const query = useInfiniteQuery({ ...migrationsQuery(place.id, wanted), enabled: data !== undefined });
  if (data === undefined) return <SkeletonRows />;
  return (
    <CursorList
      name="migrations"
      query={query}
      empty={
        <EmptyState title="No migrations yet">
          With DB_MIGRATIONS_EXECUTOR=migrator, lists each applied migration with author, time and duration, and whether
          the file was changed afterwards.
        </EmptyState>
      }
    >
      {(rows) => (
        <Table label="Migrations" rows={rows} rowKey={({ id }) => id} columns={[file, result, deployment, ...rest]} />
      )}
    </CursorList>
  );
}
