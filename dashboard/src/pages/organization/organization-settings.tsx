// Settings of an organization: name, plan, ownership, leaving, deletion.
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { wordsOf } from '../../api/failure.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { byCursor } from '../../components/cursor-list.tsx';
import { Confirm, ConfirmByName } from '../../components/confirm.tsx';
import { Field, FieldRow, Input, Select } from '../../components/field.tsx';
import { Notice } from '../../components/notice.tsx';
import { countText, sentenceText } from '../../components/text.ts';
import { Section } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { noteDone } from '../../components/toast.ts';
import { userQuery } from '../../queries/account.ts';
import type { FullOrganization } from '../../queries/organization.ts';
import styles from '../settings/settings.module.css';
import { isAdmin, OrganizationPage } from './organization-page.tsx';

export function OrganizationSettingsPage() {
  return (
    <OrganizationPage title="Settings">
      {(organization) => (
        <>
          <Names key={organization.id} organization={organization} />
          <Plan organization={organization} />
          <Preferences organization={organization} />
          {organization.role === 'owner' ? (
            <Ownership organization={organization} />
          ) : (
            <Leave organization={organization} />
          )}
        </>
      )}
    </OrganizationPage>
  );
}

interface PartProps {
  readonly organization: FullOrganization;
}

function Names({ organization }: PartProps) {
  const [name, setName] = useState(organization.name);
  const [slug, setSlug] = useState(organization.slug);
  const [error, setError] = useState<string | null>(null);
  const navigate = useNavigate();
  const client = useQueryClient();
  const isChanged = name !== organization.name || slug !== organization.slug;
  const save = useChange({
    queryKey: ['organization'],
    failed: 'Could not rename the organization',
    act: async () => {
      setError(null);
      try {
        return await dataOf(api.patch('/orgs/:id', { params: { id: organization.id }, body: { name, slug } }));
      } catch (failure) {
        setError(wordsOf(failure));
        throw failure;
      }
    },
    onDone: async (made) => {
      noteDone('Organization renamed');
      await client.invalidateQueries({ queryKey: ['user'] });
      if (made.slug !== organization.slug) await navigate({ to: '/orgs/$org/settings', params: { org: made.slug } });
    },
  });
  return (
    <Section title="Name">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <FieldRow>
          <Field label="Name" error={error}>
            {(control) => (
              <Input
                {...control}
                required
                maxLength={80}
                dir="auto"
                disabled={!isAdmin(organization)}
                value={name}
                onChange={({ target }) => setName(target.value)}
              />
            )}
          </Field>
          <Field label="Slug" hint="Part of URLs: lower-case letters, digits and hyphens">
            {(control) => (
              <Input
                {...control}
                isCode
                required
                maxLength={40}
                disabled={!isAdmin(organization)}
                value={slug}
                onChange={({ target }) => setSlug(target.value)}
              />
            )}
          </Field>
        </FieldRow>
        <div className={styles.buttons}>
          <Button type="submit" variant="primary" disabled={!isChanged} isPending={save.isPending}>
            Rename
          </Button>
        </div>
      </form>
    </Section>
  );
}

const kinds = ['http', 'queue', 'timer', 'cron', 'workflow'] as const;
type PlanName = FullOrganization['plan'];
interface PlanRow {
  readonly id: PlanName;
  readonly cpuMs: Readonly<Record<string, number>>;
}

