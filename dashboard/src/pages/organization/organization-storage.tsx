// Storage of an organization by kind and project, with the limit of its plan; removes data of deleted projects.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmByName } from '../../components/confirm.tsx';
import { Notice } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.ts';
import { Unloaded } from '../../components/unloaded.tsx';
import type { FullOrganization } from '../../queries/organization.ts';
import { shareText } from '../../queries/usage.ts';
import { storageQuery, type Storage } from '../../queries/storage.ts';
import styles from '../analytics/usage.module.css';
import { bytesText } from '../storage/value.tsx';
import { isAdmin } from './organization-page.tsx';

type Project = Storage['projects'][number];
type Kind = Storage['kinds'][number]['kind'];

/** Display names of kinds whose name is not the capitalized kind. */
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
    cell: ({ name, isDeleted, dataDueAt }) => (
      <>
        {isDeleted ? `${name} (deleted)` : name}
        {dataDueAt !== null && (
          <div className={styles.share}>
            {isRemoving(dataDueAt) ? 'Data is being removed' : `Data is removed on ${dayText(dataDueAt)}`}
          </div>
        )}
      </>
    ),
  },
  { id: 'bytes', header: 'Size', align: 'end', phone: 'first-end', cell: ({ bytes }) => bytesText(bytes) },
  {
    id: 'kinds',
    header: 'Largest kinds',
    width: '40%',
    cell: ({ kinds }) =>
      kinds
        .slice(0, 3)
        .map(({ kind, bytes }) => `${wordsOf(kind)} ${bytesText(bytes)}`)
        .join(', '),
  },
];

const isRemoving = (dataDueAt: string): boolean => Date.parse(dataDueAt) <= Date.now();
const dayText = (at: string): string => new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' });

export function OrganizationStorage({ organization }: { readonly organization: FullOrganization }) {
  const { data, error, refetch } = useQuery(storageQuery(organization.id));
  return (
    <Section title="Storage">
      {data === undefined ? (
        <Unloaded what="the storage" error={error} refetch={refetch} rows={2} />
      ) : (
        <Kept storage={data} organization={organization} />
      )}
    </Section>
  );
}

function Kept({ storage, organization }: { readonly storage: Storage; readonly organization: FullOrganization }) {
  const [asked, setAsked] = useState<string | null>(null);
  const { bytes, limitBytes, isFull, plan, countedAt, kinds, projects } = storage;
  const removal: Column<Project> = {
    id: 'removal',
    header: 'Actions',
    isHeaderHidden: true,
    isFitted: true,
    cell: (project) => mayRemove(project) && <Button onClick={() => setAsked(project.name)}>Remove data now</Button>,
  };
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
          columns={isAdmin(organization) && projects.some(mayRemove) ? [...columns, removal] : columns}
          rows={projects.slice(0, PROJECTS_SHOWN)}
          rowKey={({ projectId }) => projectId}
        />
      )}
      {asked !== null && <DataRemoval organizationId={organization.id} name={asked} onClose={() => setAsked(null)} />}
    </>
  );
}

/** Confirms the removal of a deleted project's data. */
function DataRemoval(props: { readonly organizationId: string; readonly name: string; readonly onClose: () => void }) {
  const { organizationId, name, onClose } = props;
  const remove = useChange({
    queryKey: storageQuery(organizationId).queryKey,
    act: () => dataOf(api.delete('/orgs/:id/storage/:name', { params: { id: organizationId, name } })),
    failed: `Could not remove the data of ${name}`,
    onDone: () => {
      noteDone(`The data of ${name} is being removed`);
      onClose();
    },
  });
  return (
    <ConfirmByName
      isOpen
      onClose={onClose}
      name={name}
      title={`Remove the data of ${name}?`}
      action="Remove data"
      onConfirm={() => remove.mutate(undefined)}
      isPending={remove.isPending}
      error={remove.problem}
    >
      Its databases, state, files, messages and workflow runs are deleted. This cannot be undone.
    </ConfirmByName>
  );
}

const mayRemove = ({ dataDueAt }: Project): boolean => dataDueAt !== null && !isRemoving(dataDueAt);
