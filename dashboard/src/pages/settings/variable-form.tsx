// The form to create a variable or change its value.
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Checkbox } from '../../components/field.tsx';
import { noteDone } from '../../components/toast.ts';
import type { Variable } from '../../queries/variables.ts';
import { RecordForm } from '../../records/record-form.tsx';
import { WhereFields, type Where } from './where-fields.tsx';

interface VariableFormProps {
  readonly projectId: string;
  /** The variable to change; null for a new one. */
  readonly variable: Variable | null;
  readonly onClose: () => void;
}

export function VariableForm({ projectId, variable, onClose }: VariableFormProps) {
  const [isSecret, setSecret] = useState(variable === null || variable.kind === 'secret');
  const [where, setWhere] = useState<Where>({ scope: 'production' });
  const kind = isSecret ? 'secret' : 'plaintext';
  return (
    <RecordForm
      title={variable === null ? 'New variable' : `Edit ${variable.key}`}
      action={variable === null ? 'Add variable' : 'Save'}
      failed="Could not save the variable"
      queryKey={['variables', projectId]}
      fields={{
        key: {
          label: 'Name',
          isCode: true,
          maxLength: 128,
          pattern: '[A-Za-z_][A-Za-z0-9_]*',
          title: 'Letters, digits and underscores, not starting with a digit',
          placeholder: 'DATABASE_URL',
          value: variable?.key ?? '',
          isShown: () => variable === null,
        },
        value: {
          label: variable?.kind === 'secret' ? 'New value' : 'Value',
          rows: 3,
          isOptional: variable === null,
          value: variable?.value ?? '',
        },
      }}
      act={({ key, value }): Promise<unknown> => {
        if (variable === null) {
          const body = { key, value, kind, ...where } as const;
          return dataOf(api.post('/environment-variables/:projectId', { params: { projectId }, body }));
        }
        const params = { projectId, variableId: variable.id };
        return dataOf(api.patch('/environment-variables/:projectId/:variableId', { params, body: { value, kind } }));
      }}
      onDone={(_, { key }) =>
        noteDone(`${variable?.key ?? key} saved`, 'The variable takes effect on the next deployment.')
      }
      onClose={onClose}
    >
      {variable === null && <WhereFields where={where} onChange={setWhere} />}
      <Checkbox
        label="Secret"
        hint="Available to builds and workers, but never shown again."
        checked={isSecret}
        onChange={({ target }) => setSecret(target.checked)}
      />
    </RecordForm>
  );
}