function Plan({ organization }: PartProps) {
  const { data: user } = useQuery(userQuery);
  const { data } = useQuery({
    queryKey: ['plans'],
    queryFn: ({ signal }) => dataOf(api.get('/plans', { signal })),
    staleTime: Infinity,
  });
  const give = useChange({
    queryKey: ['organization'],
    act: (plan: PlanName) => dataOf(api.put('/orgs/:id/plan', { params: { id: organization.id }, body: { plan } })),
    failed: 'Could not change the plan',
    onDone: ({ plan }) => noteDone(`${organization.name} is now on the ${plan} plan`, 'Takes effect within a second.'),
  });
  const columns: readonly Column<PlanRow>[] = [
    {
      id: 'plan',
      header: 'Plan',
      isFitted: true,
      phone: 'first',
      cell: ({ id }) => (
        <>
          <strong>{id}</strong> {id === organization.plan && <Badge tone="running">current</Badge>}
        </>
      ),
    },
    ...kinds.map((kind): Column<PlanRow> => ({
      id: kind,
      header: kind === 'http' ? 'HTTP request' : sentenceText(kind),
      align: 'end',
      cell: ({ cpuMs }) => (cpuMs[kind] === 0 ? 'no limit' : `${countText((cpuMs[kind] ?? 0) / 1000)} s`),
    })),
  ];
  return (
    <Section
      title="Plan"
      actions={
        user?.isOperator === true && (
          <Select
            aria-label="Change plan"
            value={organization.plan}
            style={{ width: 'auto' }}
            onChange={({ target }) => give.mutate(target.value as PlanName)}
          >
            {data?.items.map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </Select>
        )
      }
    >
      <p className={styles.soft}>Maximum CPU time per invocation, by trigger. The platform's operator assigns plans.</p>
      <Table label="Plans" columns={columns} rows={(data?.items ?? []) as readonly PlanRow[]} rowKey={({ id }) => id} />
    </Section>
  );
}

const machines = {
  small: 'small: 1 vCPU, 2 GB',
  default: 'default: 2 vCPU, 4 GB',
  large: 'large: 4 vCPU, 8 GB',
  xlarge: 'xlarge: 8 vCPU, 16 GB',
} as const;
type Machine = keyof typeof machines;

function Preferences({ organization }: PartProps) {
  const choose = useChange({
    queryKey: ['organization'],
    act: (buildMachine: Machine | null) =>
      dataOf(api.patch('/orgs/:id', { params: { id: organization.id }, body: { buildMachine } })),
    failed: 'Could not update the build machine',
    onDone: ({ buildMachine }) =>
      noteDone(buildMachine === null ? 'Build machine set to the default' : `Build machine set to ${buildMachine}`),
  });
  return (
    <Section title="Preferences">
      <div className={styles.form}>
        <Field
          label="Build machine"
          hint={`For builds in sandboxes. Takes effect on the next build.${isAdmin(organization) ? '' : ' Owners and admins can change it.'}`}
        >
          {(control) => (
            <Select
              {...control}
              disabled={!isAdmin(organization) || choose.isPending}
              value={organization.buildMachine ?? ''}
              onChange={({ target }) => choose.mutate(target.value === '' ? null : (target.value as Machine))}
            >
              <option value="">Default (set by the operator)</option>
              {Object.entries(machines).map(([size, text]) => (
                <option key={size} value={size}>
                  {text}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
    </Section>
  );
}

function Ownership({ organization }: PartProps) {
  const [next, setNext] = useState('');
  const [opened, setOpened] = useState<'transfer' | 'delete' | null>(null);
  const [error, setError] = useState<string | null>(null);
  const navigate = useNavigate();
  const client = useQueryClient();
  const { data } = useInfiniteQuery({
    queryKey: ['members', organization.id],
    queryFn: ({ signal }) =>
      dataOf(api.get('/orgs/:id/members', { params: { id: organization.id }, query: { limit: 100 }, signal })),
    ...byCursor,
  });
  const others = data?.pages.flatMap(({ items }) => items).filter(({ role }) => role !== 'owner') ?? [];
  const act = async (work: () => Promise<unknown>, words: string): Promise<void> => {
    setError(null);
    try {
      await work();
    } catch (failure) {
      setError(wordsOf(failure));
      return;
    }
    setOpened(null);
    noteDone(words);
    await client.invalidateQueries();
  };
  return (
    <Section title="Ownership">
      <div className={styles.danger}>
        <p>Transfer the organization to another member. You become an admin.</p>
        <Select
          aria-label="New owner"
          value={next}
          style={{ width: 'auto' }}
          onChange={({ target }) => setNext(target.value)}
        >
          <option value="">Select a member</option>
          {others.map(({ accountId, login }) => (
            <option key={accountId} value={accountId}>
              {login}
            </option>
          ))}
        </Select>
        <Button disabled={next === ''} onClick={() => setOpened('transfer')}>
          Transfer
        </Button>
      </div>
      <div className={styles.danger}>
        <p>Delete the organization. Delete the projects of the organization first.</p>
        <Button variant="danger" onClick={() => setOpened('delete')}>
          Delete organization
        </Button>
      </div>
      <Confirm
        isOpen={opened === 'transfer'}
        onClose={() => setOpened(null)}
        title={`Transfer ${organization.name} to ${others.find(({ accountId }) => accountId === next)?.login ?? ''}?`}
        action="Transfer"
        isDanger
        error={error}
        onConfirm={() =>
          void act(
            () =>
              dataOf(api.post('/orgs/:id/transfer', { params: { id: organization.id }, body: { accountId: next } })),
            'Ownership transferred',
          )
        }
      >
        Only the new owner can transfer it back.
      </Confirm>
      <ConfirmByName
        isOpen={opened === 'delete'}
        onClose={() => setOpened(null)}
        name={organization.slug}
        title={`Delete ${organization.name}?`}
        action="Delete organization"
        error={error}
        onConfirm={() =>
          void act(async () => {
            await dataOf(
              api.delete('/orgs/:id', { params: { id: organization.id }, query: { slug: organization.slug } }),
            );
            await navigate({ to: '/' });
          }, `${organization.name} deleted`)
        }
      >
        All members lose access and its tokens are revoked. This cannot be undone.
      </ConfirmByName>
    </Section>
  );
}

function Leave({ organization }: PartProps) {
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const navigate = useNavigate();
  const client = useQueryClient();
  const leave = async (): Promise<void> => {
    try {
      await dataOf(api.post('/orgs/:id/leave', { params: { id: organization.id } }));
      await navigate({ to: '/' });
      noteDone(`You left ${organization.name}`);
      await client.invalidateQueries();
    } catch (failure) {
      setError(wordsOf(failure));
    }
  };
  return (
    <Section title="Leave organization">
      <div className={styles.danger}>
        <p>You lose access to its projects. An admin can invite you again.</p>
        <Button variant="danger" onClick={() => setAsking(true)}>
          Leave
        </Button>
      </div>
      {error !== null && <Notice tone="failed" title={error} />}
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Leave ${organization.name}?`}
        action="Leave"
        isDanger
        error={error}
        onConfirm={() => void leave()}
      >
        Your tokens lose access to this organization.
      </Confirm>
    </Section>
  );
}
