// Environment variables of a project by scope, with changes pending for the next deployment.
import { PlusIcon, LockClosedIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Input, Select } from '../../components/field.tsx';
import { MenuItem, ActionsMenu } from '../../components/menu.tsx';
import { EmptyState, Notice } from '../../components/notice.tsx';
import { Filters } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import type { Project } from '../../queries/account.ts';
import { scopeWords, variablesQuery, type Variable } from '../../queries/variables.ts';
import { useRemoval, useRemoved } from '../../records/removals.ts';
import { EnvImport } from './env-import.tsx';
import { SettingsPage } from './settings-page.tsx';
import styles from './settings.module.css';
import { VariableForm } from './variable-form.tsx';

export function VariablesPage() {
  const [chosen, setOpened] = useState<'import' | Variable | null>(null);
  const { new: isNew } = useSearch({ from: '/projects/$project/settings/variables' });
  const navigate = useNavigate({ from: '/projects/$project/settings/variables' });
  const opened = isNew === true ? 'new' : chosen;
  const showNew = (next: true | undefined): void => void navigate({ search: (before) => ({ ...before, new: next }) });
  const close = (): void => {
    setOpened(null);
    if (isNew === true) showNew(undefined);
  };
  return (
    <SettingsPage
      title="Variables"
      actions={
        <>
          <Button onClick={() => setOpened('import')}>Import .env</Button>
          <Button variant="primary" onClick={() => showNew(true)}>
            <PlusIcon /> New variable
          </Button>
        </>
      }
    >
      {(project) => (
        <>
          <Variables project={project} onOpen={setOpened} />
          {opened === 'import' && <EnvImport projectId={project.id} onClose={close} />}
          {opened !== null && opened !== 'import' && (
            <VariableForm projectId={project.id} variable={opened === 'new' ? null : opened} onClose={close} />
          )}
        </>
      )}
    </SettingsPage>
  );
}

