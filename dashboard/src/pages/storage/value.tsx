// User data rendered as text, truncated if long: bytes, database cells, JSON.
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import styles from './storage.module.css';
import { countText } from '../../components/text.ts';

/** Number of characters of a value that are shown at first. */
const SHOWN_CHARS_MAX = 20_000;
/** Number of characters that are shown in a cell. */
const CELL_CHARS_MAX = 200;

/** A database value in the format of the API. */
export type Cell = null | number | string | { readonly b?: string; readonly i?: string; readonly n?: string } | CutCell;
/** A truncated value. */
interface CutCell {
  readonly cut: number;
  readonly t?: string;
  readonly b?: string;
}

/** @example bytesText(2048) // '2 KB' */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let size = bytes / 1024;
  let at = 0;
  for (; size >= 1024 && at < units.length - 1; at++) size /= 1024;
  return `${size >= 100 ? Math.round(size) : Number(size.toFixed(1))} ${units[at]}`;
}

export function isCut(cell: Cell): cell is CutCell {
  return typeof cell === 'object' && cell !== null && 'cut' in cell;
}

/** Base64 of a blob, else null. */
function blobOf(cell: Cell): string | null {
  return typeof cell === 'object' && cell !== null && 'b' in cell && typeof cell.b === 'string' ? cell.b : null;
}

/** A cell as one line of text. */
export function cellText(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (typeof cell === 'number') return String(cell);
  if (typeof cell === 'string') return oneLine(cell);
  if (isCut(cell)) return cell.t === undefined ? `blob, ${bytesText(cell.cut)}` : `${oneLine(cell.t)}…`;
  const blob = blobOf(cell);
  if (blob !== null) return `blob, ${bytesText(Math.floor((blob.replace(/=+$/, '').length * 3) / 4))}`;
  return String(('i' in cell ? cell.i : undefined) ?? ('n' in cell ? cell.n : undefined) ?? '');
}

function oneLine(text: string): string {
  return text.slice(0, CELL_CHARS_MAX).replace(/[\r\n\t]+/g, ' ') + (text.length > CELL_CHARS_MAX ? '…' : '');
}

/** Whether a cell is right-aligned. */
export function isNumeric(cell: Cell): boolean {
  return typeof cell === 'number' || (typeof cell === 'object' && cell !== null && ('i' in cell || 'n' in cell));
}

/** An SQL literal. */
export function sqlLiteral(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (typeof cell === 'number') return String(cell);
  if (typeof cell === 'string') return `'${cell.replaceAll("'", "''")}'`;
  const blob = blobOf(cell);
  if (blob !== null)
    return `x'${[...atob(blob)].map((sign) => sign.charCodeAt(0).toString(16).padStart(2, '0')).join('')}'`;
  return 'i' in cell && cell.i !== undefined ? cell.i : `'${'t' in cell ? (cell.t ?? '') : ''}'`;
}

export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A long text with a button to show more. */
export function LongText({ text }: { readonly text: string }) {
  const [chars, setChars] = useState(SHOWN_CHARS_MAX);
  return (
    <>
      <CodeBlock code={text.length > chars ? text.slice(0, chars) : text} wraps />
      {text.length > chars && (
        <div className={styles.more}>
          <span>
            {countText(chars)} of {countText(text.length)} characters
          </span>
          <Button size="small" onClick={() => setChars(chars * 4)}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}

/** A JSON value. */
export function JsonValue({ value }: { readonly value: unknown }) {
  return <LongText text={JSON.stringify(value, null, 2) ?? 'undefined'} />;
}

/** A JSON value in one line. */
export function jsonLine(value: unknown, chars = CELL_CHARS_MAX): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > chars ? `${text.slice(0, chars)}…` : text;
}

/** Hex dump: offsets, hexadecimal, characters. */
export function hexText(base64: string, bytesMax = 1024): string {
  const bytes = atob(base64.slice(0, Math.ceil(bytesMax / 3) * 4)).slice(0, bytesMax);
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const part = Array.from(bytes.slice(at, at + 16), (sign) => sign.charCodeAt(0));
    const hex = part.map((code) => code.toString(16).padStart(2, '0')).join(' ');
    const text = part.map((code) => (code >= 32 && code < 127 ? String.fromCharCode(code) : '.')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join('\n');
}
