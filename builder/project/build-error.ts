// The error of a failed build, as printed by the CLI and the build log: the problem, its location, and the fix. Thrown
// throughout builder/, never by the handler (its errors are in core/errors.ts).
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

/** A location in the project: `file` relative to its root, `line` and `column` from 1. */
interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * A failed build. `message` contains the problem and the fix; the location and the code frame are separate and printed
 * around it.
 *
 * @example
 * // error.place  -> { file: 'src/index.ts', line: 3, column: 37 }
 * // error.frame  -> "> 3 |   fetch() { return new Response("x" }\n    |  ...  ^"
 */
export class BuildError extends Error {
  readonly code: BuildErrorCode;
  readonly place: SourcePlace | null;
  /** The lines around the location with a caret, ready to print; null without a location. */
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

/** The error as terminal output: `file:line:column: message` and the code frame, then the other errors. */
export function formatBuildError(error: BuildError): string {
  const where = error.place ? `${error.place.file}:${error.place.line}:${error.place.column}: ` : '';
  const own = `${where}${error.message}${error.frame === null ? '' : `\n\n${error.frame}\n`}`;
  return [own, ...error.others.map(formatBuildError)].join('\n');
}

/** The fields shared by rolldown's errors and warnings. Lines count from 1, columns from 0. */
export interface BundlerLog {
  readonly code?: string | undefined;
  readonly message: string;
  readonly id?: string | undefined;
  readonly exporter?: string | undefined;
  readonly loc?: { readonly line: number; readonly column: number; readonly file?: string | undefined } | undefined;
}

/** A project path for display: relative to its root, with `/`. */
export function projectPath(root: string, path: string): string {
  return relative(root, resolve(root, sourceFile(path)))
    .split(sep)
    .join('/');
}

/** Marks the index file in a project's root in module ids, see file-imports.ts. */
export const rootIndexMark = '~root';

/** The file of a module id, without the mark and suffixes like `?raw`. */
export function sourceFile(id: string): string {
  const query = id.indexOf('?');
  return (query === -1 ? id : id.slice(0, query)).replace(`${rootIndexMark}.`, '.');
}

/** Location and code frame of a log entry, if it has a location in a readable file. */
export function whereIs(
  containment: Containment,
  log: BundlerLog,
): { place: SourcePlace | null; frame: string | null } {
  const id = log.loc?.file ?? log.id;
  if (id === undefined || log.loc === undefined || id.startsWith('\0')) return { place: null, frame: null };
  const place = { file: projectPath(containment.root, id), line: log.loc.line, column: log.loc.column + 1 };
  const file = resolve(containment.root, sourceFile(id));
  // Lines of files outside the project must not be shown.
  if (!containment.holds(file)) return { place, frame: null };
  try {
    return { place, frame: codeFrame(readFileSync(file, 'utf8'), place.line, place.column) };
  } catch {
    return { place, frame: null };
  }
}

/** Merges several errors: the first error contains the others. */
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
