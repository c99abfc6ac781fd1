// Model aliases of an organization, the models of `auto`, and limits, with a form to change them.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Button } from '../../components/button.tsx';
import { Field, TextArea } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Facts, Section } from '../../components/page.tsx';
import { noteDone } from '../../components/toast.ts';
import { limitText, type AiSettings } from '../../queries/ai.ts';
import { LimitFields, typed, untyped } from './limits.tsx';

interface ModelNamesProps {
  readonly id: string;
  readonly settings: AiSettings;
}

export function ModelNames({ id, settings }: ModelNamesProps) {
  const [isOpen, setOpen] = useState(false);
  const { aliases, auto, limits } = settings;
  const names = Object.entries(aliases);
  return (
    <Section title="Models and limits" actions={<Button onClick={() => setOpen(true)}>Edit</Button>}>
      <Facts
        facts={[
          ['auto', auto.length === 0 ? 'set by the operator' : auto.join(', ')],
          ['Aliases', names.length === 0 ? 'none' : names.map(([name, model]) => `${name} = ${model}`).join(', ')],
          ['Limits', limits.length === 0 ? 'set by the plan' : limits.map(limitText).join(', ')],
        ]}
      />
      {isOpen && <SettingsDialog id={id} settings={settings} onClose={() => setOpen(false)} />}
    </Section>
  );
}

function SettingsDialog({ id, settings, onClose }: ModelNamesProps & { readonly onClose: () => void }) {
  const queries = useQueryClient();
  const [auto, setAuto] = useState(settings.auto.join('\n'));
  const [names, setNames] = useState(
    Object.entries(settings.aliases)
      .map(([name, model]) => `${name} = ${model}`)
      .join('\n'),
  );
  const [limits, setLimits] = useState(typed(settings.limits));
  const linesOf = (text: string): string[] => text.split('\n').flatMap((line) => line.trim() || []);
  const save = useChange({
    queryKey: ['ai-settings', id],
    failed: 'Could not update the settings',
    act: () => {
      const aliases = Object.fromEntries(
        linesOf(names).map((line) => {
          const [name = '', model = ''] = line.split('=').map((part) => part.trim());
          return [name, model];
        }),
      );
      return dataOf(
        api.put('/orgs/:id/ai', { params: { id }, body: { aliases, auto: linesOf(auto), limits: untyped(limits) } }),
      );
    },
    onDone: () => {
      noteDone('Models and limits updated');
      void queries.invalidateQueries({ queryKey: ['ai-month'] });
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title="Models and limits"
      action="Save"
      onSubmit={() => save.mutate(undefined)}
      isPending={save.isPending}
    >
      <Field label="Models of auto, in order" hint="One per line, as provider/model" error={save.problem}>
        {(control) => (
          <TextArea
            {...control}
            rows={3}
            placeholder="openai/gpt-5-mini"
            value={auto}
            onChange={({ target }) => setAuto(target.value)}
          />
        )}
      </Field>
      <Field label="Aliases" hint="One per line, as name = provider/model">
        {(control) => (
          <TextArea
            {...control}
            rows={3}
            placeholder="fast = openai/gpt-5-mini"
            value={names}
            onChange={({ target }) => setNames(target.value)}
          />
        )}
      </Field>
      <LimitFields limits={limits} onChange={setLimits} />
    </FormDialog>
  );
}
