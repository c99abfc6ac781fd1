// Creates a project: from a Git repository, which is built at once, or empty, to be deployed from the user's machine.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useRef, useState, type FormEvent } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { wordsOf } from '../../api/failure.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Field, FieldRow, Input, Select } from '../../components/field.tsx';
import { Notice } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Prose } from '../../components/prose.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { userQuery } from '../../queries/account.ts';
import type { NewProjectSearch, Source } from '../../queries/new-project-search.ts';
import styles from './projects.module.css';
import { DeployKey, isSsh } from './deploy-key.tsx';
import { RepositoryPicker, useGitSources } from './repository-picker.tsx';
import { Templates } from './templates.tsx';

export function NewProjectPage() {
  const { data: user, error, refetch } = useQuery(userQuery);
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
            <Form organizations={organizations} />
          </Section>
        </>
      )}
    </Page>
  );
}

interface FormProps {
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
}

function Form({ organizations }: FormProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { from: way = 'machine' } = useSearch({ strict: false }) as NewProjectSearch;
  const setWay = (from: Source): void =>
    void navigate({ to: '/new', search: from === 'machine' ? {} : { from }, replace: true });
  const [organizationId, setOrganizationId] = useState(organizations[0]!.id);
  const sources = useGitSources(organizationId) ?? [];
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [secret, setSecret] = useState('');
  const [deployKey, setDeployKey] = useState('');
  const [hosted, setHosted] = useState('');
  const [folder, setFolder] = useState('');
  const made = useRef(new Map<string, Promise<unknown>>());
  /** Runs a step, unless it has already succeeded with the same values: then its result is reused. */
  const once = async <Result,>(step: () => Promise<Result>, ...values: readonly string[]): Promise<Result> => {
    const key = JSON.stringify(values);
    const known = made.current.get(key) as Promise<Result> | undefined;
    const result = known ?? step();
    made.current.set(key, result);
    result.catch(() => made.current.delete(key));
    return result;
  };
  const { mutate, isPending, error } = useMutation({
    async mutationFn() {
      // The repository is connected first, so that a failure leaves no project without a repository.
      const repositoryId = await once(
        () => connect({ way, organizationId, url, secret, hosted, deployKey }),
        way,
        organizationId,
        ...(way === 'git-host' ? [hosted] : [url, secret, deployKey]),
      );
      const body = { name, organizationId };
      const project = await once(() => dataOf(api.post('/projects', { body })), 'project', name, organizationId);
      if (repositoryId === null) return { project, deploymentId: null };
      const connection = { repositoryId, configPath: folder, deploy: true };
      const { deploymentId } = await dataOf(
        api.post('/projects/:id/repository', { params: { id: project.id }, body: connection }),
      );
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
        <Choice
          way="git-host"
          chosen={way}
          onChoose={setWay}
          title={sources.length === 1 ? `Repository on ${sources[0]!.label}` : 'Repository on a Git host'}
          hint="Every push is deployed, and pull requests get previews."
        />
        <Choice
          way="remote"
          chosen={way}
          onChoose={setWay}
          title="Git repository by URL"
          hint="Any server, over https or ssh. Cloned and built at once."
        />
      </fieldset>
      {way === 'git-host' && (
        <RepositoryPicker
          organizationId={organizationId}
          value={hosted}
          onChange={(id, fullName) => {
            setHosted(id);
            if (fullName !== '') named(fullName);
          }}
          returnTo="/new?from=git-host"
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
          {isSsh(url) ? (
            <DeployKey organizationId={organizationId} onKey={setDeployKey} />
          ) : (
            <Field label="Access token" hint="For private repositories over https. Stored encrypted.">
              {(control) => (
                <Input
                  {...control}
                  type="password"
                  value={secret}
                  onChange={(event) => setSecret(event.target.value)}
                />
              )}
            </Field>
          )}
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
              autoFocus={way === 'machine'}
            />
          )}
        </Field>
        {organizations.length > 1 && (
          <Field label="Organization">
            {(control) => (
              <Select
                {...control}
                value={organizationId}
                onChange={(event) => (setOrganizationId(event.target.value), setHosted(''))}
              >
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
          <Prose text={wordsOf(error)} />
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
  readonly way: Source;
  readonly chosen: Source;
  readonly onChoose: (way: Source) => void;
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

/** @returns the ID of the repository; null for "My machine". */
async function connect(given: {
  readonly way: Source;
  readonly organizationId: string;
  readonly url: string;
  readonly secret: string;
  readonly hosted: string;
  readonly deployKey: string;
}): Promise<string | null> {
  const { way, organizationId, url, secret, hosted, deployKey } = given;
  if (way === 'machine') return null;
  const [installationId = '', hostId = ''] = hosted.split('/');
  const body =
    way === 'git-host'
      ? { organizationId, source: 'git-host' as const, installationId, hostId }
      : {
          organizationId,
          source: 'remote' as const,
          url,
          ...(isSsh(url) ? deployKey !== '' && { deployKey } : secret !== '' && { password: secret }),
        };
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
