// The form of guarded releases in a project's settings.
import { useState } from 'react';
import { defaultReleaseSettings, releaseRules } from '#core/release-settings.ts';
import { Button } from '../../components/button.tsx';
import { Field, FieldRow, Input } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import type { Project } from '../../queries/account.ts';
import styles from './settings.module.css';

type Release = NonNullable<Project['settings']['release']>;

interface FormProps {
  /** The steps of a guarded release; null means that all visitors get a new deployment at once. */
  readonly release: Release | null;
  readonly onSave: (release: Release | null) => void;
  readonly isPending: boolean;
}

export function ReleaseForm({ release, onSave, isPending }: FormProps) {
  const { steps, ...others } = release ?? defaultReleaseSettings;
  const [typed, setTyped] = useState({ ...others, minutes: String(others.minutes), steps: steps.join(', ') });
  const text = (name: keyof typeof typed) => ({
    value: typed[name],
    required: true,
    onChange: (event: { target: { value: string } }) => setTyped({ ...typed, [name]: event.target.value }),
  });
  return (
    <Section title="Guarded releases">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          const percentages = typed.steps.split(/[ ,%]+/).filter((word) => word !== '');
          onSave({ ...typed, minutes: Number(typed.minutes), steps: percentages.map(Number) });
        }}
      >
        <p className={styles.soft}>
          {release === null
            ? 'A new deployment gets all visitors at once. With steps, a new deployment is compared with the previous deployment, and rolled back if it is worse.'
            : 'A new deployment gets a rising share of the visitors, and is rolled back if it is worse than the previous deployment.'}{' '}
          <code>release</code> in <code>platform.yaml</code> overrides this.
        </p>
        <FieldRow>
          <Field label="Steps" hint="Percentages of the visitors; the last is 100">
            {(control) => <Input {...control} {...text('steps')} isCode pattern="[0-9]+([ ,%]+[0-9]+)*[ %]*" />}
          </Field>
          <Field label="Minutes per step" hint="1 to 240">
            {(control) => (
              <Input
                {...control}
                {...text('minutes')}
                type="number"
                min={releaseRules.minutesMin}
                max={releaseRules.minutesMax}
              />
            )}
          </Field>
        </FieldRow>
        <FieldRow>
          <Field label="Errors" hint="How many more requests may fail, such as 1%">
            {(control) => <Input {...control} {...text('errors')} isCode pattern={releaseRules.errors} />}
          </Field>
          <Field label="p99" hint="Time to first byte, such as 1.5x">
            {(control) => <Input {...control} {...text('p99')} isCode pattern={releaseRules.factor} />}
          </Field>
          <Field label="CPU per request" hint="Such as 2x">
            {(control) => <Input {...control} {...text('cpu')} isCode pattern={releaseRules.factor} />}
          </Field>
        </FieldRow>
        <div className={styles.buttons}>
          <Button type="submit" isPending={isPending}>
            {release === null ? 'Enable' : 'Save'}
          </Button>
          {release !== null && (
            <Button variant="ghost" onClick={() => onSave(null)}>
              Disable
            </Button>
          )}
        </div>
      </form>
    </Section>
  );
}
