// What needs attention on a project's overview: a build in progress, firing alerts, and the last failed request or
// event with the line that says why.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ButtonLink } from '../../components/button.tsx';
import { Notice } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { State } from '../../components/state.tsx';
import { Time } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { titleOf, type Deployment } from '../../queries/deployments.ts';
import { invocationQuery, lastFailureQuery, type StoredInvocation } from '../../queries/logs.ts';
import { rulesQuery } from '../alerts/alert-calls.ts';
import { FiringNotice } from '../alerts/firing-notice.tsx';
import deploymentStyles from '../deployments/deployments.module.css';
import { DeploymentState } from '../deployments/deployment-state.tsx';
import { failureLine } from './failure-line.ts';
import styles from './overview.module.css';

/** A deployment that has not finished. */
export function Building({ deployment }: { readonly deployment: Deployment }) {
  return (
    <Notice tone="running">
      <div className={deploymentStyles.meta}>
        <DeploymentState deployment={deployment} />
        <span>{titleOf(deployment)}</span>
        <Link className="link" to="/deployments/$deployment" params={{ deployment: deployment.id }}>
          Follow the build
        </Link>
      </div>
    </Notice>
  );
}

export function FiringAlerts({ project }: { readonly project: Project }) {
  const { data } = useQuery(rulesQuery(project.id));
  const firing = data?.filter(({ state }) => state === 'firing') ?? [];
  return <FiringNotice total={firing.length} rules={firing.map((rule) => ({ ...rule, project: project.name }))} />;
}

export function LastFailure({ project }: { readonly project: Project }) {
  const { data: failed } = useQuery(lastFailureQuery(project.id));
  return failed == null ? null : <Failure project={project} failed={failed} />;
}

function Failure({ project, failed }: { readonly project: Project; readonly failed: StoredInvocation }) {
  const { data } = useQuery(invocationQuery(project.id, failed.id));
  const { method, path, kind, route, status, outcome } = failed;
  const line = data === undefined ? null : failureLine(data);
  return (
    <Section
      title="Last failure"
      actions={
        <>
          <ButtonLink
            variant="ghost"
            size="small"
            to="/projects/$project/logs/requests"
            params={{ project: project.name }}
            search={{ outcome: 'failed', range: '24h' }}
          >
            All failures
          </ButtonLink>
          <ButtonLink
            size="small"
            to="/projects/$project/logs/requests"
            params={{ project: project.name }}
            search={{ outcome: 'failed', range: '24h', invocation: failed.id }}
          >
            View log
          </ButtonLink>
        </>
      }
    >
      <div className={styles.failure}>
        <p className={deploymentStyles.meta}>
          <State tone="failed">{outcome === 'ok' ? String(status) : outcome.replaceAll('_', ' ')}</State>
          <code>{method === '' ? `${kind} ${route}` : `${method} ${path}`}</code>
          <Time at={failed.at} />
        </p>
        {line === null ? (
          <Skeleton height={40} />
        ) : (
          <pre className={styles.line} dir="auto">
            {line.message}
            {line.place !== null && <span className={styles.place}>{`\n    at ${line.place}`}</span>}
          </pre>
        )}
      </div>
    </Section>
  );
}
