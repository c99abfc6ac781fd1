// A form for a record, described by its fields: text fields, selects and text areas. A form with other controls uses
// FormDialog.
import type { QueryKey } from '@tanstack/react-query';
import { useState, type ComponentPropsWithRef, type ReactNode } from 'react';
import { Field, Input, Select, TextArea } from '../components/field.tsx';
import { FormDialog } from '../components/form-dialog.tsx';
import { useChange } from './use-change.ts';

type Values<Name extends string> = Readonly<Record<Name, string>>;

type InputProps = Pick<
  ComponentPropsWithRef<'input'>,
  'type' | 'maxLength' | 'pattern' | 'placeholder' | 'title' | 'min' | 'max' | 'step' | 'disabled'
>;

/** A field. Required, unless `isOptional`. */
export interface FormField<Name extends string = string> extends InputProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Initial value; empty by default. */
  readonly value?: string;
  readonly isOptional?: boolean;
  /** Monospace. */
  readonly isCode?: boolean;
  /** The options to choose from, which make the field a select. */
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** Makes the field a text area with this number of lines. */
  readonly rows?: number;
  /** Whether the field is shown; by default, it always is. */
  readonly isShown?: (values: Values<Name>) => boolean;
}

interface RecordFormProps<Name extends string, Result> {
  readonly title: string;
  readonly description?: ReactNode;
  /** Label of the submit button: "Create token". */
  readonly action: string;
  /** The fields, in the order in which the form shows them. Errors of the API are shown at the first field. */
  readonly fields: Readonly<Record<Name, FormField<NoInfer<Name>>>>;
  /** The query whose data changes. */
  readonly queryKey: QueryKey;
  /** Title of an error: "Could not create the token". */
  readonly failed: string;
  /** Calls the API. Values are trimmed, except those of text areas; those of hidden fields are empty. */
  readonly act: (values: Values<NoInfer<Name>>) => Promise<Result>;
  /** Called before the form closes. */
  readonly onDone?: (result: Result, values: Values<NoInfer<Name>>) => void;
  readonly onClose: () => void;
  /** Disables submit, beyond the validation of the fields. */
  readonly isDisabled?: boolean;
  /** Further controls, below the fields. */
  readonly children?: ReactNode;
}

export function RecordForm<Name extends string, Result>(props: RecordFormProps<Name, Result>) {
  const { fields, act, onDone, onClose, queryKey, failed, children, ...dialog } = props;
  const list = Object.entries(fields) as [Name, FormField<Name>][];
  const [values, setValues] = useState(
    () =>
      Object.fromEntries(
        list.map(([name, { value = '', choices }]) => [name, value || (choices?.[0]?.[0] ?? '')]),
      ) as Values<Name>,
  );
  const shown = list.filter(([, { isShown }]) => isShown?.(values) ?? true);
  const change = useChange({
    queryKey,
    failed,
    act: (given: Values<Name>) => act(given),
    onDone(result, given) {
      onDone?.(result, given);
      onClose();
    },
  });
  const submit = (): void => {
    const given = list.map((field) => {
      const [name, { rows }] = field;
      if (!shown.includes(field)) return [name, ''];
      return [name, rows === undefined ? values[name].trim() : values[name]];
    });
    change.mutate(Object.fromEntries(given) as Values<Name>);
  };
  return (
    <FormDialog {...dialog} onClose={onClose} onSubmit={submit} isPending={change.isPending}>
      {shown.map(([name, field], at) => (
        <FieldOf
          key={name}
          field={field}
          value={values[name]}
          isFirst={at === 0}
          error={at === 0 ? change.problem : null}
          onValue={(value) => setValues({ ...values, [name]: value })}
        />
      ))}
      {children}
    </FormDialog>
  );
}

interface FieldOfProps {
  readonly field: FormField;
  readonly value: string;
  readonly isFirst: boolean;
  readonly error: string | null;
  readonly onValue: (value: string) => void;
}

function FieldOf({ field, value, isFirst, error, onValue }: FieldOfProps) {
  const { label, hint, choices, rows, isCode = false, isOptional = false, value: _, isShown: __, ...input } = field;
  const shared = {
    value,
    autoFocus: isFirst,
    onChange: ({ target }: { readonly target: { readonly value: string } }) => onValue(target.value),
  };
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => {
        if (choices !== undefined)
          return (
            <Select {...control} {...shared}>
              {choices.map(([choice, text]) => (
                <option key={choice} value={choice}>
                  {text}
                </option>
              ))}
            </Select>
          );
        if (rows !== undefined)
          return (
            <TextArea
              {...control}
              {...shared}
              dir="auto"
              rows={rows}
              required={!isOptional}
              placeholder={input.placeholder}
            />
          );
        return <Input {...control} {...input} {...shared} isCode={isCode} required={!isOptional} />;
      }}
    </Field>
  );
}
