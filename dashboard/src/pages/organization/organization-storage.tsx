// Storage of an organization by kind and project, with the limit of its plan.
import { useQuery } from '@tanstack/react-query';
import { ErrorState, Notice } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { shareText } from '../../queries/usage.ts';
import { storageQuery, type Storage } from '../../queries/storage.ts';
import styles from '../analytics/usage.module.css';
import { bytesText } from '../storage/value.tsx';

type Project = Storage['projects'][number];
type Kind = Storage['kinds'][number]['kind'];

/** Names that are not the capitalized kind. */
const otherWords: Readonly<Partial<Record<Kind, string>>> = {
  workflows: 'Timers and workflows',
  artifacts: 'Deployments',
  caches: 'Build caches',
};
const wordsOf = (kind: Kind): string => otherWords[kind] ?? `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
const PROJECTS_SHOWN = 10;

const columns: readonly Column<Project>[] = [
  {
    id: 'project',
    header: 'Project',
    phone: 'first',
    cell: ({ name, isDeleted }) => (isDeleted ? `${name} (deleted)` : name),
  },
  { id: 'bytes', header: 'Size', align: 'end', phone: 'first-end', cell: ({ bytes }) => bytesText(bytes) },
  {
    id: 'kinds',
    header: 'Largest kinds',
    width: '50%',
    cell: ({ kinds }) =>
      kinds
        .slice(0, 3)
        .map(({ kind, bytes }) => `${wordsOf(kind)} ${bytesText(bytes)}`)
        .join(', '),
  },
];

export function OrganizationStorage({ organizationId }: { readonly organizationId: string }) {
  const { data, error, refetch } = useQuery(storageQuery(organizationId));
  return (
    <Section title="Storage">
      {data !== undefined ? (
        <Kept storage={data} />
      ) : error === null ? (
        <SkeletonRows rows={2} />
      ) : (
        <ErrorState title="Could not load the storage" error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}

function Kept({ storage }: { readonly storage: Storage }) {
  const { bytes, limitBytes, isFull, plan, countedAt, kinds, projects } = storage;
  const share = limitBytes === null ? 0 : bytes / limitBytes;
  const words = limitBytes === null ? bytesText(bytes) : `${bytesText(bytes)} of ${bytesText(limitBytes)}`;
  return (
    <>
      {isFull && (
        <Notice tone="failed" title="Storage limit reached">
          Writes, builds and deployments fail until you delete data or change the plan. Reads and deletes work.
        </Notice>
      )}
      <div className={styles.budget}>
        <div className={styles.top}>
          <strong>{words}</strong>
          <span className={styles.share}>
            {limitBytes === null ? `no limit (${plan} plan)` : `${shareText(share)} of the ${plan} plan`}
          </span>
        </div>
        {limitBytes !== null && (
          <div className={styles.track} role="img" aria-label={`Storage: ${words}`}>
            <div
              className={styles.fill}
              data-tone={share >= 0.9 ? 'failed' : share >= 0.6 ? 'warning' : 'ok'}
              style={{ width: `${Math.min(100, share * 100)}%` }}
            />
          </div>
        )}
        <div className={styles.small}>
          {kinds.map(({ kind, bytes: ofKind }) => (
            <span key={kind}>
              {wordsOf(kind)} {bytesText(ofKind)}
            </span>
          ))}
          {countedAt !== null && (
            <span>
              measured <Time at={countedAt} />
            </span>
          )}
        </div>
      </div>
      {projects.length > 0 && (
        <Table
          label="Largest projects"
          columns={columns}
          rows={projects.slice(0, PROJECTS_SHOWN)}
          rowKey={({ projectId }) => projectId}
        />
      )}
    </>
  );
}
