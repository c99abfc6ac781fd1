// How a command fails: what went wrong, where, and what to do about it. Errors of core/ and builder/ carry `file`,
// `line`, `column` and `frame` themselves and are printed the same way. No stack is shown unless PLATFORM_DEBUG=1.
import { ownLines } from './printed.ts';
import type { Shell } from './shell.ts';

/** Where in the user's files something is wrong. Lines and columns count from 1. */
interface Location {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Source lines around it, marked. */
  readonly frame?: string | undefined;
}

/** What an error says beside its message and its place. */
interface Said {
  readonly advice?: string | null;
  readonly exitCode?: 1 | 2;
  readonly code?: string | null;
  readonly requestId?: string | null;
}

/** A command cannot do what was asked, for a reason the user can act on. */
export class CliError extends Error {
  readonly location: Location;
  /** What to do, one sentence. */
  readonly advice: string | null;
  /** 1: the command failed; 2: it was called wrongly. */
  readonly exitCode: 1 | 2;
  /** What the API calls it. */
  readonly code: string | null;
  /** Under which the platform's log has it. */
  readonly requestId: string | null;

  constructor(
    message: string,
    { exitCode = 1, advice = null, code = null, requestId = null, ...location }: Location & Said = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'CliError';
    this.location = location;
    this.advice = advice;
    this.exitCode = exitCode;
    this.code = code;
    this.requestId = requestId;
  }
}

/** A failure as data: what `--json` prints under `errors`. */
export interface Failure extends Location {
  readonly message: string;
  readonly advice?: string;
  readonly code?: string;
  readonly requestId?: string;
}

/**
 * The failures an error stands for: several when it carries a list of its own (`errors`), as a configuration or a build
 * does.
 *
 * @example failuresOf(new CliError('No such template: hona', { exitCode: 2 })) // [{ message: 'No such template: hona'
 *   }]
 */
export function failuresOf(error: unknown): Failure[] {
  if (typeof error !== 'object' || error === null) return [{ message: String(error) }];
  const { errors, others, ...own } = error as Partial<Carrier>;
  if (Array.isArray(errors) && errors.length > 0) return errors.flatMap(failuresOf);
  const message = (error as Error).message;
  const advice = own.advice ?? own.hint;
  const place: Location = { ...own, ...own.place, ...own.location };
  const first: Failure = {
    message: typeof message === 'string' ? message : String(error),
    ...(typeof place.file === 'string' && { file: place.file }),
    ...(typeof place.line === 'number' && { line: place.line }),
    ...(typeof place.column === 'number' && { column: place.column }),
    ...(typeof place.frame === 'string' && { frame: place.frame }),
    ...(typeof advice === 'string' && { advice }),
    ...(error instanceof CliError && error.code !== null && { code: error.code }),
    ...(error instanceof CliError && error.requestId !== null && { requestId: error.requestId }),
  };
  return [first, ...(Array.isArray(others) ? others.flatMap(failuresOf) : [])];
}

/**
 * The shapes errors come in: ours (`location`), the builder's (`place`, `others`), the configuration's and
 * AggregateError (`errors`).
 */
interface Carrier extends Location {
  readonly errors: unknown;
  readonly others: unknown;
  readonly place: Location | null;
  readonly location: Location;
  readonly advice: unknown;
  /** What core/problem.ts calls it. */
  readonly hint: unknown;
}

/** A failure as text, without its label: `file:line:column: message`, the code frame, the advice. */
export function formatFailure({ message, file, line, column, frame, advice, code, requestId }: Failure): string {
  const place = file === undefined ? '' : `${[file, line, column].filter((part) => part !== undefined).join(':')}: `;
  const known = [code, requestId === undefined ? undefined : `request ${requestId}`].filter(
    (part) => part !== undefined,
  );
  const suffix = known.length === 0 ? '' : ` (${known.join(', ')})`;
  // On the first line: a stack may follow.
  const blocks = [`${place}${message.replace(/$/m, () => suffix)}`];
  if (frame !== undefined) blocks.push(frame.trimEnd());
  if (advice !== undefined) blocks.push(advice);
  return blocks.join('\n');
}

/** Prints a failure, with its label. */
export function printFailure(shell: Pick<Shell, 'err' | 'paint'>, failure: Failure): void {
  shell.err(ownLines(`${shell.paint('red', 'error')} ${formatFailure(failure)}`));
}

/** The exit code of an error: 2 for a wrong call, else 1. */
export function exitCodeOf(error: unknown): 1 | 2 {
  return error instanceof CliError ? error.exitCode : 1;
}
