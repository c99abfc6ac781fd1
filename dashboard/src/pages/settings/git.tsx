// The Git repository of a project, and how to push to the platform without one.
import { CodeIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { EmptyState, Notice } from '../../components/notice.tsx';
import { Facts, Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.ts';
import { Unloaded } from '../../components/unloaded.tsx';
import type { Project } from '../../queries/account.ts';
import { addressesQuery } from '../../queries/deployments.ts';
import { ConnectRepository } from './connect-repository.tsx';
import { SettingsPage } from './settings-page.tsx';
import styles from './settings.module.css';

const sources = { 'git-host': 'Git host', remote: 'Git remote', builtin: 'this platform' } as const;

export function GitPage() {
  return <SettingsPage title="Git">{(project) => <Git key={project.id} project={project} />}</SettingsPage>;
}

function Git({ project }: { readonly project: Project }) {
  const { data: addresses } = useQuery(addressesQuery);
  const [opened, setOpened] = useState<'connect' | 'disconnect' | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['repositories', project.organizationId],
    queryFn: ({ signal }) =>
      dataOf(api.get('/repositories', { query: { organizationId: project.organizationId }, signal })),
  });
  const disconnect = useChange({
    queryKey: ['project'],
    act: () => dataOf(api.delete('/projects/:id/repository', { params: { id: project.id } })),
    failed: 'Could not disconnect the repository',
    onDone: () => {
      setOpened(null);
      noteDone('Repository disconnected', 'Existing deployments do not change.');
    },
  });
  const check = useChange({
    queryKey: ['repositories', project.organizationId],
    act: (id: string) => dataOf(api.post('/repositories/:id/check', { params: { id } })),
    failed: 'Could not check the repository',
    onDone: ({ webhook }) =>
      noteDone(
        'Repository checked',
        webhook === null ? 'The repository is no longer on the Git host.' : `The webhook was ${webhook}.`,
      ),
  });
  if (data === undefined) return <Unloaded what="the repositories" error={error} refetch={refetch} />;
  const repository = data.repositories.find(({ id }) => id === project.repositoryId) ?? null;
  return (
    <>
      {repository === null ? (
        <EmptyState
          icon={<CodeIcon />}
          title="No repository connected"
          action={
            <Button variant="primary" onClick={() => setOpened('connect')}>
              Connect repository
            </Button>
          }
        >
          With a connected repository, every push is built and deployed, and pull requests get previews.
        </EmptyState>
      ) : (
        <Section
          title="Repository"
          actions={
            <>
              {repository.hostKind !== null && repository.hostKind !== 'github' && (
                <Button size="small" isPending={check.isPending} onClick={() => check.mutate(repository.id)}>
                  Check
                </Button>
              )}
              <Button size="small" onClick={() => setOpened('connect')}>
                Change repository
              </Button>
              <Button size="small" onClick={() => setOpened('disconnect')}>
                Disconnect
              </Button>
            </>
          }
        >
          <div className={styles.card}>
            {repository.disconnectReason !== null && (
              <Notice tone="failed" title={`Disconnected, pushes are not deployed: ${repository.disconnectReason}`} />
            )}
            <Facts
              facts={[
                ['Name', <strong key="name">{repository.fullName}</strong>],
                ['Source', sources[repository.source]],
                [
                  'Status',
                  repository.disconnectReason === null ? (
                    <State key="state" tone="ok">
                      Connected
                    </State>
                  ) : (
                    <State key="state" tone="failed">
                      Disconnected
                    </State>
                  ),
                ],
                ['Production branch', <code key="branch">{project.defaultBranch}</code>],
                ['Root directory', <code key="folder">{project.configPath === '' ? '/' : project.configPath}</code>],
                ['Connected', <Time key="at" at={repository.createdAt} />],
              ]}
            />
          </div>
        </Section>
      )}
      <Section title="Push to this platform">
        <p className={styles.soft}>
          Push to the platform as a Git remote. The password is a token with the deploy scope.
        </p>
        <CodeBlock
          code={`git push ${addresses?.api ?? location.origin}/git/${project.name}.git ${project.defaultBranch}`}
          isCommand
        />
      </Section>
      {opened === 'connect' && (
        <ConnectRepository project={project} connected={data.repositories} onClose={() => setOpened(null)} />
      )}
      <Confirm
        isOpen={opened === 'disconnect'}
        onClose={() => setOpened(null)}
        title={`Disconnect ${repository?.fullName ?? ''}?`}
        action="Disconnect"
        onConfirm={() => disconnect.mutate(undefined)}
        isPending={disconnect.isPending}
      >
        Pushes will no longer be deployed. Existing deployments stay, and you can reconnect the repository.
      </Confirm>
    </>
  );
}
