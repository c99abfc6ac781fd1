// The form to create a variable or change its value.
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Checkbox, Field, Input, TextArea } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { noteDone } from '../../components/toast.tsx';
import type { Variable } from '../../queries/variables.ts';
import { WhereFields, type Where } from './where-fields.tsx';

interface VariableFormProps {
  readonly projectId: string;
  /** Null: a new one. */
  readonly variable: Variable | null;
  readonly onClose: () => void;
}

export function VariableForm({ projectId, variable, onClose }: VariableFormProps) {
  const [key, setKey] = useState(variable?.key ?? '');
  const [value, setValue] = useState(variable?.value ?? '');
  const [isSecret, setSecret] = useState(variable === null || variable.kind === 'secret');
  const [where, setWhere] = useState<Where>({ scope: 'production' });
  const kind = isSecret ? 'secret' : 'plaintext';
  const save = useChange({
    queryKey: ['variables', projectId],
    failed: `Could not save ${key}`,
    act: async () => {
      if (variable === null) {
        const body = { key, value, kind, ...where } as const;
        return await dataOf(api.post('/environment-variables/:projectId', { params: { projectId }, body }));
      }
      const params = { projectId, variableId: variable.id };
      return await dataOf(
        api.patch('/environment-variables/:projectId/:variableId', { params, body: { value, kind } }),
      );
    },
    onDone: () => {
      noteDone(`${key} saved`, 'It takes effect on the next deployment.');
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title={variable === null ? 'New variable' : `Edit ${variable.key}`}
      onSubmit={() => save.mutate(undefined)}
      action={variable === null ? 'Add variable' : 'Save'}
      isPending={save.isPending}
    >
      {variable === null && (
        <Field label="Name" error={save.problem}>
          {(control) => (
            <Input
              {...control}
              isCode
              required
              autoFocus
              maxLength={128}
              pattern="[A-Za-z_][A-Za-z0-9_]*"
              title="Letters, digits and underscores, not starting with a digit"
              placeholder="DATABASE_URL"
              value={key}
              onChange={({ target }) => setKey(target.value)}
            />
          )}
        </Field>
      )}
      <Field
        label={variable === null || variable.kind === 'plaintext' ? 'Value' : 'New value'}
        error={variable === null ? null : save.problem}
      >
        {(control) => (
          <TextArea
            {...control}
            required={variable !== null}
            rows={3}
            dir="auto"
            value={value}
            onChange={({ target }) => setValue(target.value)}
          />
        )}
      </Field>
      {variable === null && <WhereFields where={where} onChange={setWhere} />}
      <Checkbox
        label="Secret"
        hint="Available to builds and workers, but never shown again."
        checked={isSecret}
        onChange={({ target }) => setSecret(target.checked)}
      />
    </FormDialog>
  );
}
