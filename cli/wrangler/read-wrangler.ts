// Parses a Wrangler configuration (JSONC or TOML): values, and comments by the key that follows. No I/O.
import { parse as parseToml, TomlError } from 'smol-toml';
import { getLocation, parse, printParseErrorCode, visit, type ParseError } from 'jsonc-parser';
import { CliError } from '../terminal/failure.ts';

/** A parsed file. */
export interface WranglerFile {
  readonly values: Readonly<Record<string, unknown>>;
  /** Comment lines by the following top-level key; '' for comments at the end. */
  readonly comments: Readonly<Record<string, readonly string[]>>;
}

/** @throws {CliError} with the location of a syntax error. */
export function readWrangler(text: string, file: string): WranglerFile {
  const read = file.endsWith('.toml') ? readToml : readJson;
  const { values, comments } = read(text.replace(/^\uFEFF/, ''), file);
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    throw new CliError('Not a Wrangler configuration: the file is not an object', { file });
  return { values: values as Record<string, unknown>, comments };
}

function readJson(text: string, file: string): { values: unknown; comments: Record<string, string[]> } {
  const errors: ParseError[] = [];
  const values: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined)
    throw new CliError(`Invalid JSON: ${printParseErrorCode(first.error)}`, {
      file,
      ...placeAt(text, first.offset),
    });
  const comments: Record<string, string[]> = {};
  visit(text, {
    onComment(offset, length) {
      const beside = besideValue(text, offset);
      const at = getLocation(text, beside ?? offset).path[0];
      // A comment within a value belongs to its key, and a comment between keys belongs to the next key.
      const following = /^\s*(?:(?:\/\/[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)\s*)*"((?:[^"\\]|\\.)*)"\s*:/.exec(
        text.slice(offset + length),
      );
      const depth = getLocation(text, offset).path.length;
      const key = depth > 1 || beside !== null ? String(at ?? '') : (following?.[1] ?? '');
      (comments[key] ??= []).push(...linesOf(text.slice(offset, offset + length)));
    },
  });
  return { values, comments };
}

/** Offset of a value before a comment on the same line, or null. */
function besideValue(text: string, offset: number): number | null {
  const line = text.slice(text.lastIndexOf('\n', offset) + 1, offset);
  const [, value] = /^(.*["\w\]}]),?[ \t]*$/.exec(line) ?? [];
  return value === undefined ? null : offset - line.length + value.length - 1;
}

function linesOf(comment: string): string[] {
  return comment
    .replace(/^\/\/|^\/\*+|\*+\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
    .filter((line) => line !== '');
}

function readToml(text: string, file: string): { values: unknown; comments: Record<string, string[]> } {
  let values: unknown;
  try {
    values = parseToml(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new CliError(error.message.split('\n')[0]!, { file, line: error.line, column: error.column });
  }
  const comments: Record<string, string[]> = {};
  let pending: string[] = [];
  let table = '';
  let quotes: string | null = null;
  for (const line of text.split(/\r?\n/)) {
    if (quotes !== null) {
      if (line.includes(quotes)) quotes = null;
      continue;
    }
    const header = /^\s*\[+\s*["']?([\w-]+)/.exec(line);
    const own = /^\s*#+ ?(.*)$/.exec(line);
    if (own !== null) {
      if (own[1] !== '') pending.push(own[1]!.trimEnd());
      continue;
    }
    if (header !== null) table = header[1]!;
    const key = header !== null || table !== '' ? table : (/^\s*["']?([\w-]+)/.exec(line)?.[1] ?? null);
    if (key === null || line.trim() === '') continue;
    const beside = /^(?:[^#"']|"(?:[^"\\]|\\.)*"|'[^']*')*#+ ?(.*)$/.exec(line)?.[1];
    const found = [...pending, ...(beside === undefined || beside === '' ? [] : [beside.trimEnd()])];
    if (found.length > 0) (comments[key] ??= []).push(...found);
    pending = [];
    quotes = /=\s*("""|''')(?!.*\1)/.exec(line)?.[1] ?? null;
  }
  if (pending.length > 0) (comments[''] ??= []).push(...pending);
  return { values, comments };
}

function placeAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}
