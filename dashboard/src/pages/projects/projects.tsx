// The projects of the account, with URL and last deployment.
import { CubeIcon } from '@radix-ui/react-icons';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link, Navigate, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ButtonLink } from '../../components/button.tsx';
import { Input } from '../../components/field.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { Filters, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { api, dataOf } from '../../api/client.ts';
import { mode } from '../../mode.ts';
import { projectQuery, projectsQuery, userQuery, type Project } from '../../queries/account.ts';
import { titleOf, type Deployment } from '../../queries/deployments.ts';
import { DeploymentState } from '../deployments/deployment-row.tsx';
import styles from './projects.module.css';

/** Number of projects whose last deployment is loaded. */
const LOOKED_AT_MAX = 30;
const FILTER_FROM = 6;

export function ProjectsPage() {
  // `platform dev` has one project and opens it.
  return mode === 'dev' ? <DevProject /> : <Projects />;
}

function DevProject() {
  const { data, error, refetch } = useQuery(projectQuery('dev'));
  if (data !== undefined) return <Navigate to="/projects/$project" params={{ project: data.name }} replace />;
  return (
    <Page title="platform dev">
      {error === null ? (
        <SkeletonRows />
      ) : (
        <ErrorState title="Could not load the project" error={error} onRetry={() => void refetch()} />
      )}
    </Page>
  );
}

function Projects() {
  const { data: projects, error, refetch } = useQuery(projectsQuery());
  const newProject = (
    <ButtonLink variant="primary" to="/new">
      New project
    </ButtonLink>
  );
  return (
    <Page title="Projects" actions={projects !== undefined && projects.length > 0 && newProject}>
      {projects === undefined ? (
        error === null ? (
          <SkeletonRows />
        ) : (
          <ErrorState title="Could not load the projects" error={error} onRetry={() => void refetch()} />
        )
      ) : projects.length === 0 ? (
        <EmptyState icon={<CubeIcon />} title="Create your first project" action={newProject}>
          A project is a worker, static files, or both. Connect a Git repository, or deploy a folder from your machine.
        </EmptyState>
      ) : (
        <ProjectList projects={projects} />
      )}
    </Page>
  );
}

function ProjectList({ projects }: { readonly projects: readonly Project[] }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const { data: user } = useQuery(userQuery);
  const word = typed.trim().toLowerCase();
  const shown = projects.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(word));
  const newest = useQueries({
    queries: shown.slice(0, LOOKED_AT_MAX).map(({ id }) => ({
      queryKey: ['newest', id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        dataOf(api.get('/deployments', { query: { projectId: id, limit: 1 }, signal })),
      staleTime: 10_000,
    })),
    combine: (results) =>
      new Map(
        results.flatMap(({ data }) =>
          data?.items[0] === undefined ? [] : [[data.items[0].projectId, data.items[0]] as const],
        ),
      ),
  });
  const organizations = user?.organizations ?? [];
  return (
    <>
      {projects.length >= FILTER_FROM && (
        <Filters>
          <Input
            aria-label="Search projects"
            placeholder="Search projects"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </Filters>
      )}
      {shown.length === 0 ? (
        <EmptyState title="No results" />
      ) : (
        <Table
          label="Projects"
          columns={columnsOf(
            newest,
            organizations.length > 1 ? new Map(organizations.map(({ id, name }) => [id, name])) : null,
          )}
          rows={shown}
          rowKey={({ id }) => id}
          onOpen={({ name }) => void navigate({ to: '/projects/$project', params: { project: name } })}
        />
      )}
    </>
  );
}

function columnsOf(
  newest: ReadonlyMap<string, Deployment>,
  organizations: ReadonlyMap<string, string> | null,
): Column<Project>[] {
  return [
    {
      id: 'name',
      header: 'Project',
      width: '30%',
      phone: 'first',
      cell: ({ name }) => (
        <Link className={styles.name} to="/projects/$project" params={{ project: name }}>
          <span className={styles.mark} aria-hidden>
            {name.slice(0, 1).toUpperCase()}
          </span>
          <span className={styles.nameText}>{name}</span>
        </Link>
      ),
    },
    {
      id: 'live',
      header: 'Production',
      isFitted: true,
      phone: 'first-end',
      cell: ({ productionDeploymentId }) =>
        productionDeploymentId === null ? <State tone="neutral">Not live</State> : <State tone="ok">Live</State>,
    },
    {
      id: 'url',
      isExtra: true,
      header: 'URL',
      phone: 'hidden',
      cell: ({ deploymentUrl }) =>
        deploymentUrl !== null && (
          <a className="link" href={deploymentUrl} target="_blank" rel="noreferrer">
            {deploymentUrl.replace(/^https?:\/\//, '')}
          </a>
        ),
    },
    ...(organizations === null
      ? []
      : [
          {
            id: 'organization',
            header: 'Organization',
            isFitted: true,
            cell: ({ organizationId }: Project) => (
              <span className={styles.soft}>{organizations.get(organizationId)}</span>
            ),
          },
        ]),
    {
      id: 'newest',
      header: 'Last deployment',
      cell: ({ id }) => {
        const deployment = newest.get(id);
        return deployment === undefined ? (
          <span className={styles.faint}>none yet</span>
        ) : (
          <span className={styles.soft}>{titleOf(deployment)}</span>
        );
      },
    },
    {
      id: 'state',
      header: 'Status',
      isFitted: true,
      phone: 'hidden',
      cell: ({ id }) => {
        const deployment = newest.get(id);
        return deployment !== undefined && <DeploymentState deployment={deployment} />;
      },
    },
    {
      id: 'age',
      header: 'Deployed',
      align: 'end',
      isFitted: true,
      cell: ({ id }) => {
        const deployment = newest.get(id);
        return (
          deployment !== undefined && (
            <span className={styles.soft}>
              <Time at={deployment.createdAt} />
            </span>
          )
        );
      },
    },
  ];
}
