// The controls for the steps of the setup: a form if the platform can do the step at once, else a link to the right
// page.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ComponentType } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { wordsOf } from '../../api/failure.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Field, FieldRow, Input } from '../../components/field.tsx';
import { State } from '../../components/state.tsx';
import { userQuery } from '../../queries/account.ts';
import { setupQuery, type Setup } from '../../queries/setup.ts';
import { useChange } from '../../records/use-change.ts';
import { MailServerForm, MailTestForm } from '../operator/mail-forms.tsx';
import { ConnectGitHub } from '../organization/github-app.tsx';
import { createNamed } from '../projects/templates.tsx';
import styles from '../settings/settings.module.css';
import { StartVariables } from './start-variables.tsx';
import { Table, type Column } from '../../components/table.tsx';

interface StepProps {
  readonly isDone: boolean;
}

/** The controls by the name of the step. */
export const controls: Readonly<Record<Setup['steps'][number]['name'], ComponentType<StepProps>>> = {
  account: AccountStep,
  domain: DomainStep,
  https: HttpsStep,
  'git-host': GitHostStep,
  ai: AiStep,
  backups: BackupsStep,
  mail: MailStep,
  invitations: InvitationsStep,
  example: ExampleStep,
};

const setupKey = setupQuery.queryKey;
const EXAMPLE_DOMAIN = 'apps.example.com';

/** ID and slug of the first organization of the account. */
function useOrganization() {
  return useQuery(userQuery).data?.organizations[0];
}

function AccountStep({ isDone }: StepProps) {
  const { data: user } = useQuery(userQuery);
  const save = useChange({
    queryKey: setupKey,
    act: (body: { readonly username: string; readonly password: string }) =>
      dataOf(api.post('/operator/setup/account', { body })),
    failed: 'Could not set the password',
  });
  if (isDone || user === undefined) return null;
  return (
    <form
      className={styles.list}
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        save.mutate({ username: String(form.get('username')), password: String(form.get('password')) });
      }}
    >
      <FieldRow>
        <Field label="Username">
          {(control) => (
            <Input
              {...control}
              name="username"
              required
              maxLength={100}
              autoComplete="username"
              defaultValue={user.login}
            />
          )}
        </Field>
        <Field label="Password" hint="At least 10 characters." error={save.problem}>
          {(control) => (
            <Input {...control} name="password" type="password" required maxLength={128} autoComplete="new-password" />
          )}
        </Field>
      </FieldRow>
      <div className={styles.buttons}>
        <Button type="submit" isPending={save.isPending}>
          Set password
        </Button>
      </div>
    </form>
  );
}

type Dns = Awaited<ReturnType<typeof readDns>>;
const readDns = (domain: string) => dataOf(api.get('/operator/setup/dns', { query: { domain } }));

const recordColumns: readonly Column<Dns['records'][number]>[] = [
  { id: 'type', header: 'Type', isFitted: true, phone: 'first', cell: ({ type }) => type },
  { id: 'name', header: 'Name', cell: ({ name }) => <code>{name}</code> },
  { id: 'value', header: 'Value', cell: ({ value }) => <code>{value}</code> },
];

function DomainStep() {
  const [domain, setDomain] = useState('');
  const check = useMutation({ mutationFn: readDns });
  const found = check.data;
  return (
    <form
      className={styles.list}
      onSubmit={(event) => {
        event.preventDefault();
        check.mutate(domain.trim().toLowerCase());
      }}
    >
      <Field
        label="Check a domain"
        hint="Projects are served on subdomains of it, such as shop.apps.example.com."
        error={check.error === null ? null : wordsOf(check.error)}
      >
        {(control) => (
          <Input
            {...control}
            required
            isCode
            maxLength={253}
            placeholder={EXAMPLE_DOMAIN}
            value={domain}
            onChange={({ target }) => setDomain(target.value)}
          />
        )}
      </Field>
      <div className={styles.buttons}>
        <Button type="submit" isPending={check.isPending}>
          Check DNS
        </Button>
      </div>
      {found !== undefined && (
        <>
          <State tone={found.isReady ? 'ok' : 'warning'}>{found.message}</State>
          {found.records.length > 0 && (
            <Table
              label="DNS records"
              columns={recordColumns}
              rows={found.records}
              rowKey={({ name, value }) => `${name} ${value}`}
            />
          )}
          <StartVariables domain={check.variables} />
        </>
      )}
    </form>
  );
}

