// Opens the log of a process of the platform: JSON lines for programs, readable lines if standard output is a
// terminal (`LOG_FORMAT`). Used by every root under runtime/.
import { pino, type Logger } from 'pino';
import { logFormatFrom, logLevelFrom } from './log-level.ts';
import { logText } from './log-text.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Destination of lines: standard output, or a test's buffer. */
export interface LogDestination {
  readonly isTTY?: boolean | undefined;
  write(line: string): unknown;
}

/**
 * Opens a log.
 *
 * @param name the name of the process: `engine`, `supervisor`, `broker`.
 * @throws {Error} when `LOG_LEVEL` or `LOG_FORMAT` is invalid.
 */
export function openLog(name: string, environment: Environment, destination?: LogDestination): Logger {
  const options = { name, level: logLevelFrom(environment) };
  const target: LogDestination = destination ?? process.stdout;
  const format = logFormatFrom(environment, target.isTTY === true);
  // Without a destination, pino bypasses the stream, which is faster.
  if (format === 'json') return destination === undefined ? pino(options) : pino(options, destination);
  const colours = target.isTTY === true && (environment['NO_COLOR'] ?? '') === '';
  return pino(options, { write: (line) => void target.write(`${logText(line, colours)}\n`) });
}
