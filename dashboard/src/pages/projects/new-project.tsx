// A new project, from a Git repository, which is built at once, or empty, to be deployed from a machine.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { wordsOf } from '../../api/failure.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Field, FieldRow, Input, Select } from '../../components/field.tsx';
import { ErrorState, Notice } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { userQuery } from '../../queries/account.ts';
import { addressesQuery } from '../../queries/deployments.ts';
import styles from './projects.module.css';
import { Templates } from './templates.tsx';

type Way = 'machine' | 'remote' | 'git-host';

export function NewProjectPage() {
  const { data: user, error, refetch } = useQuery(userQuery);
  const { data: addresses } = useQuery(addressesQuery);
  const organizations = (user?.organizations ?? []).filter(({ role }) => role !== 'viewer');
  return (
    <Page title="New project">
      {user === undefined ? (
        <Unloaded what="your organizations" error={error} refetch={refetch} rows={3} />
      ) : organizations.length === 0 ? (
        <Notice tone="warning" title="You cannot create projects">
          <p>You are a viewer in all your organizations. Ask an owner or admin to make you a member.</p>
        </Notice>
      ) : (
        <>
          <Templates organizations={organizations} />
          <Section title="Bring your own code">
            <Form organizations={organizations} gitHost={addresses?.gitHost ?? null} />
          </Section>
        </>
      )}
    </Page>
  );
}

interface FormProps {
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
  readonly gitHost: string | null;
}

