// Output lines of `platform dev`: log lines, requests, events. Used by the commands with an engine.
import { timesText } from '#core/invocation-times.ts';
import type { DevOptions, DevRequest } from '#runtime/dev/contract/dev-engine.ts';
import { coloured, ownLines } from '../terminal/printed.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell } from '../terminal/shell.ts';

/** An error of SQLite in the log line of an uncaught error. */
const MISSING_TABLE = /^Uncaught .*\bno such table: ([^\s:]+)/;

/** Prints a log line of the worker or the platform. */
export function printLog(shell: Shell, { level, message }: Parameters<DevOptions['log']>[0], verbose: boolean): void {
  if (level === 'debug' && !verbose) return;
  const label =
    level === 'error'
      ? shell.paint('red', level)
      : level === 'warn'
        ? shell.paint('yellow', level)
        : shell.paint('dim', level);
  // The worker is the developer's own code, so its colours and line breaks are kept.
  const said = ownLines(coloured(message, shell.isTerminal));
  (level === 'error' || level === 'warn' ? shell.err : shell.out)(`${label} ${said}`);
  const table = level === 'error' ? MISSING_TABLE.exec(message)?.[1] : undefined;
  if (table !== undefined)
    shell.err(
      shell.paint(
        'yellow',
        `The table ${plain(table)} does not exist: create it by a migration, a .sql file in migrations/`,
      ),
    );
}

/**
 * `GET /users 200 1.2 ms (CPU 0.4 ms)`. The path needs no escaping, because the listener refuses paths with control
 * characters.
 */
export function requestLine(shell: Shell, record: DevRequest): string {
  const { method, path: target, status } = record;
  if (record.event !== null) return eventLine(shell, record, record.event);
  const style = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
  return `${method} ${target} ${shell.paint(style, String(status))} ${shell.paint('dim', timesText(record))}`;
}

/** `queue ok mail 1.2 ms (CPU 0.4 ms)`, or `queue error mail (attempt 2 of 4): no such mailbox 1.2 ms (CPU 0.4 ms)`. */
function eventLine(
  shell: Shell,
  record: DevRequest,
  { name, attempt, attemptsMax }: NonNullable<DevRequest['event']>,
): string {
  const { kind, outcome, reason } = record;
  const times = shell.paint('dim', timesText(record));
  if (outcome === 'ok') return `${kind} ${shell.paint('green', 'ok')} ${name} ${times}`;
  const attempts = attemptsMax === 0 ? '' : ` (attempt ${attempt} of ${attemptsMax})`;
  return `${kind} ${shell.paint('red', 'error')} ${name}${attempts}: ${reason.replace(/\p{Cc}+/gu, ' ').slice(0, 500)} ${times}`;
}
