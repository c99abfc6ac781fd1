// A variable, new or with another value.
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { wordsOf } from '../../api/failure.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Checkbox, Field, FieldRow, Input, Select, TextArea } from '../../components/field.tsx';
import { noteDone } from '../../components/toast.tsx';
import { scopeWords, type Variable } from './variables.tsx';

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
  const [scope, setScope] = useState<Variable['scope']>(variable?.scope ?? 'production');
  const [branch, setBranch] = useState('');
  const [error, setError] = useState<string | null>(null);
  const kind = isSecret ? 'secret' : 'plaintext';
  const save = useChange({
    queryKey: ['variables', projectId],
    failed: `${key} was not saved`,
    act: async () => {
      try {
        if (variable === null) {
          const body = { key, value, kind, scope, ...(scope === 'branch' && { branch }) } as const;
          return await dataOf(api.post('/environment-variables/:projectId', { params: { projectId }, body }));
        }
        const params = { projectId, variableId: variable.id };
        return await dataOf(
          api.patch('/environment-variables/:projectId/:variableId', { params, body: { value, kind } }),
        );
      } catch (failure) {
        setError(wordsOf(failure));
        throw failure;
      }
    },
    onDone: () => {
      noteDone(`${key} saved`, 'The next deployment has it.');
      onClose();
    },
  });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={variable === null ? 'New variable' : `Change ${variable.key}`}
      onSubmit={() => save.mutate(undefined)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" isPending={save.isPending}>
            {variable === null ? 'Add variable' : 'Save'}
          </Button>
        </>
      }
    >
      {variable === null && (
        <Field label="Name" error={error}>
          {(control) => (
            <Input
              {...control}
              isCode
              required
              autoFocus
              maxLength={128}
              pattern="[A-Za-z_][A-Za-z0-9_]*"
              title="Letters, digits and underscores; no digit first"
              placeholder="DATABASE_URL"
              value={key}
              onChange={({ target }) => setKey(target.value)}
            />
          )}
        </Field>
      )}
      <Field
        label={variable === null || variable.kind === 'plaintext' ? 'Value' : 'New value'}
        error={variable === null ? null : error}
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
      {variable === null && (
        <FieldRow>
          <Field label="Where">
            {(control) => (
              <Select {...control} value={scope} onChange={({ target }) => setScope(target.value as Variable['scope'])}>
                {Object.entries(scopeWords).map(([one, label]) => (
                  <option key={one} value={one}>
                    {label}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          {scope === 'branch' && (
            <Field label="Branch">
              {(control) => (
                <Input
                  {...control}
                  isCode
                  required
                  maxLength={255}
                  value={branch}
                  onChange={({ target }) => setBranch(target.value)}
                />
              )}
            </Field>
          )}
        </FieldRow>
      )}
      <Checkbox
        label="Secret"
        hint="Its value goes to builds and workers, and is never shown again."
        checked={isSecret}
        onChange={({ target }) => setSecret(target.checked)}
      />
    </Dialog>
  );
}