function Form({ organizations, gitHost }: FormProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [way, setWay] = useState<Way>('machine');
  const [organizationId, setOrganizationId] = useState(organizations[0]!.id);
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [secret, setSecret] = useState('');
  const [hosted, setHosted] = useState('');
  const [folder, setFolder] = useState('');
  const { mutate, isPending, error } = useMutation({
    async mutationFn() {
      // Connect the repository first, so that a failure leaves no project without it.
      const repositoryId = await connect({ way, organizationId, url, secret, hosted });
      const project = await dataOf(api.post('/projects', { body: { name, organizationId } }));
      if (repositoryId === null) return { project, deploymentId: null };
      const body = { repositoryId, configPath: folder, deploy: true };
      const { deploymentId } = await dataOf(api.post('/projects/:id/repository', { params: { id: project.id }, body }));
      return { project, deploymentId };
    },
    onSuccess({ project, deploymentId }) {
      void queries.invalidateQueries({ queryKey: ['projects'] });
      if (deploymentId === null) return navigate({ to: '/projects/$project', params: { project: project.name } });
      return navigate({ to: '/deployments/$deployment', params: { deployment: deploymentId } });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    mutate();
  };
  const named = (from: string): void => {
    if (name === '') setName(nameFrom(from));
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <fieldset className={styles.choices}>
        <legend>Source code</legend>
        <Choice
          way="machine"
          chosen={way}
          onChoose={setWay}
          title="My machine"
          hint="Deploy a folder with the CLI, or git push to the platform."
        />
        {gitHost !== null && (
          <Choice
            way="git-host"
            chosen={way}
            onChoose={setWay}
            title={`Repository on ${new URL(gitHost).host}`}
            hint="Every push is deployed, and pull requests get previews."
          />
        )}
        <Choice
          way="remote"
          chosen={way}
          onChoose={setWay}
          title="Git repository by URL"
          hint="Any server, over https or ssh. Cloned and built at once."
        />
      </fieldset>
      {way === 'git-host' && (
        <HostedRepositories
          organizationId={organizationId}
          value={hosted}
          onChange={(id, fullName) => (setHosted(id), named(fullName))}
        />
      )}
      {way === 'remote' && (
        <>
          <Field label="Repository URL">
            {(control) => (
              <Input
                {...control}
                isCode
                required
                placeholder="https://git.example.com/acme/shop.git"
                value={url}
                onChange={(event) => setUrl(event.target.value)}
                onBlur={() => named(url)}
              />
            )}
          </Field>
          <Field label="Access token" hint="For private repositories over https. Stored encrypted.">
            {(control) => (
              <Input {...control} type="password" value={secret} onChange={(event) => setSecret(event.target.value)} />
            )}
          </Field>
        </>
      )}
      <FieldRow>
        <Field label="Name" hint="Part of the project's URLs: lower-case letters, digits and hyphens.">
          {(control) => (
            <Input
              {...control}
              required
              maxLength={40}
              placeholder="my-app"
              value={name}
              onChange={(event) => setName(event.target.value)}
              autoFocus
            />
          )}
        </Field>
        {organizations.length > 1 && (
          <Field label="Organization">
            {(control) => (
              <Select {...control} value={organizationId} onChange={(event) => setOrganizationId(event.target.value)}>
                {organizations.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
      </FieldRow>
      {way !== 'machine' && (
        <Field
          label="Root directory"
          hint="Folder of platform.yaml or package.json. Leave empty for the root of the repository."
        >
          {(control) => (
            <Input
              {...control}
              isCode
              placeholder="apps/shop"
              value={folder}
              onChange={(event) => setFolder(event.target.value)}
            />
          )}
        </Field>
      )}
      {error !== null && (
        <p className={styles.error} role="alert">
          {wordsOf(error)}
        </p>
      )}
      <div className={styles.buttons}>
        <Button type="submit" variant="primary" isPending={isPending}>
          {way === 'machine' ? 'Create project' : 'Create and deploy'}
        </Button>
        <ButtonLink to="/">Cancel</ButtonLink>
      </div>
    </form>
  );
}

interface ChoiceProps {
  readonly way: Way;
  readonly chosen: Way;
  readonly onChoose: (way: Way) => void;
  readonly title: string;
  readonly hint: string;
}

function Choice({ way, chosen, onChoose, title, hint }: ChoiceProps) {
  return (
    <label className={styles.choice}>
      <input type="radio" name="way" value={way} checked={chosen === way} onChange={() => onChoose(way)} />
      <strong>{title}</strong>
      <small>{hint}</small>
    </label>
  );
}

interface HostedProps {
  readonly organizationId: string;
  /** `installation/id` of the selected repository. */
  readonly value: string;
  readonly onChange: (id: string, fullName: string) => void;
}

function HostedRepositories({ organizationId, value, onChange }: HostedProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['connectable', organizationId],
    queryFn: ({ signal }) => dataOf(api.get('/git-host/repositories', { query: { organizationId }, signal })),
  });
  if (error !== null)
    return <ErrorState title="Could not load your repositories" error={error} onRetry={() => void refetch()} />;
  const found = data?.repositories ?? [];
  return (
    <Field label="Repository" hint="Repositories that you can push to and where the platform's app is installed.">
      {(control) => (
        <Select
          {...control}
          required
          value={value}
          onChange={({ target }) => onChange(target.value, target.selectedOptions[0]?.text ?? '')}
        >
          <option value="" disabled>
            {data === undefined ? 'Loading…' : found.length === 0 ? 'No repositories' : 'Select a repository'}
          </option>
          {found
            .filter(({ mayPush, isArchived }) => mayPush && !isArchived)
            .map(({ installationId, hostId, fullName }) => (
              <option key={hostId} value={`${installationId}/${hostId}`}>
                {fullName}
              </option>
            ))}
        </Select>
      )}
    </Field>
  );
}

/** @returns the ID of the repository; null for "My machine". */
async function connect(given: {
  readonly way: Way;
  readonly organizationId: string;
  readonly url: string;
  readonly secret: string;
  readonly hosted: string;
}): Promise<string | null> {
  const { way, organizationId, url, secret, hosted } = given;
  if (way === 'machine') return null;
  const [installationId = '', hostId = ''] = hosted.split('/');
  const body =
    way === 'git-host'
      ? { organizationId, source: 'git-host' as const, installationId, hostId }
      : { organizationId, source: 'remote' as const, url, ...(secret !== '' && { password: secret }) };
  const { repository } = await dataOf(api.post('/repositories', { body }));
  return repository.id;
}

/** @example nameFrom('https://git.example.com/acme/My_Shop.git') // 'my-shop' */
function nameFrom(address: string): string {
  const last = address.replace(/\/+$/, '').split(/[/:]/).at(-1) ?? '';
  return last
    .replace(/\.git$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
}