function Variables({
  project,
  onOpen,
}: {
  readonly project: Project;
  readonly onOpen: (opened: 'import' | Variable) => void;
}) {
  const { data, error, refetch } = useQuery(variablesQuery(project.id));
  const { search = '', scope } = useSearch({ from: '/projects/$project/settings/variables' });
  const navigate = useNavigate({ from: '/projects/$project/settings/variables' });
  const everywhere = useNavigate();
  const removed = useRemoved();
  const removeVariable = useRemoval(['variables', project.id]);
  const live = useQuery({
    queryKey: ['deployment', project.productionDeploymentId],
    queryFn: ({ signal }) =>
      dataOf(api.get('/deployments/:id', { params: { id: project.productionDeploymentId! }, signal })),
    enabled: project.productionDeploymentId !== null,
  });
  const redeploy = useChange({
    queryKey: ['project'],
    act: (id: string) => dataOf(api.post('/deployments/:id/redeploy', { params: { id } })),
    failed: 'Could not redeploy production',
    onDone: ({ deploymentId }) =>
      void everywhere({ to: '/deployments/$deployment', params: { deployment: deploymentId } }),
  });
  if (data === undefined) return <Unloaded what="the variables" error={error} refetch={refetch} />;
  const all = data.items.filter(({ id }) => !removed.has(id));
  if (all.length === 0)
    return (
      <EmptyState
        icon={<LockClosedIcon />}
        title="No variables yet"
        commands={['platform env set GREETING=hello', 'platform env push .env']}
        action={<Button onClick={() => onOpen('import')}>Paste a .env file</Button>}
      >
        Workers read variables as <code>env.vars.NAME</code>, builds as environment variables. Secrets are encrypted and
        never shown again.
      </EmptyState>
    );
  const since = live.data?.createdAt ?? null;
  const waits = (one: Variable): boolean => since !== null && one.scope === 'production' && one.updatedAt > since;
  const waiting = all.filter(waits);
  const word = search.toLowerCase();
  const shown = all.filter(
    (one) => one.key.toLowerCase().includes(word) && (scope === undefined || one.scope === scope),
  );
  const remove = ({ id, key }: Variable): void =>
    removeVariable(id, `${key} deleted`, () =>
      dataOf(
        api.delete('/environment-variables/:projectId/:variableId', {
          params: { projectId: project.id, variableId: id },
        }),
      ),
    );
  const columns: readonly Column<Variable>[] = [
    {
      id: 'key',
      header: 'Name',
      phone: 'first',
      cell: (one) => (
        <span className={styles.name} title={one.key}>
          {one.key}
        </span>
      ),
    },
    { id: 'value', header: 'Value', cell: (one) => <Value variable={one} /> },
    {
      id: 'scope',
      header: 'Scope',
      isFitted: true,
      cell: (one) => (
        <Badge
          tone={one.scope === 'production' ? 'running' : 'neutral'}
          {...(one.branch !== null && { title: one.branch })}
        >
          <span className={styles.where}>{one.branch ?? scopeWords[one.scope]}</span>
        </Badge>
      ),
    },
    {
      id: 'updated',
      header: 'Updated',
      isFitted: true,
      cell: (one) => (
        <>
          <Time at={one.updatedAt} />
          {waits(one) && (
            <>
              {' '}
              <Badge tone="warning" title="The live deployment still uses the previous value">
                next deployment
              </Badge>
            </>
          )}
        </>
      ),
    },
  ];
  return (
    <>
      {waiting.length > 0 && (
        <Notice
          tone="warning"
          title={`Not yet deployed: ${waiting
            .map(({ key }) => key)
            .slice(0, 5)
            .join(', ')}${waiting.length > 5 ? ` and ${waiting.length - 5} more` : ''}`}
        >
          <p>
            {project.settings.redeployOnVariables
              ? 'Production is redeployed automatically.'
              : 'The live deployment keeps its values. A redeployment needs no build and takes seconds.'}
          </p>
          {!project.settings.redeployOnVariables && live.data !== undefined && (
            <div>
              <Button size="small" onClick={() => redeploy.mutate(live.data.id)} isPending={redeploy.isPending}>
                Redeploy now
              </Button>
            </div>
          )}
        </Notice>
      )}
      <Filters>
        <Input
          aria-label="Search variables"
          placeholder="Search"
          value={search}
          onChange={({ target }) =>
            void navigate({ search: (now) => ({ ...now, search: target.value || undefined }), replace: true })
          }
        />
        <Select
          aria-label="Scope"
          value={scope ?? ''}
          onChange={({ target }) =>
            void navigate({
              search: (now) => ({ ...now, scope: (target.value || undefined) as Variable['scope'] | undefined }),
            })
          }
        >
          <option value="">All scopes</option>
          {Object.entries(scopeWords).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </Filters>
      {shown.length === 0 ? (
        <EmptyState title="No results" />
      ) : (
        <Table
          label="Variables"
          columns={columns}
          actions={(one) => (
            <ActionsMenu of={one.key}>
              <MenuItem onSelect={() => onOpen(one)}>Edit value…</MenuItem>
              <MenuItem onSelect={() => remove(one)} isDanger>
                Delete
              </MenuItem>
            </ActionsMenu>
          )}
          rows={shown}
          rowKey={({ id }) => id}
          onOpen={onOpen}
        />
      )}
      <p className={styles.soft}>
        In previews, variables of the branch override those of all previews. Production uses only production variables.
        With <code>platform dev</code>, the <code>.env</code> file of the project overrides these.
      </p>
    </>
  );
}

function Value({ variable }: { readonly variable: Variable }) {
  if (variable.value === null)
    return (
      <span title="Secret values are never shown">
        <span className={styles.hidden} aria-hidden>
          ••••••
        </span>
        <span className="visually-hidden">secret</span>
      </span>
    );
  return (
    <span className={styles.pair}>
      <span className={styles.name}>{variable.value.slice(0, 200)}</span>
      <CopyButton text={variable.value} label={`Copy the value of ${variable.key}`} />
    </span>
  );
}
