// The sidebar: project switcher, entries of the project, account. On small screens, shell.tsx renders it in a sheet.
import {
  ArchiveIcon,
  BellIcon,
  CaretSortIcon,
  CubeIcon,
  DesktopIcon,
  FileTextIcon,
  EnvelopeClosedIcon,
  HeartIcon,
  LockClosedIcon,
  PersonIcon,
  RocketIcon,
} from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { Link, useRouterState } from '@tanstack/react-router';
import { Button } from '../components/button.tsx';
import { Menu, MenuChoice, MenuLine, MenuLink, MenuTitle } from '../components/menu.tsx';
import { mode } from '../state/mode.ts';
import { projectsQuery, userQuery } from '../queries/account.ts';
import { prefer, usePreferences } from '../state/preferences.ts';
import { navigationEntries } from './navigation-entries.ts';
import styles from './shell.module.css';
import { usePlace } from './use-place.ts';

/** Projects listed in the switcher; the command palette finds the others. */
const LISTED_MAX = 12;

export function Navigation() {
  const { ref } = usePlace();
  return (
    <>
      {mode === 'production' ? <ProjectSwitcher current={ref} /> : <DevHead name={ref} />}
      <nav aria-label={ref === null ? 'Platform' : ref} className={styles.nav}>
        {ref === null ? <PlatformEntries /> : <ProjectEntries project={ref} />}
      </nav>
      <div className={styles.foot}>
        <a
          className={styles.entry}
          href={mode === 'production' ? '/docs/' : 'https://github.com'}
          hidden={mode === 'dev'}
        >
          <FileTextIcon />
          Documentation
        </a>
        {mode === 'production' ? <PersonMenu /> : <PreferencesMenu />}
      </div>
    </>
  );
}

function PlatformEntries() {
  const { data: user } = useQuery({ ...userQuery, enabled: mode === 'production' });
  return (
    <>
      <Link to="/" className={styles.entry} activeOptions={{ exact: true }}>
        <CubeIcon />
        Projects
      </Link>
      {user?.organizations.map(({ id, slug, name }) => (
        <Link key={id} to="/orgs/$org" params={{ org: slug }} className={styles.entry}>
          <PersonIcon />
          {name}
        </Link>
      ))}
      <Link to="/account" className={styles.entry}>
        <LockClosedIcon />
        Account
      </Link>
      {user?.isOperator === true && (
        <>
          <span className={styles.group}>Platform</span>
          <Link to="/setup" className={styles.entry}>
            <RocketIcon />
            Setup
          </Link>
          <Link to="/operator/health" className={styles.entry}>
            <HeartIcon />
            Health
          </Link>
          <Link to="/operator/machines" className={styles.entry}>
            <DesktopIcon />
            Machines
          </Link>
          <Link to="/operator/backups" className={styles.entry}>
            <ArchiveIcon />
            Backups
          </Link>
          <Link to="/operator/mail" className={styles.entry}>
            <EnvelopeClosedIcon />
            Mail
          </Link>
          <Link to="/operator/alerts" className={styles.entry}>
            <BellIcon />
            Alerts
          </Link>
        </>
      )}
    </>
  );
}

function ProjectEntries({ project }: { readonly project: string }) {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  return navigationEntries
    .filter((entry) => entry.modes.includes(mode))
    .map(({ title, Icon, path: below }) => {
      const to = `/projects/${project}${below === '' ? '' : `/${below}`}`;
      // The entry of deployments is also current on the page of a deployment, whose URL is outside the project, and on
      // the tab of previews.
      const isCurrent =
        below === ''
          ? path === to || path === `${to}/`
          : path === to ||
            path.startsWith(`${to}/`) ||
            (below === 'deployments' && (path.startsWith('/deployments/') || path === `/projects/${project}/previews`));
      return (
        <Link
          key={below}
          to={to}
          className={styles.entry}
          aria-current={isCurrent ? 'page' : undefined}
          activeOptions={{ exact: true }}
        >
          <Icon />
          {title}
        </Link>
      );
    });
}