function HttpsStep({ isDone }: StepProps) {
  if (isDone) return null;
  return (
    <>
      <StartVariables domain={EXAMPLE_DOMAIN} />
      <DocsLink page="domains">How certificates are issued</DocsLink>
    </>
  );
}

function GitHostStep({ isDone }: StepProps) {
  const organization = useOrganization();
  return (
    <div className={styles.buttons}>
      {!isDone && <ConnectGitHub returnTo="/setup" />}
      {organization !== undefined && (
        <ButtonLink to="/orgs/$org/git-hosts" params={{ org: organization.slug }} search={{ from: 'setup' }}>
          {isDone ? 'Git hosts' : 'GitLab, Gitea, Forgejo or Bitbucket'}
        </ButtonLink>
      )}
    </div>
  );
}

function DocsLink({ page, children }: { readonly page: string; readonly children: string }) {
  return (
    <a className="link" href={`/docs/${page}`} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}

function AiStep({ isDone }: StepProps) {
  const organization = useOrganization();
  const mock = useChange({
    queryKey: setupKey,
    act: (id: string) =>
      dataOf(
        api.put('/orgs/:id/ai/providers/:name', { params: { id, name: 'mock' }, body: { kind: 'mock', url: '' } }),
      ),
    failed: 'Could not add the mock provider',
  });
  if (organization === undefined) return null;
  return (
    <div className={styles.buttons}>
      <ButtonLink to="/orgs/$org/ai" params={{ org: organization.slug }}>
        AI providers
      </ButtonLink>
      {!isDone && (
        <Button onClick={() => mock.mutate(organization.id)} isPending={mock.isPending}>
          Use the mock provider
        </Button>
      )}
    </div>
  );
}

function BackupsStep() {
  return (
    <div className={styles.buttons}>
      <ButtonLink to="/operator/backups">Backups</ButtonLink>
    </div>
  );
}

function MailStep() {
  return (
    <>
      <MailServerForm />
      <MailTestForm />
    </>
  );
}

function InvitationsStep() {
  const organization = useOrganization();
  const invite = useChange({
    queryKey: setupKey,
    act: (id: string) => dataOf(api.post('/orgs/:id/invitations', { params: { id }, body: { role: 'member' } })),
    failed: 'Could not create the invitation',
  });
  if (organization === undefined) return null;
  const url = invite.data?.url ?? null;
  return (
    <>
      <div className={styles.buttons}>
        <Button onClick={() => invite.mutate(organization.id)} isPending={invite.isPending}>
          Create invitation link
        </Button>
        <ButtonLink to="/orgs/$org/members" params={{ org: organization.slug }}>
          Members
        </ButtonLink>
      </div>
      {url !== null && (
        <>
          <p className={styles.soft}>The link is shown once, works once, and expires in 7 days.</p>
          <CodeBlock code={url} wraps />
        </>
      )}
    </>
  );
}

const EXAMPLE = 'static';

function ExampleStep({ isDone }: StepProps) {
  const client = useQueryClient();
  const organization = useOrganization();
  const deploy = useMutation({
    async mutationFn(organizationId: string) {
      const { id } = await createNamed(EXAMPLE, organizationId);
      return dataOf(api.post('/projects/:id/template', { params: { id }, body: { template: EXAMPLE } }));
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ['projects'] }),
  });
  if (organization === undefined || isDone) return null;
  return (
    <div className={styles.buttons}>
      <Button
        onClick={() => deploy.mutate(organization.id)}
        isPending={deploy.isPending}
        disabled={deploy.data !== undefined}
      >
        Deploy an example
      </Button>
      {deploy.data !== undefined && (
        <>
          <State tone="running">Building</State>
          <ButtonLink to="/deployments/$deployment" params={{ deployment: deploy.data.deploymentId }}>
            Build log
          </ButtonLink>
        </>
      )}
      {deploy.error !== null && <span role="alert">{wordsOf(deploy.error)}</span>}
    </div>
  );
}
