// Inserts a row: a field for each column, and the statement before it runs.
import { PlusIcon } from '@radix-ui/react-icons';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, Input, Select } from '../../components/field.tsx';
import type { BindingPlace, DatabaseTable } from '../../queries/resources.ts';
import { cellKinds, kindOf, shownLiteral, toCell, type CellKind } from './cell-kinds.ts';
import { targetOf, useChanges } from './changes.tsx';
import { insertOf, runStatement } from './statements.ts';
import styles from './storage.module.css';
import type { Cell } from './value.tsx';

/** The input for a column; `default` leaves the column out of the statement. */
interface Typed {
  readonly kind: CellKind | 'default';
  readonly text: string;
}

export function InsertRow({ place, table }: { readonly place: BindingPlace; readonly table: DatabaseTable }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <PlusIcon />
        Insert row
      </Button>
      {isOpen && <InsertForm place={place} table={table} onClose={() => setOpen(false)} />}
    </>
  );
}

function InsertForm({
  place,
  table,
  onClose,
}: {
  readonly place: BindingPlace;
  readonly table: DatabaseTable;
  readonly onClose: () => void;
}) {
  const { change, isPending, question } = useChanges(place);
  const [typed, setTyped] = useState<readonly Typed[]>(() => table.columns.map(() => ({ kind: 'default', text: '' })));
  const given = table.columns.flatMap(({ name }, at) => {
    const { kind, text } = typed[at]!;
    return kind === 'default' ? [] : [{ name, value: toCell(kind, text) }];
  });
  const names = given.map(({ name }) => name);
  const isValid = given.every(({ value }) => value !== undefined);
  const set = (at: number, next: Typed): void => setTyped(typed.map((one, index) => (index === at ? next : one)));
  const insert = (): void => {
    if (!isValid) return;
    change({
      done: 'Row inserted',
      failed: 'Could not insert the row',
      act: () =>
        runStatement(
          place,
          insertOf(
            table.name,
            names,
            names.map((_, at) => `?${at + 1}`),
          ),
          given.map(({ value }) => value as Cell),
        ),
      after: onClose,
    });
  };
  return (
    <>
      <Dialog
        isOpen
        isWide
        isKept
        onClose={onClose}
        title={`Insert into ${table.name}`}
        description={targetOf(place)}
        onSubmit={insert}
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" disabled={!isValid} isPending={isPending}>
              Insert row
            </Button>
          </>
        }
      >
        {table.columns.map(({ name, type, notNull }, at) => {
          const { kind, text } = typed[at]!;
          const isTyped = kind !== 'default' && kind !== 'null';
          const isWrong = isTyped && toCell(kind, text) === undefined;
          return (
            <Field
              key={name}
              label={name}
              hint={`${type === '' ? 'any' : type}${notNull ? ', NOT NULL' : ''}`}
              error={isWrong ? (kind === 'number' ? 'Invalid number' : 'Invalid base64') : null}
            >
              {(control) => (
                <div className={styles.bar}>
                  <Select
                    className={styles.narrow}
                    aria-label={`Type of ${name}`}
                    value={kind}
                    onChange={(event) => set(at, { kind: event.target.value as Typed['kind'], text })}
                  >
                    <option value="default">Default</option>
                    {cellKinds.map(([id, title]) => (
                      <option key={id} value={id}>
                        {title}
                      </option>
                    ))}
                  </Select>
                  <Input
                    {...control}
                    className={styles.grow}
                    value={kind === 'null' ? 'NULL' : text}
                    placeholder={kind === 'default' ? 'default value' : ''}
                    disabled={kind === 'null'}
                    onChange={(event) =>
                      set(at, {
                        kind: isTyped ? kind : kindOf(null, type),
                        text: event.target.value,
                      })
                    }
                  />
                </div>
              )}
            </Field>
          );
        })}
        <div className={styles.block}>
          <span className={styles.label}>Statement to run</span>
          <CodeBlock
            code={insertOf(
              table.name,
              names,
              given.map(({ value }) => shownLiteral(value)),
            )}
            wraps
          />
        </div>
      </Dialog>
      {question}
    </>
  );
}
