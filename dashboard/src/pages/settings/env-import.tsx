// Import of variables: the text of a .env file is read in the browser, shown, and set all at once or not at all.
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../api/use-change.ts';
import { Checkbox, Field, TextArea } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { noteDone } from '../../components/toast.tsx';
import { readEnvText } from './env-text.ts';
import styles from './settings.module.css';
import { WhereFields, type Where } from './where-fields.tsx';

/** Of one import, as the API takes it. */
const VARIABLES_MAX = 500;
const NAMES_SHOWN = 12;

export function EnvImport({ projectId, onClose }: { readonly projectId: string; readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [where, setWhere] = useState<Where>({ scope: 'production' });
  const [isSecret, setSecret] = useState(true);
  const { variables, problems } = readEnvText(text);
  const save = useChange({
    queryKey: ['variables', projectId],
    failed: 'Nothing was imported',
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
      noteDone(`${items.length} variables set`, 'The next deployment has them.');
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
      description="Those that are there already get the new value."
      onSubmit={() => canSave && save.mutate(undefined)}
      action={variables.length === 0 ? 'Import' : `Set ${variables.length} variables`}
      isPending={save.isPending}
      isDisabled={!canSave}
    >
      <Field label="Text of a .env file">
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
        <Notice
          tone="failed"
          title={`${problems.length === 1 ? 'A line is' : `${problems.length} lines are`} not understood`}
        >
          {problems.slice(0, 5).map(({ line, reason }) => (
            <p key={line}>
              Line {line}: {reason}
            </p>
          ))}
        </Notice>
      )}
      {variables.length > VARIABLES_MAX && (
        <Notice tone="failed" title={`At most ${VARIABLES_MAX} at once: these are ${variables.length}`} />
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
        hint="Their values are never shown again."
        checked={isSecret}
        onChange={({ target }) => setSecret(target.checked)}
      />
    </FormDialog>
  );
}
