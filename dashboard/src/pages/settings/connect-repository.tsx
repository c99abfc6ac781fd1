// Connects a repository to a project: from the Git host, from the organization, or any remote by URL.
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Checkbox, Field, FieldRow, Input, Select, TextArea } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { noteDone } from '../../components/toast.ts';
import type { Project } from '../../queries/account.ts';
import { RepositoryPicker } from '../projects/repository-picker.tsx';

interface ConnectProps {
  readonly project: Project;
  /** Repositories of the organization. */
  readonly connected: readonly { readonly id: string; readonly fullName: string; readonly source: string }[];
  readonly onClose: () => void;
}

export function ConnectRepository({ project, connected, onClose }: ConnectProps) {
  const [from, setFrom] = useState<'host' | 'remote' | 'connected'>(connected.length > 0 ? 'connected' : 'host');
  const [chosen, setChosen] = useState('');
  const [remote, setRemote] = useState({ url: '', username: '', password: '', sshKey: '', knownHosts: '' });
  const [isNow, setNow] = useState(true);
  const [webhookUrl, setWebhookUrl] = useState<string | null>(null);
  const { organizationId } = project;
  const connect = useChange({
    queryKey: ['project'],
    failed: 'Could not connect the repository',
    act: async () => {
      const made = from === 'connected' ? { repository: { id: chosen }, webhookUrl: null } : await addRepository();
      const body = { repositoryId: made.repository.id, configPath: project.configPath, deploy: isNow };
      await dataOf(api.post('/projects/:id/repository', { params: { id: project.id }, body }));
      return made.webhookUrl;
    },
    onDone: (url) => {
      noteDone(
        'Repository connected',
        isNow ? 'The production branch is being deployed.' : 'The next push will be deployed.',
      );
      setWebhookUrl(url);
      if (url === null) onClose();
    },
  });
  const addRepository = () => {
    if (from === 'remote') {
      const given = Object.fromEntries(Object.entries(remote).filter(([, value]) => value !== '')) as { url: string };
      return dataOf(api.post('/repositories', { body: { organizationId, source: 'remote', ...given } }));
    }
    const [installationId = '', hostId = ''] = chosen.split('/');
    return dataOf(api.post('/repositories', { body: { organizationId, source: 'git-host', installationId, hostId } }));
  };
  if (webhookUrl !== null)
    return (
      <Dialog isOpen onClose={onClose} title="Set up the push webhook" footer={<Button onClick={onClose}>Done</Button>}>
        <p>Configure the remote to POST to this URL after each push. The URL is shown only once.</p>
        <CodeBlock code={webhookUrl} wraps />
      </Dialog>
    );
  const typed = (name: keyof typeof remote) => ({
    value: remote[name],
    onChange: ({ target }: { target: { value: string } }) => setRemote({ ...remote, [name]: target.value }),
  });
  return (
    <FormDialog
      onClose={onClose}
      title="Connect repository"
      onSubmit={() => connect.mutate(undefined)}
      action="Connect"
      isPending={connect.isPending}
      isDisabled={from === 'remote' ? remote.url === '' : chosen === ''}
    >
      <Field label="Source">
        {(control) => (
          <Select
            {...control}
            value={from}
            onChange={({ target }) => (setFrom(target.value as typeof from), setChosen(''))}
          >
            {connected.length > 0 && <option value="connected">Repository of the organization</option>}
            <option value="host">Git host</option>
            <option value="remote">Other Git remote</option>
          </Select>
        )}
      </Field>
      {connect.problem !== null && <Notice tone="failed" title={connect.problem} />}
      {from === 'connected' && (
        <Field label="Repository">
          {(control) => (
            <Select {...control} value={chosen} onChange={({ target }) => setChosen(target.value)}>
              <option value="">Select a repository</option>
              {connected.map(({ id, fullName }) => (
                <option key={id} value={id}>
                  {fullName}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      {from === 'host' && (
        <RepositoryPicker
          organizationId={organizationId}
          value={chosen}
          onChange={setChosen}
          returnTo={`/projects/${project.name}/settings/git`}
        />
      )}
      {from === 'remote' && (
        <>
          <Field label="URL">
            {(control) => (
              <Input
                {...control}
                {...typed('url')}
                isCode
                required
                maxLength={2048}
                placeholder="https://git.example.com/team/app.git"
              />
            )}
          </Field>
          <FieldRow>
            <Field label="Username">{(control) => <Input {...control} {...typed('username')} maxLength={255} />}</Field>
            <Field label="Password or token">
              {(control) => (
                <Input
                  {...control}
                  {...typed('password')}
                  type="password"
                  autoComplete="new-password"
                  maxLength={4096}
                />
              )}
            </Field>
          </FieldRow>
          <Field label="SSH key" hint="For ssh:// URLs, instead of a password">
            {(control) => <TextArea {...control} {...typed('sshKey')} rows={2} maxLength={20_000} />}
          </Field>
        </>
      )}
      <Checkbox
        label="Deploy the production branch now"
        checked={isNow}
        onChange={({ target }) => setNow(target.checked)}
      />
    </FormDialog>
  );
}
