// Settings of a project: build, production branch, guarded releases, preview protection, deletion.
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { wordsOf } from '../../api/failure.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmByName } from '../../components/confirm.tsx';
import { Checkbox, Field, FieldRow, Input } from '../../components/field.tsx';
import { Facts, Section } from '../../components/page.tsx';
import { Id } from '../../components/id.tsx';
import { noteDone } from '../../components/toast.ts';
import { Time } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { Secret } from '../../records/secret.tsx';
import { ReleaseForm } from './release-form.tsx';
import { SettingsPage } from './settings-page.tsx';
import styles from './settings.module.css';

type Change = NonNullable<Parameters<typeof patch>[1]>;
const patch = (id: string, body: Partial<Settings>) => dataOf(api.patch('/projects/:id', { params: { id }, body }));

interface Settings {
  description: string;
  visibility: 'private' | 'public';
  defaultBranch: string;
  configPath: string;
  buildCommand: string | null;
  outputDirectory: string | null;
  installCommand: string | null;
  redeployOnVariables: boolean;
  keepDeployments: number | null;
  release: Project['settings']['release'];
  previewPassword: string | null;
}

export function GeneralPage() {
  return (
    <SettingsPage title="General">
      {(project) => (
        // Another project creates a new component, which drops the typed values.
        <General key={project.id} project={project} />
      )}
    </SettingsPage>
  );
}

function General({ project }: { readonly project: Project }) {
  const save = useChange({
    queryKey: ['project'],
    act: (change: Change) => patch(project.id, change),
    failed: 'The settings were not saved',
    onDone: () => noteDone('Settings saved', 'The settings take effect on the next deployment.'),
  });
  return (
    <>
      <Facts
        facts={[
          ['Project', <Id key="id" id={project.id} />],
          ['Created', <Time key="made" at={project.createdAt} />],
          // The kind of the project; null until the platform has built the project.
          ['Kind', project.kind],
        ]}
      />
      <BuildForm project={project} onSave={save.mutate} isPending={save.isPending} />
      <RetentionForm project={project} onSave={save.mutate} isPending={save.isPending} />
      <ReleaseForm
        release={project.settings.release}
        onSave={(release) => save.mutate({ release })}
        isPending={save.isPending}
      />
      <Previews project={project} onSave={save.mutate} isPending={save.isPending} />
      <Deletion project={project} />
    </>
  );
}

interface FormProps {
  readonly project: Project;
  readonly onSave: (change: Change) => void;
  readonly isPending: boolean;
}

function BuildForm({ project, onSave, isPending }: FormProps) {
  const { settings } = project;
  const now = {
    description: project.description,
    defaultBranch: project.defaultBranch,
    configPath: project.configPath,
    installCommand: settings.installCommand ?? '',
    buildCommand: settings.buildCommand ?? '',
    outputDirectory: settings.outputDirectory ?? '',
  };
  const [typed, setTyped] = useState<Partial<typeof now>>({});
  const shown = { ...now, ...typed };
  const changed = (Object.keys(typed) as (keyof typeof now)[]).filter((name) => typed[name] !== now[name]);
  const text = (name: keyof typeof now) => ({
    value: shown[name],
    onChange: (event: { target: { value: string } }) => setTyped({ ...typed, [name]: event.target.value }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const nullable = ['installCommand', 'buildCommand', 'outputDirectory'];
    onSave(
      Object.fromEntries(
        changed.map((name) => [name, nullable.includes(name) && shown[name] === '' ? null : shown[name]]),
      ),
    );
  };
  return (
    <Section title="Build">
      <form className={styles.form} onSubmit={submit}>
        <p className={styles.soft}>
          Settings in <code>platform.yaml</code> override these. Empty fields are detected.
        </p>
        <FieldRow>
          <Field label="Install command">
            {(control) => (
              <Input {...control} {...text('installCommand')} isCode placeholder="detected from the lockfile" />
            )}
          </Field>
          <Field label="Build command">
            {(control) => (
              <Input {...control} {...text('buildCommand')} isCode placeholder="detected from the framework" />
            )}
          </Field>
        </FieldRow>
        <FieldRow>
          <Field label="Output directory" hint="Relative to the root directory">
            {(control) => <Input {...control} {...text('outputDirectory')} isCode placeholder="dist" />}
          </Field>
          <Field label="Root directory" hint="Leave empty for the root of the repository">
            {(control) => <Input {...control} {...text('configPath')} isCode placeholder="apps/web" />}
          </Field>
        </FieldRow>
        <FieldRow>
          <Field label="Production branch" hint="Pushes to this branch are deployed to production">
            {(control) => <Input {...control} {...text('defaultBranch')} isCode required />}
          </Field>
          <Field label="Description">
            {(control) => <Input {...control} {...text('description')} maxLength={500} />}
          </Field>
        </FieldRow>
        <div className={styles.buttons}>
          <Button type="submit" variant="primary" disabled={changed.length === 0} isPending={isPending}>
            Save
          </Button>
          {changed.length > 0 && (
            <Button variant="ghost" onClick={() => setTyped({})}>
              Discard
            </Button>
          )}
        </div>
      </form>
    </Section>
  );
}

function RetentionForm({ project, onSave, isPending }: FormProps) {
  const { keepDeployments, redeployOnVariables } = project.settings;
  const [keep, setKeep] = useState(String(keepDeployments ?? ''));
  return (
    <Section title="Deployments">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          onSave({ keepDeployments: keep === '' ? null : Number(keep) });
        }}
      >
        <Checkbox
          label="Redeploy when variables change"
          hint="Otherwise changes take effect on the next deployment."
          checked={redeployOnVariables}
          onChange={(event) => onSave({ redeployOnVariables: event.target.checked })}
        />
        <div className={styles.inline}>
          <Field
            label="Deployments to keep"
            hint="Per branch; older ones are removed. Leave empty for the platform's default"
          >
            {(control) => (
              <Input
                {...control}
                type="number"
                min={1}
                max={1000}
                value={keep}
                onChange={(event) => setKeep(event.target.value)}
                placeholder="default"
              />
            )}
          </Field>
        </div>
        <div className={styles.buttons}>
          <Button type="submit" disabled={keep === String(keepDeployments ?? '')} isPending={isPending}>
            Save
          </Button>
        </div>
      </form>
    </Section>
  );
}

