// Copies rows to the clipboard as CSV, JSON or SQL.
import { CopyIcon } from '@radix-ui/react-icons';
import { Button } from '../../components/button.tsx';
import { copyText } from '../../components/copy-button.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { noteDone } from '../../components/toast.ts';
import { isCut, quotedName, sqlLiteral, type Cell } from './value.tsx';

interface CopyRowsProps {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Name of the table in INSERT statements. */
  readonly table: string;
  /** Toast detail if only some rows are copied. */
  readonly note?: string | undefined;
}

export function CopyRows({ columns, rows, table, note }: CopyRowsProps) {
  const hasCut = rows.some((row) => row.some(isCut));
  const copy = async (name: string, text: string): Promise<void> => {
    await copyText(text);
    noteDone(
      `${rows.length} ${rows.length === 1 ? 'row' : 'rows'} copied as ${name}`,
      hasCut ? 'Long values were truncated. Open a row to copy a full value.' : note,
    );
  };
  return (
    <Menu
      trigger={
        <Button disabled={rows.length === 0}>
          <CopyIcon />
          Copy
        </Button>
      }
    >
      <MenuItem onSelect={() => void copy('CSV', toCsv(columns, rows))}>As CSV</MenuItem>
      <MenuItem onSelect={() => void copy('JSON', toJson(columns, rows))}>As JSON</MenuItem>
      <MenuItem onSelect={() => void copy('SQL', toSql(columns, rows, table))}>As INSERT statements</MenuItem>
    </Menu>
  );
}

function plain(cell: Cell): string | number | null {
  if (cell === null || typeof cell !== 'object') return cell;
  const { t, b, i, n } = cell as { t?: string; b?: string; i?: string; n?: string };
  return t ?? b ?? i ?? n ?? null;
}

/** CSV by RFC 4180. Texts that a spreadsheet would evaluate as a formula are prefixed with a quote. */
function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const field = (value: string | number | null): string => {
    const text = value === null ? '' : String(value);
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [columns.map(field), ...rows.map((row) => row.map((cell) => field(plain(cell))))]
    .map((fields) => fields.join(','))
    .join('\r\n');
}

function toJson(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, plain(row[at] ?? null)]))),
    null,
    2,
  );
}

function toSql(columns: readonly string[], rows: readonly (readonly Cell[])[], table: string): string {
  const head = `INSERT INTO ${quotedName(table)} (${columns.map(quotedName).join(', ')}) VALUES`;
  return rows.map((row) => `${head} (${row.map(sqlLiteral).join(', ')});`).join('\n');
}
