// A deployment: status, URLs, failure, changes of a promotion, log.
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button, OutsideLink } from '../../components/button.tsx';
import { joined } from '../../components/class-names.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { Id } from '../../components/id.tsx';
import { Notice } from '../../components/notice.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Prose } from '../../components/prose.tsx';
import { Duration, Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { projectQuery } from '../../queries/account.ts';
import {
  deploymentQuery,
  hasEnded,
  promotionQuery,
  reasonText,
  titleOf,
  type Deployment,
} from '../../queries/deployments.ts';
import { DeploymentMigrations } from '../migrations/migrations.tsx';
import { BuildLog, useBuildLog } from './build-log.tsx';
import { actionsOf, useDeploymentActions } from './deployment-actions.tsx';
import { DeploymentState, TargetBadge } from './deployment-state.tsx';
import styles from './deployments.module.css';
import { FailingLine } from './failing-line.tsx';
import { GuardedRelease } from './guarded-release.tsx';
import { PromotionChanges, promotionSentence } from './promotion-changes.tsx';

export function DeploymentPage() {
  const { deployment: id } = useParams({ from: '/deployments/$deployment' });
  const { data, error, refetch } = useQuery(deploymentQuery(id));
  if (data === undefined)
    return (
      <Page title="Deployment">
        <Unloaded one="deployment" error={error} refetch={refetch} />
      </Page>
    );
  return <Shown deployment={data} />;
}

function Shown({ deployment }: { readonly deployment: Deployment }) {
  const { act, dialog } = useDeploymentActions();
  const { action: wanted } = useSearch({ from: '/deployments/$deployment' });
  const navigate = useNavigate({ from: '/deployments/$deployment' });
  useEffect(() => {
    if (wanted === undefined) return;
    if (actionsOf(deployment).some(({ action }) => action === wanted)) act(wanted, deployment);
    void navigate({ search: {}, replace: true });
  });
  const log = useBuildLog(deployment);
  const linkTo = useFileLinks(deployment);
  const title = titleOf(deployment);
  const hasFailed = deployment.status === 'failure' || deployment.status === 'timeout';
  const reason = reasonText(deployment);
  const [first, ...others] = actionsOf(deployment);
  return (
    <Page
      title={title}
      heading={
        <span className={styles.heading}>
          {title} <TargetBadge deployment={deployment} />
        </span>
      }
      description={<Meta deployment={deployment} />}
      actions={
        <>
          {others.map(({ action, title: words }) => (
            <Button key={action} onClick={() => act(action, deployment)}>
              {words}
            </Button>
          ))}
          {first !== undefined && (
            <Button
              variant={['promote', 'promote-now', 'approve'].includes(first.action) ? 'primary' : 'secondary'}
              onClick={() => act(first.action, deployment)}
            >
              {first.title}
            </Button>
          )}
          {deployment.url !== null && <OutsideLink href={deployment.aliasUrls[0] ?? deployment.url}>Visit</OutsideLink>}
        </>
      }
    >
      {hasFailed && <FailingLine deployment={deployment} lines={log.lines} linkTo={linkTo} />}
      {!hasFailed && reason !== null && deployment.status !== 'success' && (
        <Notice tone={deployment.reason === 'approval_required' ? 'warning' : 'neutral'}>
          <p>
            <Prose text={reason} />
          </p>
        </Notice>
      )}
      {/* Failed deployments have no URLs. */}
      <div className={joined(styles.cards, hasFailed && styles.alone)}>
        {!hasFailed && <Addresses deployment={deployment} />}
        <Details deployment={deployment} />
      </div>
      <GuardedRelease deployment={deployment} />
      <Changes deployment={deployment} />
      <DeploymentMigrations deployment={deployment} />
      <Section title="Log">
        <BuildLog key={deployment.id} deployment={deployment} {...log} linkTo={linkTo} />
      </Section>
      {dialog}
    </Page>
  );
}

function Meta({ deployment }: { readonly deployment: Deployment }) {
  return (
    <span className={styles.meta}>
      <DeploymentState deployment={deployment} />
      <span>
        <Time at={deployment.createdAt} />
        {deployment.author !== null && ` by ${deployment.author}`}
      </span>
    </span>
  );
}

function Addresses({ deployment: { url, aliasUrls, status } }: { readonly deployment: Deployment }) {
  const urls = [...aliasUrls, ...(url === null ? [] : [url])];
  return (
    <div className={styles.card}>
      <h2>URLs</h2>
      {urls.length === 0 ? (
        <p className={styles.faint}>
          {status === 'success'
            ? 'Removed: the URLs no longer work.'
            : hasEnded({ status })
              ? 'This deployment was never live.'
              : 'URLs appear when the build is done.'}
        </p>
      ) : (
        <ul className={styles.urls}>
          {urls.map((one, at) => (
            <li key={one}>
              <a className={at === 0 ? `${styles.mainUrl} link` : 'link'} href={one} target="_blank" rel="noreferrer">
                {one.replace(/^https?:\/\//, '')}
              </a>
              <CopyButton text={one} label="Copy URL" />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Details({ deployment }: { readonly deployment: Deployment }) {
  const { id, branch, commitSha, pullRequest, source, createdAt, readyAt, updatedAt, buildDurationMs } = deployment;
  return (
    <div className={styles.card}>
      <Facts
        facts={[
          ['ID', <Id key="id" id={id} />],
          ['Branch', pullRequest === null ? branch : `${branch} (pull request ${pullRequest})`],
          ['Commit', commitSha === null ? null : <Id key="commit" id={commitSha} chars={12} />],
          ['Source', sources[source] ?? source],
          [
            'Duration',
            <Duration key="took" from={createdAt} to={hasEnded(deployment) ? (readyAt ?? updatedAt) : null} />,
          ],
          ['Build time', buildDurationMs === null ? null : <Duration key="build" from={0} to={buildDurationMs} />],
        ]}
      />
    </div>
  );
}

const sources: Readonly<Record<string, string>> = {
  push: 'Git push',
  upload: 'platform deploy',
  redeploy: 'Redeploy',
  hook: 'Deploy hook',
};

/** Changes compared to the live deployment. */
function Changes({ deployment }: { readonly deployment: Deployment }) {
  const isAsked = deployment.status === 'success' && deployment.url !== null && !deployment.isLive;
  const { data } = useQuery({ ...promotionQuery(deployment.id), enabled: isAsked });
  if (!isAsked || data === undefined || data.liveDeploymentId === null || data.objection !== null) return null;
  return (
    <Section title={data.way === 'rollback' ? 'Rollback changes' : 'Promotion changes'}>
      <p className={styles.soft}>{promotionSentence(data)}</p>
      <PromotionChanges preview={data} />
    </Section>
  );
}

/** Paths of a line of a file below the page of a repository, by kind of Git host. */
const filePaths: Readonly<Record<string, (commit: string, file: string, line: number) => string>> = {
  github: (commit, file, line) => `blob/${commit}/${file}#L${line}`,
  gitlab: (commit, file, line) => `-/blob/${commit}/${file}#L${line}`,
  gitea: (commit, file, line) => `src/commit/${commit}/${file}#L${line}`,
  forgejo: (commit, file, line) => `src/commit/${commit}/${file}#L${line}`,
  bitbucket: (commit, file, line) => `src/${commit}/${file}#lines-${line}`,
};

/** URLs of source files on the Git host. */
function useFileLinks({ projectId, commitSha }: Deployment): ((file: string, line: number) => string) | null {
  const { data: project } = useQuery(projectQuery(projectId));
  const { data } = useQuery({
    queryKey: ['repositories', project?.organizationId],
    queryFn: ({ signal }) =>
      dataOf(api.get('/repositories', { query: { organizationId: project!.organizationId }, signal })),
    enabled: project != null && project.repositoryId !== null,
  });
  const { url = null, hostKind = null } = data?.repositories.find(({ id }) => id === project?.repositoryId) ?? {};
  const pathOf = hostKind === null ? undefined : filePaths[hostKind];
  if (url === null || pathOf === undefined || commitSha === null || project === undefined) return null;
  const folder = project.configPath === '' ? '' : `${project.configPath}/`;
  return (file, line) => `${url}/${pathOf(commitSha, encodeURI(folder + file.replace(/^\/+/, '')), line)}`;
}
