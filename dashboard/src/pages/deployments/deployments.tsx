// The deployments of a project, with filters in the URL and live durations.
import { RocketIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { Button } from '../../components/button.tsx';
import { CursorList } from '../../components/cursor-list.tsx';
import { Input, Select } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Filters } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import type { Project } from '../../queries/account.ts';
import { addressesQuery, deploymentsQuery, type Deployment } from '../../queries/deployments.ts';
import type { DeploymentSearch } from '../../queries/deployment-search.ts';
import { useDeploymentActions } from './deployment-actions.tsx';
import { deploymentColumns } from './deployment-row.tsx';
import { DeploymentsFrame } from './deployments-frame.tsx';

const EVERY = '';

export function DeploymentsPage() {
  return <DeploymentsFrame title="Deployments">{(project) => <Deployments project={project} />}</DeploymentsFrame>;
}

function Deployments({ project }: { readonly project: Project }) {
  const search = useSearch({ from: '/projects/$project/deployments' });
  const navigate = useNavigate({ from: '/projects/$project/deployments' });
  const { act, dialog } = useDeploymentActions();
  const query = useInfiniteQuery(deploymentsQuery(project.id, search));
  const narrow = (change: DeploymentSearch): void => void navigate({ search: (before) => ({ ...before, ...change }) });
  const isNarrowed = Object.values(search).some((value) => value !== undefined);
  return (
    <>
      <Filters>
        <BranchFilter
          key={search.branch}
          branch={search.branch ?? ''}
          onChange={(branch) => narrow({ branch: branch === '' ? undefined : branch })}
        />
        <Select
          aria-label="Status"
          value={search.status ?? EVERY}
          onChange={({ target: { value } }) =>
            narrow({ status: value === EVERY ? undefined : (value as Deployment['status']) })
          }
        >
          <option value={EVERY}>Any status</option>
          <option value="success">Ready</option>
          <option value="failure">Failed</option>
          <option value="timeout">Timed out</option>
          <option value="canceled">Canceled</option>
          <option value="building">Building</option>
          <option value="queued">Queued</option>
        </Select>
        {isNarrowed && (
          <Button variant="ghost" onClick={() => void navigate({ search: {} })}>
            Clear filters
          </Button>
        )}
      </Filters>
      <CursorList
        name="deployments"
        query={query}
        empty={
          isNarrowed ? (
            <EmptyState
              title="No results"
              action={<Button onClick={() => void navigate({ search: {} })}>Clear filters</Button>}
            />
          ) : (
            <FirstDeployment project={project} />
          )
        }
      >
        {(items) => (
          <Table
            label="Deployments"
            columns={deploymentColumns(act)}
            rows={items}
            rowKey={({ id }) => id}
            onOpen={({ id }) => void navigate({ to: '/deployments/$deployment', params: { deployment: id } })}
          />
        )}
      </CursorList>
      {dialog}
    </>
  );
}

function BranchFilter({ branch, onChange }: { readonly branch: string; readonly onChange: (branch: string) => void }) {
  const [typed, setTyped] = useState(branch);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onChange(typed.trim());
  };
  return (
    <form onSubmit={submit} style={{ minWidth: 140 }}>
      <Input
        aria-label="Branch"
        placeholder="Branch"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={() => typed.trim() !== branch && onChange(typed.trim())}
      />
    </form>
  );
}

/** Commands for a first deployment, with the URLs of the project. */
export function FirstDeployment({ project }: { readonly project: Project }) {
  const { data: addresses } = useQuery(addressesQuery);
  const api = addresses?.api ?? location.origin;
  return (
    <EmptyState
      icon={<RocketIcon />}
      title="No deployments yet"
      commands={[
        `npm install -g ../platform   # once, in a clone of the platform`,
        `platform login --api ${api}`,
        `platform deploy --name ${project.name}`,
        `git push ${api}/git/${project.name}.git ${project.defaultBranch}`,
      ]}
    >
      Deploy the current folder or push a commit. The platform builds it and shows the log here. Use a token as the
      password of the push.
    </EmptyState>
  );
}
