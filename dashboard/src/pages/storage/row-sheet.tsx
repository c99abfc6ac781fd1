// Details of a row: full values, changed by a statement that is shown before it runs.
import { ChevronDownIcon, ChevronUpIcon, Pencil1Icon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { Field, Select, TextArea } from '../../components/field.tsx';
import { ErrorState } from '../../components/notice.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { branchOf, keyOf, type BindingPlace, type DatabaseTable } from '../../queries/resources.ts';
import { cellKinds, kindOf, shownLiteral, textOf, toCell, type CellKind } from './cell-kinds.ts';
import { targetOf, useChanges } from './changes.tsx';
import { runStatement, updateOf } from './statements.ts';
import styles from './storage.module.css';
import { cellText, hexText, isCut, LongText, quotedName, sqlLiteral, type Cell } from './value.tsx';

interface RowSheetProps {
  readonly place: BindingPlace;
  readonly table: DatabaseTable;
  readonly keyColumns: readonly string[];
  readonly keyValues: readonly Cell[];
  readonly row: readonly Cell[];
  /** The column whose value is edited when the sheet opens. */
  readonly editedAtFirst?: string | null;
  readonly onClose: () => void;
  readonly onStep: (step: 1 | -1) => void;
}

export function RowSheet(props: RowSheetProps) {
  const { place, table, keyColumns, keyValues, row, editedAtFirst = null, onClose, onStep } = props;
  const [edited, setEdited] = useState(editedAtFirst);
  const [isDeleting, setDeleting] = useState(false);
  const { change, isPending, question } = useChanges(place);
  const hasName = keyColumns.length > 0;
  const where = keyColumns
    .map((name, at) => `${quotedName(name)} IS ${sqlLiteral(keyValues[at] ?? null)}`)
    .join(' AND ');
  const run = (sql: string, params: readonly Cell[], done: string, after: () => void): void =>
    change({
      done,
      failed: 'Could not run the statement',
      act: () => runStatement(place, sql, params),
      after,
    });
  const deletion = `DELETE FROM ${quotedName(table.name)} WHERE ${where}`;
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={keyColumns.map((name, at) => `${name} ${cellText(keyValues[at] ?? null)}`).join(', ') || table.name}
      description={`${table.name}, ${targetOf(place)}`}
      tools={
        <>
          <IconButton size="small" label="Previous row" onClick={() => onStep(-1)}>
            <ChevronUpIcon />
          </IconButton>
          <IconButton size="small" label="Next row" onClick={() => onStep(1)}>
            <ChevronDownIcon />
          </IconButton>
        </>
      }
      footer={
        hasName && (
          <Button variant="danger" onClick={() => setDeleting(true)}>
            Delete row
          </Button>
        )
      }
    >
      {!hasName && (
        <p className={styles.soft}>
          {table.type === 'view' ? 'Rows of a view' : 'Rows without a primary key'} cannot be changed here. Use the SQL
          view.
        </p>
      )}
      {table.columns.map(({ name, type }, at) => {
        const cell = row[at] ?? null;
        return (
          <div key={name} className={styles.block}>
            <div className={styles.more}>
              <span className={styles.label}>
                {name} <span className={styles.faint}>{type}</span>
              </span>
              {hasName && edited !== name && (
                <IconButton size="small" label={`Edit ${name}`} onClick={() => setEdited(name)}>
                  <Pencil1Icon />
                </IconButton>
              )}
            </div>
            {hasName && edited === name ? (
              <Edit
                place={place}
                table={table.name}
                column={name}
                type={type}
                cell={cell}
                keyValues={keyValues}
                where={where}
                isPending={isPending}
                onCancel={() => setEdited(null)}
                onRun={(value) =>
                  run(updateOf(table.name, name, keyColumns), [value, ...keyValues], `${name} updated`, () =>
                    setEdited(null),
                  )
                }
              />
            ) : (
              <Value
                place={place}
                table={table.name}
                column={name}
                cell={cell}
                keyValues={keyValues}
                hasName={hasName}
              />
            )}
          </div>
        );
      })}
      {question}
      <Confirm
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title="Delete this row?"
        action="Delete row"
        isDanger
        isPending={isPending}
        onConfirm={() => {
          const keys = keyColumns.map((key, index) => `${quotedName(key)} IS ?${index + 1}`).join(' AND ');
          setDeleting(false);
          run(`DELETE FROM ${quotedName(table.name)} WHERE ${keys}`, keyValues, 'Row deleted', onClose);
        }}
      >
        Runs this statement on {targetOf(place)}:
        <CodeBlock code={deletion} wraps />
      </Confirm>
    </Sheet>
  );
}

