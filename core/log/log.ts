// The log of a process of the platform: JSON lines for programs, lines to read where standard output is a terminal
// (`LOG_FORMAT`). Every root under runtime/ opens its log here.
import { pino, type Logger } from 'pino';
import { logFormatFrom, logLevelFrom } from './log-level.ts';
import { logText } from './log-text.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where lines go: standard output, or what a test reads. */
export interface LogDestination {
  readonly isTTY?: boolean | undefined;
  write(line: string): unknown;
}

/**
 * Opens a log.
 *
 * @param name of the process: `engine`, `supervisor`, `broker`.
 * @throws {Error} when `LOG_LEVEL` or `LOG_FORMAT` cannot be understood.
 */
export function openLog(name: string, environment: Environment, destination?: LogDestination): Logger {
  const options = { name, level: logLevelFrom(environment) };
  const target: LogDestination = destination ?? process.stdout;
  const format = logFormatFrom(environment, target.isTTY === true);
  // Without a destination pino writes past the stream, which is quicker.
  if (format === 'json') return destination === undefined ? pino(options) : pino(options, destination);
  const colours = target.isTTY === true && (environment['NO_COLOR'] ?? '') === '';
  return pino(options, { write: (line) => void target.write(`${logText(line, colours)}\n`) });
}
