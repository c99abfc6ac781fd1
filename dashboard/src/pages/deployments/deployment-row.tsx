// The columns of lists of deployments.
import { Link } from '@tanstack/react-router';
import { MenuItem, MenuLine, MenuLink, MenuOutsideLink, ActionsMenu } from '../../components/menu.tsx';
import type { Column } from '../../components/table.tsx';
import { Duration, Time } from '../../components/time.tsx';
import { hasEnded, titleOf, type Deployment } from '../../queries/deployments.ts';
import styles from './deployments.module.css';
import { actionsOf, type DeploymentAction } from './deployment-actions.tsx';
import { DeploymentState, TargetBadge } from './deployment-state.tsx';

/** @param act opens the confirmation of an action. */
export function deploymentColumns(
  act: (action: DeploymentAction, deployment: Deployment) => void,
): readonly Column<Deployment>[] {
  return [
    {
      id: 'deployment',
      header: 'Deployment',
      phone: 'first',
      cell: (one) => (
        <Link className={styles.title} to="/deployments/$deployment" params={{ deployment: one.id }}>
          {titleOf(one)}
        </Link>
      ),
    },
    {
      id: 'state',
      header: 'Status',
      isFitted: true,
      phone: 'first-end',
      cell: (one) => <DeploymentState deployment={one} />,
    },
    { id: 'target', header: 'Environment', isFitted: true, cell: (one) => <TargetBadge deployment={one} /> },
    {
      id: 'branch',
      header: 'Branch',
      isFitted: true,
      cell: (one) => (
        <span className={styles.branch}>
          <span className={styles.branchName}>{one.branch}</span>
          {one.commitSha !== null && <code>{one.commitSha.slice(0, 7)}</code>}
        </span>
      ),
    },
    {
      id: 'author',
      isExtra: true,
      header: 'Author',
      isFitted: true,
      phone: 'hidden',
      cell: (one) => <span className={styles.soft}>{one.author ?? ''}</span>,
    },
    {
      id: 'duration',
      isExtra: true,
      header: 'Duration',
      align: 'end',
      isFitted: true,
      phone: 'hidden',
      cell: (one) => (
        <span className={styles.soft}>
          <Duration from={one.createdAt} to={hasEnded(one) ? (one.readyAt ?? one.updatedAt) : null} />
        </span>
      ),
    },
    {
      id: 'age',
      header: 'Created',
      align: 'end',
      isFitted: true,
      cell: (one) => (
        <span className={styles.soft}>
          <Time at={one.createdAt} />
        </span>
      ),
    },
    {
      id: 'menu',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'hidden',
      cell: (one) => (
        <ActionsMenu of={titleOf(one)}>
          <MenuLink to="/deployments/$deployment" params={{ deployment: one.id }}>
            Open
          </MenuLink>
          {one.url !== null && <MenuOutsideLink href={one.url}>Visit</MenuOutsideLink>}
          <MenuLine />
          {actionsOf(one).map(({ action, title }) => (
            <MenuItem key={action} onSelect={() => act(action, one)} isDanger={action === 'cancel'}>
              {title}
            </MenuItem>
          ))}
        </ActionsMenu>
      ),
    },
  ];
}