function ProjectSwitcher({ current }: { readonly current: string | null }) {
  const { data: projects = [] } = useQuery(projectsQuery());
  const trigger = (
    <Button className={styles.switcher}>
      <span className={styles.mark} aria-hidden>
        {(current ?? 'p').slice(0, 1).toUpperCase()}
      </span>
      <strong>{current ?? 'platform'}</strong>
      <span className="visually-hidden">: switch project</span>
      <CaretSortIcon />
    </Button>
  );
  return (
    <Menu trigger={trigger} align="start">
      <MenuTitle>Projects</MenuTitle>
      {projects.slice(0, LISTED_MAX).map(({ id, name }) => (
        <MenuLink key={id} to="/projects/$project" params={{ project: name }}>
          {name}
        </MenuLink>
      ))}
      <MenuLine />
      <MenuLink to="/">All projects</MenuLink>
      <MenuLink to="/new">New project</MenuLink>
    </Menu>
  );
}

function DevHead({ name }: { readonly name: string | null }) {
  return (
    <div className={styles.entry}>
      <span className={styles.mark} aria-hidden>
        {(name ?? 'p').slice(0, 1).toUpperCase()}
      </span>
      <strong>{name ?? 'platform dev'}</strong>
    </div>
  );
}

function Choices() {
  const { theme, timeZone } = usePreferences();
  return (
    <>
      <MenuChoice
        title="Theme"
        value={theme}
        choices={[
          ['system', 'System'],
          ['light', 'Light'],
          ['dark', 'Dark'],
        ]}
        onChoose={(next) => prefer({ theme: next })}
      />
      <MenuLine />
      <MenuChoice
        title="Time zone"
        value={timeZone}
        choices={[
          ['local', Intl.DateTimeFormat().resolvedOptions().timeZone],
          ['UTC', 'UTC'],
        ]}
        onChoose={(next) => prefer({ timeZone: next })}
      />
    </>
  );
}

function PreferencesMenu() {
  return (
    <Menu trigger={<Button className={styles.person}>Theme and time zone</Button>} align="start">
      <Choices />
    </Menu>
  );
}

function PersonMenu() {
  const { data: user } = useQuery(userQuery);
  const trigger = (
    <Button className={styles.person}>
      <span className={styles.mark} aria-hidden>
        {(user?.login ?? '·').slice(0, 1).toUpperCase()}
      </span>
      <span>{user?.login ?? 'Account'}</span>
      <span className="visually-hidden">: account</span>
    </Button>
  );
  return (
    <Menu trigger={trigger} align="start">
      <MenuTitle>{user === undefined ? 'Signed in' : `Signed in as ${user.login}`}</MenuTitle>
      {user?.organizations.map(({ id, slug, name }) => (
        <MenuLink key={id} to="/orgs/$org" params={{ org: slug }}>
          {name}
        </MenuLink>
      ))}
      <MenuLink to="/account">Tokens and sessions</MenuLink>
      {user?.isOperator === true && <MenuLink to="/setup">Platform setup</MenuLink>}
      {user?.isOperator === true && <MenuLink to="/operator/health">Platform health</MenuLink>}
      {user?.isOperator === true && <MenuLink to="/operator/machines">Platform machines</MenuLink>}
      {user?.isOperator === true && <MenuLink to="/operator/backups">Platform backups</MenuLink>}
      {user?.isOperator === true && <MenuLink to="/operator/mail">Platform mail</MenuLink>}
      <MenuLine />
      <Choices />
      <MenuLine />
      <form method="post" action="/api/auth/sign-out" style={{ padding: 4 }}>
        <Button type="submit" size="small" style={{ width: '100%' }}>
          Sign out
        </Button>
      </form>
    </Menu>
  );
}
