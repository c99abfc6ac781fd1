// Overview of a project: what needs attention, what is live and since when, the last hour, and recent deployments.
import { RocketIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { ButtonLink, OutsideLink } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { State } from '../../components/state.tsx';
import { Table } from '../../components/table.tsx';
import { countText } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { aiUsageQuery, costText } from '../../queries/ai.ts';
import { deploymentQuery, deploymentsQuery, hasEnded, titleOf, type Deployment } from '../../queries/deployments.ts';
import { domainsQuery, domainStates } from '../../queries/domains.ts';
import { useProject } from '../../shell/use-place.ts';
import { WithProject } from '../../shell/with-project.tsx';
import { useBuildLog } from '../deployments/build-log.tsx';
import { useDeploymentActions } from '../deployments/deployment-actions.tsx';
import { deploymentColumns } from '../deployments/deployment-row.tsx';
import { DeploymentState } from '../deployments/deployment-state.tsx';
import { FirstDeployment } from '../deployments/deployments.tsx';
import styles from '../deployments/deployments.module.css';
import { FailingLine } from '../deployments/failing-line.tsx';
import { Building, FiringAlerts, LastFailure } from './attention.tsx';
import { Calls } from './calls.tsx';
import { Health } from './health.tsx';
import own from './overview.module.css';

const RECENT = 8;

export function OverviewPage() {
  const { data: project } = useProject();
  if (project === undefined)
    return (
      <Page title="Overview">
        <WithProject>{() => null}</WithProject>
      </Page>
    );
  return (
    <Page
      title="Overview"
      heading={project.name}
      {...(project.description !== '' && { description: project.description })}
      actions={
        project.deploymentUrl !== null && (
          <OutsideLink variant="primary" href={project.deploymentUrl}>
            Visit
          </OutsideLink>
        )
      }
    >
      <Overview project={project} />
    </Page>
  );
}

function Overview({ project }: { readonly project: Project }) {
  const navigate = useNavigate();
  const query = useInfiniteQuery(deploymentsQuery(project.id, {}));
  const { act, dialog } = useDeploymentActions();
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const newest = items.find(({ target }) => target === 'production');
  const hasFailed = newest !== undefined && (newest.status === 'failure' || newest.status === 'timeout');
  // The list is refetched more often than the project: refetch the project when another deployment goes live.
  const liveId = items.find(({ isLive }) => isLive)?.id ?? project.productionDeploymentId;
  const queries = useQueryClient();
  useEffect(() => {
    if (liveId !== project.productionDeploymentId) void queries.invalidateQueries({ queryKey: ['project'] });
  }, [liveId, project.productionDeploymentId, queries]);
  const latest = items[0];
  const isEmpty = query.data !== undefined && items.length === 0;
  if (isEmpty) return <FirstDeployment project={project} />;
  return (
    <>
      {latest !== undefined && !hasEnded(latest) && <Building deployment={latest} />}
      <FiringAlerts project={project} />
      {hasFailed && <FailedDeployment deployment={newest} />}
      <Live project={project} liveId={liveId} />
      <Health project={project} />
      <Calls project={project} />
      <LastFailure project={project} />
      <Section
        title="Recent deployments"
        actions={
          <ButtonLink
            variant="ghost"
            size="small"
            to="/projects/$project/deployments"
            params={{ project: project.name }}
          >
            All deployments
          </ButtonLink>
        }
      >
        <CursorList name="deployments" query={{ ...query, hasNextPage: false } as typeof query} empty={null}>
          {(all) => (
            <Table
              label="Recent deployments"
              columns={deploymentColumns(act)}
              rows={all.slice(0, RECENT)}
              rowKey={({ id }) => id}
              onOpen={({ id }) => void navigate({ to: '/deployments/$deployment', params: { deployment: id } })}
            />
          )}
        </CursorList>
      </Section>
      {dialog}
    </>
  );
}

/** A section that is shown if the newest production deployment failed and an older deployment is live. */
function FailedDeployment({ deployment }: { readonly deployment: Deployment }) {
  const { lines } = useBuildLog(deployment);
  return (
    <Section
      title="Last deployment failed"
      actions={
        <ButtonLink size="small" to="/deployments/$deployment" params={{ deployment: deployment.id }}>
          View logs
        </ButtonLink>
      }
    >
      <p className={styles.meta}>
        <DeploymentState deployment={deployment} />
        <span>{titleOf(deployment)}</span>
        <Time at={deployment.createdAt} />
      </p>
      <FailingLine deployment={deployment} lines={lines} linkTo={null} />
    </Section>
  );
}

/** Custom domains that do not serve the project yet. */
function Domains({ project }: { readonly project: Project }) {
  const { data } = useQuery(domainsQuery(project.id));
  const waiting = data?.items.filter(({ status }) => status !== 'active') ?? [];
  if (waiting.length === 0) return null;
  return (
    <ul className={own.domains}>
      {waiting.map(({ hostname, status }) => (
        <li key={hostname}>
          <Link className="link" to="/projects/$project/settings/domains" params={{ project: project.name }}>
            {hostname}
          </Link>
          <State tone={domainStates[status][0]}>{domainStates[status][1]}</State>
        </li>
      ))}
    </ul>
  );
}

function AiCost({ project }: { readonly project: Project }) {
  const { data } = useQuery(aiUsageQuery({ projectId: project.id }, 'month', 'model'));
  if (data === undefined) return <Skeleton width={80} />;
  const { calls, costMicros, unpriced } = data.totals;
  if (calls === 0) return 'no calls';
  const cost = unpriced === calls ? 'no prices' : `cost ${costText(costMicros)}`;
  return (
    <Link className="link" to="/projects/$project/ai" params={{ project: project.name }} search={{ range: 'month' }}>
      {cost}, {countText(calls)} {calls === 1 ? 'call' : 'calls'}
    </Link>
  );
}

function Live({ project, liveId }: { readonly project: Project; readonly liveId: string | null }) {
  const { data: live } = useQuery({
    ...deploymentQuery(liveId ?? ''),
    enabled: liveId !== null,
  });
  if (liveId === null)
    return (
      <div className={styles.card} style={{ border: '1px solid var(--line)', borderRadius: 8 }}>
        <State tone="neutral">Not live</State>
        <p className={styles.soft}>
          Deployments of {project.defaultBranch} go live automatically. You can promote any other deployment.{' '}
          <RocketIcon />
        </p>
      </div>
    );
  return (
    <div className={styles.cards}>
      <div className={styles.card}>
        <State tone="ok">Live</State>
        <ul className={styles.urls}>
          {(live?.aliasUrls ?? (project.deploymentUrl === null ? [] : [project.deploymentUrl])).map((url, at) => (
            <li key={url}>
              <a className={at === 0 ? `${styles.mainUrl} link` : 'link'} href={url} target="_blank" rel="noreferrer">
                {url.replace(/^https?:\/\//, '')}
              </a>
              <CopyButton text={url} label="Copy URL" />
            </li>
          ))}
        </ul>
        <Domains project={project} />
      </div>
      <div className={styles.card}>
        {live === undefined ? (
          <Skeleton height={80} />
        ) : (
          <Facts
            facts={[
              [
                'Deployment',
                <Link key="title" className="link" to="/deployments/$deployment" params={{ deployment: live.id }}>
                  {titleOf(live)}
                </Link>,
              ],
              ['Branch', live.branch],
              ['Commit', live.commitSha === null ? null : <code key="commit">{live.commitSha.slice(0, 7)}</code>],
              ['Live since', <Time key="since" at={live.readyAt ?? live.createdAt} />],
              ['Author', live.author],
              ['AI, 30 days', <AiCost key="ai" project={project} />],
            ]}
          />
        )}
      </div>
    </div>
  );
}
