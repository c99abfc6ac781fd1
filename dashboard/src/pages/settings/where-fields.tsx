// Form fields for the scope of a variable.
import { Field, FieldRow, Input, Select } from '../../components/field.tsx';
import { scopeWords, type Variable } from '../../queries/variables.ts';

/** Scope in the format of the API. */
export interface Where {
  readonly scope: Variable['scope'];
  readonly branch?: string;
}

interface WhereFieldsProps {
  readonly where: Where;
  readonly onChange: (where: Where) => void;
}

export function WhereFields({ where: { scope, branch = '' }, onChange }: WhereFieldsProps) {
  const choose = (next: Variable['scope']): void => onChange({ scope: next, ...(next === 'branch' && { branch }) });
  return (
    <FieldRow>
      <Field label="Scope">
        {(control) => (
          <Select {...control} value={scope} onChange={({ target }) => choose(target.value as Variable['scope'])}>
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
              onChange={({ target }) => onChange({ scope, branch: target.value })}
            />
          )}
        </Field>
      )}
    </FieldRow>
  );
}
