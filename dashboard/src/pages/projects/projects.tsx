// The projects of the account, the last deployed first, with URL and last deployment.
import { CubeIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { Link, Navigate, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ButtonLink } from '../../components/button.tsx';
import { Input } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Filters, Page } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { mode } from '../../state/mode.ts';
import {
  projectIconsQuery,
  projectQuery,
  projectsQuery,
  userQuery,
  type ListedProject,
} from '../../queries/account.ts';
import { titleOf } from '../../queries/deployments.ts';
import { DeploymentState } from '../deployments/deployment-state.tsx';
import styles from './projects.module.css';

const LOOK_MS = 15_000;
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
      <Unloaded one="project" error={error} refetch={refetch} />
    </Page>
  );
}

function Projects() {
  const { data: projects, error, refetch } = useQuery({ ...projectsQuery(), refetchInterval: LOOK_MS });
  const newProject = (
    <ButtonLink variant="primary" to="/new">
      New project
    </ButtonLink>
  );
  return (
    <Page title="Projects" actions={projects !== undefined && projects.length > 0 && newProject}>
      {projects === undefined ? (
        <Unloaded what="the projects" error={error} refetch={refetch} />
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

function ProjectList({ projects }: { readonly projects: readonly ListedProject[] }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState('');
  const { data: user } = useQuery(userQuery);
  const { data: icons } = useQuery(projectIconsQuery(projects));
  const word = typed.trim().toLowerCase();
  const shown = projects.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(word));
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
            organizations.length > 1 ? new Map(organizations.map(({ id, name }) => [id, name])) : null,
            icons,
          )}
          rows={shown}
          rowKey={({ id }) => id}
          onOpen={({ name }) => void navigate({ to: '/projects/$project', params: { project: name } })}
        />
      )}
    </>
  );
}

/** The icon of a site, or the first letter of its project. */
function Mark({ name, icon }: { readonly name: string; readonly icon: string | null }) {
  const [broken, setBroken] = useState<string | null>(null);
  return icon === null || icon === broken ? (
    <span className={styles.mark} aria-hidden>
      {name.slice(0, 1).toUpperCase()}
    </span>
  ) : (
    <img className={styles.icon} src={icon} alt="" onError={() => setBroken(icon)} />
  );
}

/**
 * @param organizations names of organizations by ID; null hides them.
 * @param icons icons by the ID of the project; undefined until they are loaded.
 */
function columnsOf(
  organizations: ReadonlyMap<string, string> | null,
  icons: ReadonlyMap<string, string> | undefined,
): Column<ListedProject>[] {
  return [
    {
      id: 'name',
      header: 'Project',
      width: '28%',
      phone: 'first',
      cell: ({ id, name }) => (
        <Link className={styles.name} to="/projects/$project" params={{ project: name }}>
          <Mark name={name} icon={icons?.get(id) ?? null} />
          <span className={styles.nameText}>{name}</span>
        </Link>
      ),
    },
    {
      id: 'live',
      header: 'Production',
      isFitted: true,
      cell: ({ productionDeploymentId }) =>
        productionDeploymentId === null ? <State tone="neutral">Not live</State> : <State tone="ok">Live</State>,
    },
    {
      id: 'url',
      isExtra: true,
      header: 'URL',
      width: '24%',
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
            cell: ({ organizationId }: ListedProject) => (
              <span className={styles.soft}>{organizations.get(organizationId)}</span>
            ),
          },
        ]),
    {
      id: 'last',
      header: 'Last deployment',
      cell: ({ lastDeployment: last }) =>
        last === null ? (
          <span className={styles.faint}>No deployments yet</span>
        ) : (
          <Link className={styles.soft} to="/deployments/$deployment" params={{ deployment: last.id }}>
            {titleOf(last)}
          </Link>
        ),
    },
    {
      id: 'state',
      header: 'Status',
      isFitted: true,
      phone: 'first-end',
      cell: ({ lastDeployment: last }) => last !== null && <DeploymentState deployment={last} />,
    },
    {
      id: 'age',
      header: 'Deployed',
      align: 'end',
      isFitted: true,
      cell: ({ lastDeployment: last }) =>
        last !== null && (
          <span className={styles.soft}>
            <Time at={last.createdAt} />
          </span>
        ),
    },
  ];
}
