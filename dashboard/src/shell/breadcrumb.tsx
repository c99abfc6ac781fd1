// Breadcrumbs. A page is named by its navigation entry, or by its path.
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useRouterState } from '@tanstack/react-router';
import { shortened } from '../components/id.tsx';
import { sentenceText } from '../components/text.ts';
import { mode } from '../state/mode.ts';
import { userQuery } from '../queries/account.ts';
import { navigationEntries } from './navigation-entries.ts';
import styles from './shell.module.css';
import { usePlace } from './use-place.ts';

export function Breadcrumb() {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const { ref } = usePlace();
  const { org, trace } = useParams({ strict: false }) as { org?: string; trace?: string };
  const { data: user } = useQuery({ ...userQuery, enabled: org !== undefined });
  const organization = user?.organizations.find(({ slug }) => slug === org)?.name ?? org ?? '';
  const crumbs = crumbsOf(path, { project: ref, organization, trace: trace ?? null });
  return (
    <nav aria-label="Breadcrumb" style={{ flex: 1, minWidth: 0 }}>
      <ol className={styles.crumbs}>
        {crumbs.map(({ title, to }, at) => (
          <li key={`${at}-${title}`}>
            {at === crumbs.length - 1 ? (
              <span aria-current="page">{title}</span>
            ) : (
              <Link to={to} activeOptions={{ exact: true }}>
                {title}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

interface Names {
  readonly project: string | null;
  readonly organization: string;
  /** ID of the shown trace. */
  readonly trace: string | null;
}

function crumbsOf(path: string, { project, organization, trace }: Names): { title: string; to: string }[] {
  const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  const isOfProject = !['orgs', 'operator', 'account', 'setup'].includes(parts[0] ?? '');
  const crumbs = mode === 'production' && isOfProject ? [{ title: 'Projects', to: '/' }] : [];
  if (project !== null) crumbs.push({ title: project, to: `/projects/${project}` });
  if (parts[0] === 'deployments') {
    if (project !== null) crumbs.push({ title: 'Deployments', to: `/projects/${project}/deployments` });
    crumbs.push({ title: parts[1] ?? '', to: path });
  }
  const below = parts[0] === 'projects' ? parts.slice(2) : [];
  for (const [at, part] of below.entries()) {
    const page = below.slice(0, at + 1).join('/');
    const title =
      part === trace
        ? shortened(trace, TRACE_CHARS)
        : (at === 0 && navigationEntries.find((entry) => entry.path === part)?.title) || pageText(part, page);
    crumbs.push({ title, to: `/projects/${project}/${page}` });
  }
  if (parts[0] === 'orgs') {
    crumbs.push({ title: organization, to: `/orgs/${parts[1]}` });
    if (parts[2] !== undefined) crumbs.push({ title: pageText(parts[2]), to: path });
  } else if (parts[0] === 'operator')
    crumbs.push({ title: 'Platform', to: '/operator/health' }, { title: pageText(parts[1] ?? ''), to: path });
  else if (parts[0] !== undefined && parts[0] !== 'projects' && parts[0] !== 'deployments')
    crumbs.push({ title: parts[0] === 'new' ? 'New project' : pageText(parts[0]), to: path });
  return crumbs;
}

const TRACE_CHARS = 16;

/** Pages whose name differs from their path. */
const pageNames: Readonly<Record<string, string>> = {
  ai: 'AI',
  'analytics/usage': 'CPU budgets',
  audit: 'Audit log',
  drains: 'Log drains',
  hooks: 'Deploy hooks',
};

/** Names of bindings are shown unchanged. */
function pageText(part: string, page: string = part): string {
  return pageNames[page] ?? pageNames[part] ?? (/^[A-Z][A-Z0-9_]*$/.test(part) ? part : sentenceText(part));
}
