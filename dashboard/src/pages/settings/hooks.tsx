// Deploy hooks of a project: a POST to the URL builds and deploys a branch.
import { Link2Icon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Badge } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { AddButton, type AddFormProps } from '../../records/add-button.tsx';
import { RecordForm } from '../../records/record-form.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { useRemoval } from '../../records/removals.ts';
import { SettingsPage } from './settings-page.tsx';

const readHooks = async (id: string, signal: AbortSignal) =>
  (await dataOf(api.get('/projects/:id/deploy-hooks', { params: { id }, signal }))).hooks;
type Hook = Awaited<ReturnType<typeof readHooks>>[number];

const SECRET = {
  title: 'Deploy hook URL',
  hint: 'Anyone with the URL can deploy the branch. The hook is revoked when you leave the organization.',
};

export function HooksPage() {
  return (
    <SettingsPage
      title="Deploy hooks"
      actions={(project) => (
        <AddButton label="New hook" secret={SECRET}>
          {(form) => <NewHook project={project} {...form} />}
        </AddButton>
      )}
    >
      {(project) => <Hooks id={project.id} />}
    </SettingsPage>
  );
}

const columns: readonly Column<Hook>[] = [
  { id: 'name', header: 'Name', phone: 'first', cell: (hook) => hook.name },
  { id: 'branch', header: 'Branch', isFitted: true, cell: (hook) => <Badge>{hook.branch}</Badge> },
  { id: 'made', header: 'Created', isLabelled: true, isFitted: true, cell: (hook) => <Time at={hook.createdAt} /> },
];

function Hooks({ id }: { readonly id: string }) {
  const queryKey = ['deploy-hooks', id];
  const query = useQuery({ queryKey, queryFn: ({ signal }) => readHooks(id, signal) });
  const remove = useRemoval(queryKey);
  return (
    <RecordList
      name="deploy hooks"
      query={query}
      columns={columns}
      rowKey={(hook) => hook.id}
      empty={
        <EmptyState icon={<Link2Icon />} title="No deploy hooks yet">
          POST to the URL of a hook to deploy a branch without a token, for example from a CMS or a cron job.
        </EmptyState>
      }
      actions={(hook) => (
        <Button
          size="small"
          aria-label={`Delete hook ${hook.name}`}
          onClick={() =>
            remove(hook.id, `Hook ${hook.name} deleted`, () =>
              dataOf(api.delete('/projects/:id/deploy-hooks/:hookId', { params: { id, hookId: hook.id } })),
            )
          }
        >
          Delete
        </Button>
      )}
    />
  );
}

function NewHook({ project: { id, defaultBranch }, onSecret, onClose }: AddFormProps & { readonly project: Project }) {
  return (
    <RecordForm
      title="New deploy hook"
      action="Create hook"
      failed="Could not create the hook"
      queryKey={['deploy-hooks', id]}
      fields={{
        name: { label: 'Name', placeholder: 'Content published', maxLength: 100 },
        branch: { label: 'Branch to deploy', value: defaultBranch, isCode: true, maxLength: 255 },
      }}
      act={(body) => dataOf(api.post('/projects/:id/deploy-hooks', { params: { id }, body }))}
      onDone={({ url }) => onSecret(`curl -X POST ${url}`)}
      onClose={onClose}
    />
  );
}