function Previews({ project, onSave, isPending }: FormProps) {
  const { hasPreviewPassword, hasPreviewBypass } = project.settings;
  const client = useQueryClient();
  const [password, setPassword] = useState('');
  const [token, setToken] = useState<string | null>(null);
  const anew = () => client.invalidateQueries({ queryKey: ['project'] });
  const make = useChange({
    queryKey: ['project'],
    act: () => dataOf(api.post('/projects/:id/preview-bypass', { params: { id: project.id } })),
    failed: 'Could not create the token',
    onDone: (made) => setToken(made.token),
  });
  const end = useChange({
    queryKey: ['project'],
    act: () => dataOf(api.delete('/projects/:id/preview-bypass', { params: { id: project.id } })),
    failed: 'Could not revoke the token',
    onDone: () => void anew(),
  });
  return (
    <Section title="Previews">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          onSave({ previewPassword: password });
          setPassword('');
        }}
      >
        <p className={styles.soft}>
          {hasPreviewPassword ? 'Previews require a password.' : 'Anyone with the URL of a preview can view it.'}{' '}
          Production is not protected.
        </p>
        <div className={styles.inline}>
          <Field
            label={hasPreviewPassword ? 'New password' : 'Password'}
            hint="At least 8 characters. Only a hash is stored"
          >
            {(control) => (
              <Input
                {...control}
                type="password"
                autoComplete="new-password"
                minLength={8}
                maxLength={200}
                value={password}
                onChange={(event) => setPassword(event.target.value)}
              />
            )}
          </Field>
        </div>
        <div className={styles.buttons}>
          <Button type="submit" disabled={password.length < 8} isPending={isPending}>
            {hasPreviewPassword ? 'Change password' : 'Set password'}
          </Button>
          {hasPreviewPassword && <Button onClick={() => onSave({ previewPassword: null })}>Remove password</Button>}
          {hasPreviewPassword && (
            <Button onClick={() => make.mutate(undefined)} isPending={make.isPending}>
              {hasPreviewBypass ? 'Replace bypass token' : 'Create bypass token'}
            </Button>
          )}
          {hasPreviewBypass && (
            <Button variant="ghost" onClick={() => end.mutate(undefined)}>
              Revoke token
            </Button>
          )}
        </div>
        {token !== null && (
          <Secret
            title="Bypass token"
            value={token}
            hint="Send the token as the header x-platform-protection-bypass. The previous token is revoked."
            onClose={() => setToken(null)}
          />
        )}
      </form>
    </Section>
  );
}

function Deletion({ project }: { readonly project: Project }) {
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [isPending, setPending] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    setPending(true);
    try {
      await dataOf(api.delete('/projects/:id', { params: { id: project.id }, query: { name: project.name } }));
      await navigate({ to: '/' });
      noteDone(`${project.name} deleted`);
      client.removeQueries({ queryKey: ['project'] });
      await client.invalidateQueries({ queryKey: ['projects'] });
    } catch (failure) {
      setError(wordsOf(failure));
    }
    setPending(false);
  };
  return (
    <Section title="Delete project">
      <div className={styles.danger}>
        <p>
          All URLs stop working immediately. The data is removed after 30 days; until then, a new project with the same
          name gets it. The name stays reserved.
        </p>
        <Button variant="danger" onClick={() => setAsking(true)}>
          Delete project
        </Button>
      </div>
      <ConfirmByName
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        name={project.name}
        title={`Delete ${project.name}?`}
        action="Delete project"
        onConfirm={() => void remove()}
        isPending={isPending}
        error={error}
      >
        All URLs of all branches stop working. This cannot be undone.
      </ConfirmByName>
    </Section>
  );
}
