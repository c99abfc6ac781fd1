// Deploy hooks of a project: a POST to the URL builds and deploys a branch.
import { Link2Icon, PlusIcon } from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../components/button.tsx';
import { Field, Input } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Badge } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { removeLater, useRemoved } from '../../state/removals.ts';
import { Secret } from './secret.tsx';
import { SettingsPage } from './settings-page.tsx';

interface Hook {
  readonly id: string;
  readonly name: string;
  readonly branch: string;
  readonly createdAt: string;
}

export function HooksPage() {
  const [isMaking, setMaking] = useState(false);
  const [url, setUrl] = useState<string | null>(null);
  return (
    <SettingsPage
      title="Deploy hooks"
      actions={
        <Button variant="primary" onClick={() => setMaking(true)}>
          <PlusIcon /> New hook
        </Button>
      }
    >
      {(project) => (
        <>
          {url !== null && (
            <Secret
              title="Deploy hook URL"
              value={`curl -X POST ${url}`}
              hint="Anyone with the URL can deploy the branch. It is revoked when you leave the organization."
              onClose={() => setUrl(null)}
            />
          )}
          <Hooks project={project} />
          {isMaking && <NewHook project={project} onClose={() => setMaking(false)} onMade={setUrl} />}
        </>
      )}
    </SettingsPage>
  );
}

function Hooks({ project }: { readonly project: Project }) {
  const { id } = project;
  const client = useQueryClient();
  const removed = useRemoved();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['deploy-hooks', id],
    queryFn: ({ signal }) => dataOf(api.get('/projects/:id/deploy-hooks', { params: { id }, signal })),
  });
  if (isPending) return <SkeletonRows />;
  if (data === undefined)
    return <ErrorState title="Could not load the deploy hooks" error={error} onRetry={() => void refetch()} />;
  const rows = data.hooks.filter((hook) => !removed.has(hook.id));
  if (rows.length === 0)
    return (
      <EmptyState icon={<Link2Icon />} title="No deploy hooks yet">
        POST to the URL of a hook to deploy a branch without a token, for example from a CMS or a cron job.
      </EmptyState>
    );
  const columns: readonly Column<Hook>[] = [
    { id: 'name', header: 'Name', phone: 'first', cell: (hook) => hook.name },
    { id: 'branch', header: 'Branch', isFitted: true, cell: (hook) => <Badge>{hook.branch}</Badge> },
    { id: 'made', header: 'Created', isFitted: true, cell: (hook) => <Time at={hook.createdAt} /> },
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (hook) => (
        <Button
          size="small"
          aria-label={`Delete hook ${hook.name}`}
          onClick={() =>
            removeLater(
              hook.id,
              `Hook ${hook.name} deleted`,
              () => dataOf(api.delete('/projects/:id/deploy-hooks/:hookId', { params: { id, hookId: hook.id } })),
              () => client.invalidateQueries({ queryKey: ['deploy-hooks', id] }),
            )
          }
        >
          Delete
        </Button>
      ),
    },
  ];
  return <Table label="Deploy hooks" columns={columns} rows={rows} rowKey={(hook) => hook.id} />;
}

function NewHook({
  project,
  onClose,
  onMade,
}: {
  readonly project: Project;
  readonly onClose: () => void;
  readonly onMade: (url: string) => void;
}) {
  const [name, setName] = useState('');
  const [branch, setBranch] = useState(project.defaultBranch);
  const make = useChange({
    queryKey: ['deploy-hooks', project.id],
    failed: 'Could not create the hook',
    act: async () => {
      return await dataOf(
        api.post('/projects/:id/deploy-hooks', { params: { id: project.id }, body: { name, branch } }),
      );
    },
    onDone: ({ url }) => {
      onMade(url);
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title="New deploy hook"
      onSubmit={() => make.mutate(undefined)}
      action="Create hook"
      isPending={make.isPending}
    >
      <Field label="Name" error={make.problem}>
        {(control) => (
          <Input
            {...control}
            required
            autoFocus
            maxLength={100}
            placeholder="Content published"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <Field label="Branch to deploy">
        {(control) => (
          <Input
            {...control}
            isCode
            required
            maxLength={255}
            value={branch}
            onChange={({ target }) => setBranch(target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
