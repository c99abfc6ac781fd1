// Errors of commands: message, location and advice. Errors of core/ and builder/ have `file`, `line`, `column` and
// `frame` too and are printed the same way. Stacks are shown only with PLATFORM_DEBUG=1.
import { ownLines } from './printed.ts';
import type { Shell } from './shell.ts';

/** Location in the user's files. Lines and columns start at 1. */
interface Location {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Code frame. */
  readonly frame?: string | undefined;
}

/** Details of an error besides message and location. */
interface Said {
  readonly advice?: string | null;
  readonly exitCode?: 1 | 2;
  readonly code?: string | null;
  readonly requestId?: string | null;
}

/** A command failed for a reason that the user can fix. */
export class CliError extends Error {
  readonly location: Location;
  /** Instructions to fix the problem, in one sentence. */
  readonly advice: string | null;
  /** 1: the command failed; 2: usage error. */
  readonly exitCode: 1 | 2;
  /** Error code of the API. */
  readonly code: string | null;
  /** Request ID in the platform's log. */
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

/** A failure as data, printed by `--json` under `errors`. */
export interface Failure extends Location {
  readonly message: string;
  readonly advice?: string;
  readonly code?: string;
  readonly requestId?: string;
}

/**
 * The failures of an error: several if it has a list (`errors`), as for configurations and builds.
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
 * Supported error shapes: ours (`location`), the builder's (`place`, `others`), configuration and AggregateError
 * (`errors`).
 */
interface Carrier extends Location {
  readonly errors: unknown;
  readonly others: unknown;
  readonly place: Location | null;
  readonly location: Location;
  readonly advice: unknown;
  /** The same as `advice`, in problems of core/problem.ts. */
  readonly hint: unknown;
}

/** Formats a failure: `file:line:column: message`, code frame, advice. */
export function formatFailure({ message, file, line, column, frame, advice, code, requestId }: Failure): string {
  const place = file === undefined ? '' : `${[file, line, column].filter((part) => part !== undefined).join(':')}: `;
  const known = [code, requestId === undefined ? undefined : `request ${requestId}`].filter(
    (part) => part !== undefined,
  );
  const suffix = known.length === 0 ? '' : ` (${known.join(', ')})`;
  // The suffix belongs to the first line, because a stack may follow.
  const blocks = [`${place}${message.replace(/$/m, () => suffix)}`];
  if (frame !== undefined) blocks.push(frame.trimEnd());
  if (advice !== undefined) blocks.push(advice);
  return blocks.join('\n');
}

/** Prints a failure with the label `error`. */
export function printFailure(shell: Pick<Shell, 'err' | 'paint'>, failure: Failure): void {
  shell.err(ownLines(`${shell.paint('red', 'error')} ${formatFailure(failure)}`));
}

/** Exit code of an error: 2 for usage errors, else 1. */
export function exitCodeOf(error: unknown): 1 | 2 {
  return error instanceof CliError ? error.exitCode : 1;
}
