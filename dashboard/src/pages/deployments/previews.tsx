// The previews of a project: the latest deployment of each branch.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { CopyButton } from '../../components/copy-button.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Table, type Column } from '../../components/table.tsx';
import type { Project } from '../../queries/account.ts';
import { addressesQuery, deploymentsQuery, type Deployment } from '../../queries/deployments.ts';
import { useDeploymentActions, type DeploymentAction } from './deployment-actions.tsx';
import { deploymentColumns } from './deployment-row.tsx';
import { DeploymentsFrame } from './deployments-frame.tsx';
import styles from './deployments.module.css';

export function PreviewsPage() {
  return <DeploymentsFrame title="Previews">{(project) => <Previews project={project} />}</DeploymentsFrame>;
}

function Previews({ project }: { readonly project: Project }) {
  const navigate = useNavigate();
  const { data: addresses } = useQuery(addressesQuery);
  const query = useInfiniteQuery(deploymentsQuery(project.id, { target: 'preview' }));
  const { act, dialog } = useDeploymentActions();
  return (
    <>
      <CursorList
        name="previews"
        query={query}
        empty={
          <EmptyState
            title="No previews yet"
            commands={[
              `git switch -c my-change`,
              `git push ${addresses?.api ?? location.origin}/git/${project.name}.git my-change`,
              `platform deploy --name ${project.name} --branch my-change`,
            ]}
          >
            Every branch except {project.defaultBranch} gets its own URL and its own data. Push a branch, or deploy to
            one.
          </EmptyState>
        }
      >
        {(items) => (
          <Table
            label="Previews"
            columns={previewColumns(act)}
            rows={newestOfBranches(items)}
            rowKey={({ id }) => id}
            onOpen={({ id }) => void navigate({ to: '/deployments/$deployment', params: { deployment: id } })}
          />
        )}
      </CursorList>
      {dialog}
    </>
  );
}

function newestOfBranches(items: readonly Deployment[]): Deployment[] {
  const seen = new Set<string>();
  return items.filter(({ branch }) => !seen.has(branch) && seen.add(branch));
}

function previewColumns(act: (action: DeploymentAction, deployment: Deployment) => void): Column<Deployment>[] {
  const all = deploymentColumns(act);
  const column = (id: string): Column<Deployment> => all.find((one) => one.id === id)!;
  return [
    {
      id: 'name',
      header: 'Branch',
      phone: 'first',
      cell: ({ branch, pullRequest }) => (
        <span className={styles.title}>
          {branch} {pullRequest !== null && <span className={styles.faint}>#{pullRequest}</span>}
        </span>
      ),
    },
    column('state'),
    {
      id: 'address',
      header: 'URL',
      width: '38%',
      cell: ({ url, aliasUrls }) => {
        const shown = aliasUrls.at(-1) ?? url;
        return shown === null ? (
          <span className={styles.faint}>Not deployed yet</span>
        ) : (
          <span className={styles.branch}>
            <a className="link" href={shown} target="_blank" rel="noreferrer">
              {shown.replace(/^https?:\/\//, '')}
            </a>
            <CopyButton text={shown} label="Copy URL" />
          </span>
        );
      },
    },
    { ...column('deployment'), header: 'Latest commit', isExtra: true, phone: 'hidden' },
    column('age'),
    column('menu'),
  ];
}
