// What goes wrong while a project is built, in a form the CLI and the build log print: what, where, what to do.
// Thrown by everything in builder/; never by the handler (its errors are in core/errors.ts).
import { readFileSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { codeFrame } from '#core/code-frame.ts';
import type { Containment } from './containment.ts';

/** Why a build failed. */
export type BuildErrorCode =
  | 'syntax'
  | 'unresolved_import'
  | 'missing_export'
  | 'unloadable_import'
  | 'missing_entry'
  | 'unknown_kind'
  | 'not_supported'
  | 'outside'
  | 'assets'
  | 'migrations'
  | 'too_large'
  | 'command_failed'
  | 'write_failed'
  | 'bundler';

/** Where in the project: `file` relative to its root, `line` and `column` from 1. */
interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * A build that failed. `message` says what and what to do; the place and the code frame are separate, printed around
 * it.
 *
 * @example
 * // error.place  -> { file: 'src/index.ts', line: 3, column: 37 }
 * // error.frame  -> "> 3 |   fetch() { return new Response("x" }\n    |  ...  ^"
 */
export class BuildError extends Error {
  readonly code: BuildErrorCode;
  readonly place: SourcePlace | null;
  /** The lines around the place with a caret, ready to print; null without a place. */
  readonly frame: string | null;
  /** Further errors of the same build, in the order found. */
  readonly others: readonly BuildError[];

  constructor(
    code: BuildErrorCode,
    message: string,
    at: {
      readonly place?: SourcePlace | null;
      readonly frame?: string | null;
      readonly others?: readonly BuildError[];
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, at.cause === undefined ? undefined : { cause: at.cause });
    this.name = 'BuildError';
    this.code = code;
    this.place = at.place ?? null;
    this.frame = at.frame ?? null;
    this.others = at.others ?? [];
  }
}

/** The error as lines for a terminal: `file:line:column: message` and the code frame, then the others. */
export function formatBuildError(error: BuildError): string {
  const where = error.place ? `${error.place.file}:${error.place.line}:${error.place.column}: ` : '';
  const own = `${where}${error.message}${error.frame === null ? '' : `\n\n${error.frame}\n`}`;
  return [own, ...error.others.map(formatBuildError)].join('\n');
}

/** The fields that rolldown's errors and warnings share. Its lines count from 1, its columns from 0. */
export interface BundlerLog {
  readonly code?: string | undefined;
  readonly message: string;
  readonly id?: string | undefined;
  readonly exporter?: string | undefined;
  readonly loc?: { readonly line: number; readonly column: number; readonly file?: string | undefined } | undefined;
}

/** A path inside the project as users know it: relative to its root, with `/`. */
export function projectPath(root: string, path: string): string {
  return relative(root, resolve(root, sourceFile(path)))
    .split(sep)
    .join('/');
}

/** Stands in a module id for the index file in a project's root, see file-imports.ts. */
export const rootIndexMark = '~root';

/** The file behind a module id: without `?raw` and the like, without the mark. */
export function sourceFile(id: string): string {
  const query = id.indexOf('?');
  return (query === -1 ? id : id.slice(0, query)).replace(`${rootIndexMark}.`, '.');
}

/** Place and code frame of a log, as far as it has one and the file may be read. */
export function whereIs(bounds: Containment, log: BundlerLog): { place: SourcePlace | null; frame: string | null } {
  const id = log.loc?.file ?? log.id;
  if (id === undefined || log.loc === undefined || id.startsWith('\0')) return { place: null, frame: null };
  const place = { file: projectPath(bounds.root, id), line: log.loc.line, column: log.loc.column + 1 };
  const file = resolve(bounds.root, sourceFile(id));
  // Lines of a file that is not the project's are nobody's to see.
  if (!bounds.holds(file)) return { place, frame: null };
  try {
    return { place, frame: codeFrame(readFileSync(file, 'utf8'), place.line, place.column) };
  } catch {
    return { place, frame: null };
  }
}

/** Several errors as one: the first, carrying the others. */
export function joinBuildErrors(errors: readonly BuildError[]): BuildError {
  const [first, ...others] = errors;
  if (first === undefined) return new BuildError('bundler', 'The bundler failed without saying why');
  if (others.length === 0) return first;
  return new BuildError(first.code, first.message, {
    place: first.place,
    frame: first.frame,
    others,
    cause: first.cause,
  });
}