interface CellPlace {
  readonly place: BindingPlace;
  readonly table: string;
  readonly column: string;
  readonly cell: Cell;
  readonly keyValues: readonly Cell[];
}

/** The full value. */
function useWhole({ place, table, column, cell, keyValues }: CellPlace, isWanted: boolean) {
  const whole = useQuery({
    queryKey: keyOf(place, 'db', place.binding, 'cell', table, column, keyValues),
    queryFn: ({ signal }) =>
      dataOf(
        api.post('/projects/:id/databases/:database/cell', {
          params: { id: place.id, database: place.binding },
          query: branchOf(place),
          body: { table, column, key: [...keyValues] },
          signal,
        }),
      ),
    enabled: isCut(cell) && isWanted,
  });
  return isCut(cell) ? { ...whole, value: whole.data?.value as Cell | undefined } : { error: null, value: cell };
}

function Value({ hasName, ...props }: CellPlace & { readonly hasName: boolean }) {
  const { error, value } = useWhole(props, hasName);
  if (error !== null) return <ErrorState title="Could not load the value" error={error} />;
  if (!hasName && isCut(props.cell)) return <span className={styles.mono}>{cellText(props.cell)}</span>;
  if (value === undefined) return <Skeleton height={32} />;
  if (value === null) return <span className={styles.faint}>NULL</span>;
  if (typeof value === 'string')
    return value === '' ? <span className={styles.faint}>empty string</span> : <LongText text={value} />;
  if (typeof value === 'object' && 'b' in value && value.b !== undefined)
    return (
      <>
        <span className={styles.faint}>{cellText(value)}</span>
        <CodeBlock code={hexText(value.b)} />
      </>
    );
  return <span className={styles.mono}>{cellText(value)}</span>;
}

function Edit(
  props: CellPlace & {
    readonly type: string;
    readonly where: string;
    readonly isPending: boolean;
    readonly onCancel: () => void;
    readonly onRun: (value: Cell) => void;
  },
) {
  const { error, value } = useWhole(props, true);
  if (error !== null) return <ErrorState title="Could not load the value" error={error} />;
  if (value === undefined) return <Skeleton height={96} />;
  return <EditForm {...props} value={value} />;
}

function EditForm({
  table,
  column,
  type,
  where,
  value,
  isPending,
  onCancel,
  onRun,
}: Parameters<typeof Edit>[0] & { readonly value: Cell }) {
  const [kind, setKind] = useState<CellKind>(() => kindOf(value, type));
  const [text, setText] = useState(() => textOf(value));
  const next = toCell(kind, text);
  return (
    <form
      className={styles.opened}
      onSubmit={(event) => {
        event.preventDefault();
        if (next !== undefined) onRun(next);
      }}
    >
      <Field label="Type">
        {(control) => (
          <Select {...control} value={kind} onChange={(event) => setKind(event.target.value as CellKind)}>
            {cellKinds.map(([id, title]) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {kind !== 'null' && (
        <Field
          label="Value"
          hint="Ctrl Enter runs the statement"
          error={next !== undefined ? null : kind === 'number' ? 'Invalid number' : 'Invalid base64'}
        >
          {(control) => (
            <TextArea
              {...control}
              rows={4}
              value={text}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                  event.currentTarget.form?.requestSubmit();
              }}
              autoFocus
            />
          )}
        </Field>
      )}
      <div className={styles.block}>
        <span className={styles.label}>Statement to run</span>
        <CodeBlock
          code={`UPDATE ${quotedName(table)} SET ${quotedName(column)} = ${shownLiteral(next)} WHERE ${where}`}
          wraps
        />
      </div>
      <div className={styles.bar}>
        <Button type="submit" variant="primary" disabled={next === undefined} isPending={isPending}>
          Run statement
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
