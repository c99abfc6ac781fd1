// Makes a tsconfig.json see the generated typings, without touching its comments or its layout. Pure; called by `platform types`.
import path from 'node:path';
import { findNodeAtLocation, parse, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import { codeFrame } from '#builder/build-error.ts';
import { CliError } from './failure.ts';

/**
 * The text of a tsconfig.json that includes a file; the same text when it does already.
 *
 * @param file the tsconfig, as it appears in errors.
 * @param typings path of the generated file, relative to the tsconfig's folder, with `/`.
 * @throws {CliError} with the place, when the text is not JSON with comments.
 */
export function includeTypings(text: string, file: string, typings: string): string {
  const errors: ParseError[] = [];
  const config: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) throw brokenConfig(text, file, error);
  if (typeof config !== 'object' || config === null)
    throw new CliError('A tsconfig.json must hold an object', { file, line: 1, column: 1 });
  const { include, files } = config as { include?: unknown; files?: unknown };
  const key = Array.isArray(include) ? 'include' : Array.isArray(files) ? 'files' : null;
  // Without either, TypeScript takes every file below the folder.
  if (key === null) return text;
  const entries = (config as Record<string, unknown[]>)[key]!;
  if (entries.some((entry) => typeof entry === 'string' && covers(entry, typings))) return text;
  return withEntry(text, findNodeAtLocation(parseTree(text)!, [key])!, JSON.stringify(typings));
}

/** The text with one entry more at the end of an array, laid out as the last one is: jsonc-parser's own edit would spread it over lines. */
function withEntry(text: string, array: Node, entry: string): string {
  const last = array.children?.at(-1);
  if (last === undefined) return `${text.slice(0, array.offset)}[${entry}]${text.slice(array.offset + array.length)}`;
  const lineStart = text.lastIndexOf('\n', last.offset) + 1;
  const indent = text.slice(lineStart, last.offset);
  const ownLine = /^\s*$/.test(indent);
  const end = last.offset + last.length;
  return `${text.slice(0, end)},${ownLine ? `${text.includes('\r\n') ? '\r\n' : '\n'}${indent}` : ' '}${entry}${text.slice(end)}`;
}

/** Whether an entry of `include` or `files` takes a file in: a path, a folder, or a pattern. */
function covers(entry: string, file: string): boolean {
  const pattern = path.posix.normalize(entry).replace(/\/$/, '');
  if (/[*?]/.test(pattern)) return path.posix.matchesGlob(file, pattern) || path.posix.matchesGlob(file, `${pattern}/**/*`);
  return pattern === '.' || file === pattern || file.startsWith(`${pattern}/`);
}

function brokenConfig(text: string, file: string, { error, offset }: ParseError): CliError {
  const before = text.slice(0, offset).split('\n');
  const line = before.length;
  const column = before.at(-1)!.length + 1;
  return new CliError(`This is not JSON: ${printParseErrorCode(error)}`, { file, line, column, frame: codeFrame(text, line, column) });
}
