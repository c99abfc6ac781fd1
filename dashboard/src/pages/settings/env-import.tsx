// Imports variables from a .env file: parsed in the browser, previewed, and set atomically.
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../records/use-change.ts';
import { Checkbox, Field, TextArea } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { noteDone } from '../../components/toast.ts';
import { readEnvText } from './env-text.ts';
import styles from './settings.module.css';
import { WhereFields, type Where } from './where-fields.tsx';

/** Limit of the API per import. */
const VARIABLES_MAX = 500;
const NAMES_SHOWN = 12;

export function EnvImport({ projectId, onClose }: { readonly projectId: string; readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [where, setWhere] = useState<Where>({ scope: 'production' });
  const [isSecret, setSecret] = useState(true);
  const { variables, problems } = readEnvText(text);
  const save = useChange({
    queryKey: ['variables', projectId],
    failed: 'Could not import the variables',
    act: () => {
      const kind = isSecret ? ('secret' as const) : ('plaintext' as const);
      const body = {
        variables: variables.map(({ key, value }) => ({
          key,
          value,
          kind,
          ...where,
        })),
      };
      return dataOf(api.post('/environment-variables/:projectId/import', { params: { projectId }, body }));
    },
    onDone: ({ items }) => {
      noteDone(`${items.length} variables imported`, 'The variables take effect on the next deployment.');
      onClose();
    },
  });
  const names = variables
    .slice(0, NAMES_SHOWN)
    .map(({ key }) => key)
    .join(', ');
  const canSave = variables.length > 0 && variables.length <= VARIABLES_MAX && problems.length === 0;
  return (
    <FormDialog
      isWide
      onClose={onClose}
      title="Import variables"
      description="Existing variables are overwritten."
      onSubmit={() => canSave && save.mutate(undefined)}
      action={variables.length === 0 ? 'Import' : `Import ${variables.length} variables`}
      isPending={save.isPending}
      isDisabled={!canSave}
    >
      <Field label="Content of the .env file">
        {(control) => (
          <TextArea
            {...control}
            rows={9}
            autoFocus
            placeholder={'API_KEY=...\nGREETING="hello"'}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
      {problems.length > 0 && (
        <Notice tone="failed" title={`${problems.length} invalid ${problems.length === 1 ? 'line' : 'lines'}`}>
          {problems.slice(0, 5).map(({ line, reason }) => (
            <p key={line}>
              Line {line}: {reason}
            </p>
          ))}
        </Notice>
      )}
      {variables.length > VARIABLES_MAX && (
        <Notice tone="failed" title={`Too many variables: ${variables.length}, the maximum is ${VARIABLES_MAX}`} />
      )}
      {variables.length > 0 && (
        <p className={styles.soft}>
          {names}
          {variables.length > NAMES_SHOWN && ` and ${variables.length - NAMES_SHOWN} more`}
        </p>
      )}
      <WhereFields where={where} onChange={setWhere} />
      <Checkbox
        label="Secrets"
        hint="Values are never shown again."
        checked={isSecret}
        onChange={({ target }) => setSecret(target.checked)}
      />
    </FormDialog>
  );
}
