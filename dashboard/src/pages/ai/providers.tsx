// An organization's own providers: create, disable, delete. A stored API key is never shown again.
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Confirm } from '../../components/confirm.tsx';
import { Field, FieldRow, Input, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { MenuItem, ActionsMenu } from '../../components/menu.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import type { AiProvider } from '../../queries/ai.ts';
import { AddButton } from '../../records/add-button.tsx';

const kinds: Readonly<Record<AiProvider['kind'], readonly [title: string, url: string]>> = {
  openai: ['OpenAI or compatible', 'https://api.openai.com/v1'],
  anthropic: ['Anthropic', 'https://api.anthropic.com/v1'],
  google: ['Google', 'https://generativelanguage.googleapis.com/v1beta'],
  mock: ['Mock: generated responses, for tests', ''],
};

interface AiProvidersProps {
  readonly id: string;
  readonly providers: readonly AiProvider[];
}

export function AiProviders({ id, providers }: AiProvidersProps) {
  const queryKey = ['ai-settings', id];
  const [edited, setEdited] = useState<AiProvider | null>(null);
  const [deleted, setDeleted] = useState<AiProvider | null>(null);
  const change = useChange({
    queryKey,
    failed: 'Could not update the provider',
    act: ({ name, kind, url, models, enabled }: AiProvider) =>
      dataOf(
        api.put('/orgs/:id/ai/providers/:name', {
          params: { id, name },
          body: { kind, url, models, enabled: !enabled },
        }),
      ),
  });
  const remove = useChange({
    queryKey,
    failed: 'Could not delete the provider',
    act: (name: string) => dataOf(api.delete('/orgs/:id/ai/providers/:name', { params: { id, name } })),
  });
  const columns: readonly Column<AiProvider>[] = [
    { id: 'name', header: 'Name', phone: 'first', cell: ({ name }) => <strong>{name}</strong> },
    { id: 'kind', header: 'API', isFitted: true, cell: ({ kind }) => kind },
    { id: 'url', header: 'URL', cell: ({ url }) => <code>{url}</code> },
    { id: 'key', header: 'Key', isFitted: true, cell: ({ hasKey }) => (hasKey ? 'set' : 'none') },
    {
      id: 'state',
      header: 'Status',
      isFitted: true,
      cell: ({ enabled }) => <State tone={enabled ? 'ok' : 'neutral'}>{enabled ? 'Enabled' : 'Disabled'}</State>,
    },
  ];
  return (
    <Section
      title="Providers"
      actions={
        <AddButton label="New provider" isPrimary={false}>
          {({ onClose }) => <ProviderDialog id={id} before={null} onClose={onClose} />}
        </AddButton>
      }
    >
      {providers.length === 0 ? (
        <EmptyState title="No providers">Calls use the providers of the platform's operator.</EmptyState>
      ) : (
        <Table
          label="Providers"
          columns={columns}
          actions={(provider) => (
            <ActionsMenu of={provider.name}>
              <MenuItem onSelect={() => setEdited(provider)}>Edit</MenuItem>
              <MenuItem onSelect={() => change.mutate(provider)}>{provider.enabled ? 'Disable' : 'Enable'}</MenuItem>
              <MenuItem isDanger onSelect={() => setDeleted(provider)}>
                Delete
              </MenuItem>
            </ActionsMenu>
          )}
          rows={providers}
          rowKey={({ name }) => name}
        />
      )}
      {edited !== null && <ProviderDialog id={id} before={edited} onClose={() => setEdited(null)} />}
      <Confirm
        isOpen={deleted !== null}
        onClose={() => setDeleted(null)}
        title={`Delete ${deleted?.name ?? ''}?`}
        action="Delete provider"
        isDanger
        onConfirm={() => {
          remove.mutate(deleted!.name);
          setDeleted(null);
        }}
      >
        Its key is deleted too. Calls to its models will fail.
      </Confirm>
    </Section>
  );
}

interface ProviderDialogProps {
  readonly id: string;
  /** The provider to change; null for a new one. */
  readonly before: AiProvider | null;
  readonly onClose: () => void;
}

function ProviderDialog({ id, before, onClose }: ProviderDialogProps) {
  const [kind, setKind] = useState<AiProvider['kind']>(before?.kind ?? 'openai');
  const [name, setName] = useState(before?.name ?? 'openai');
  const [url, setUrl] = useState(before?.url ?? kinds.openai[1]);
  const [key, setKey] = useState('');
  const [models, setModels] = useState(before?.models.join(', ') ?? '');
  const save = useChange({
    queryKey: ['ai-settings', id],
    failed: 'Could not save the provider',
    act: () => {
      const listed = models.split(',').flatMap((model) => model.trim() || []);
      const body = { kind, url, models: listed, enabled: before?.enabled ?? true, ...(key !== '' && { key }) };
      return dataOf(api.put('/orgs/:id/ai/providers/:name', { params: { id, name }, body }));
    },
    onDone: onClose,
  });
  return (
    <FormDialog
      onClose={onClose}
      title={before === null ? 'New provider' : before.name}
      description="Call the provider's models as name/model."
      action={before === null ? 'Create provider' : 'Save provider'}
      onSubmit={() => save.mutate(undefined)}
      isPending={save.isPending}
    >
      <FieldRow>
        <Field label="API">
          {(control) => (
            <Select
              {...control}
              value={kind}
              onChange={({ target }) => {
                const next = target.value as AiProvider['kind'];
                setKind(next);
                if (before === null) {
                  setName(next);
                  setUrl(kinds[next][1]);
                }
              }}
            >
              {Object.entries(kinds).map(([one, [title]]) => (
                <option key={one} value={one}>
                  {title}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Name" error={save.problem}>
          {(control) => (
            <Input
              {...control}
              isCode
              required
              disabled={before !== null}
              maxLength={40}
              pattern="[a-z][a-z0-9\-]*"
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
      </FieldRow>
      {kind !== 'mock' && (
        <>
          <Field label="URL" hint="Includes the API version; https and a public address">
            {(control) => (
              <Input
                {...control}
                isCode
                type="url"
                required
                maxLength={2048}
                value={url}
                onChange={({ target }) => setUrl(target.value)}
              />
            )}
          </Field>
          <Field
            label="Key"
            hint={
              before?.hasKey === true
                ? 'Leave empty to keep the current key; changing the URL requires it again'
                : 'Stored encrypted, never shown again'
            }
          >
            {(control) => (
              <Input
                {...control}
                isCode
                type="password"
                maxLength={4096}
                value={key}
                onChange={({ target }) => setKey(target.value)}
              />
            )}
          </Field>
        </>
      )}
      <Field label="Models" hint="For model lists, separated by commas. Other models can be called too">
        {(control) => <Input {...control} isCode value={models} onChange={({ target }) => setModels(target.value)} />}
      </Field>
    </FormDialog>
  );
}
