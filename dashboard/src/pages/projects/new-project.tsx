// A new project: from a Git repository, which is built at once, or empty, for a first deploy from a machine.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { wordsOf } from '../../api/failure.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Field, FieldRow, Input, Select } from '../../components/field.tsx';
import { ErrorState, Notice } from '../../components/notice.tsx';
import { Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { userQuery } from '../../queries/account.ts';
import { addressesQuery } from '../../queries/deployments.ts';
import styles from './projects.module.css';

type Way = 'machine' | 'remote' | 'git-host';

export function NewProjectPage() {
  const { data: user, error, refetch } = useQuery(userQuery);
  const { data: addresses } = useQuery(addressesQuery);
  const organizations = (user?.organizations ?? []).filter(({ role }) => role !== 'viewer');
  return (
    <Page title="New project">
      {user === undefined ? (
        error === null ? (
          <SkeletonRows rows={3} />
        ) : (
          <ErrorState title="Your organizations could not be read" error={error} onRetry={() => void refetch()} />
        )
      ) : organizations.length === 0 ? (
        <Notice tone="warning" title="You cannot make a project in any organization">
          <p>Ask an owner or admin of yours to make you a member, rather than a viewer.</p>
        </Notice>
      ) : (
        <Form organizations={organizations} gitHost={addresses?.gitHost ?? null} />
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
      // The repository first: a project without one that was asked for would be half of what was wanted.
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
        <legend>Where does its code come from?</legend>
        <Choice
          way="machine"
          chosen={way}
          onChoose={setWay}
          title="This machine"
          hint="Deploy a folder with the command line, or git push to the platform."
        />
        {gitHost !== null && (
          <Choice
            way="git-host"
            chosen={way}
            onChoose={setWay}
            title={`A repository of ${new URL(gitHost).host}`}
            hint="Every push is deployed, pull requests get previews."
          />
        )}
        <Choice
          way="remote"
          chosen={way}
          onChoose={setWay}
          title="A Git repository by its address"
          hint="Any server, over https or ssh. It is cloned and built at once."
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
          <Field label="Address of the repository">
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
          <Field label="Access token" hint="For a private repository over https. It is kept encrypted.">
            {(control) => (
              <Input {...control} type="password" value={secret} onChange={(event) => setSecret(event.target.value)} />
            )}
          </Field>
        </>
      )}
      <FieldRow>
        <Field label="Name" hint="Part of its addresses: lower-case letters, digits, hyphens.">
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
        <Field label="Folder in the repository" hint="Where platform.yaml or package.json is; empty for its root.">
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
  /** `installation/id` of the chosen one. */
  readonly value: string;
  readonly onChange: (id: string, fullName: string) => void;
}

function HostedRepositories({ organizationId, value, onChange }: HostedProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['connectable', organizationId],
    queryFn: ({ signal }) => dataOf(api.get('/git-host/repositories', { query: { organizationId }, signal })),
  });
  if (error !== null)
    return <ErrorState title="Your repositories could not be read" error={error} onRetry={() => void refetch()} />;
  const found = data?.repositories ?? [];
  return (
    <Field label="Repository" hint="Those that you may push to, where the platform's application is installed.">
      {(control) => (
        <Select
          {...control}
          required
          value={value}
          onChange={({ target }) => onChange(target.value, target.selectedOptions[0]?.text ?? '')}
        >
          <option value="" disabled>
            {data === undefined ? 'Reading…' : found.length === 0 ? 'There is none' : 'Choose one'}
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

/** @returns the id of the repository; null where the code comes from a machine. */
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
