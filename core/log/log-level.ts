// Log settings: `LOG_LEVEL`, `LOG_REQUESTS` and `LOG_FORMAT`, validated. Pure; used by every process of the platform.

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
type LogLevel = (typeof logLevels)[number];

/**
 * Which invocations are logged: `failures` caused by the platform or a worker, `all` (at the level `info`), or `none`.
 */
const requestLogs = ['failures', 'all', 'none'] as const;
type RequestLog = (typeof requestLogs)[number];

/** The format of log lines: `text` for people, or `json` for programs. */
const logFormats = ['text', 'json'] as const;
type LogFormat = (typeof logFormats)[number];

type Environment = Readonly<Record<string, string | undefined>>;

/** `LOG_LEVEL`, default `info`. @throws {Error} that names the variable and valid values. */
export function logLevelFrom(environment: Environment): LogLevel {
  return oneOf(environment, 'LOG_LEVEL', logLevels, 'info');
}

/** `LOG_REQUESTS`, default `failures`. @throws {Error} that names the variable and valid values. */
export function requestLogFrom(environment: Environment): RequestLog {
  return oneOf(environment, 'LOG_REQUESTS', requestLogs, 'failures');
}

/**
 * `LOG_FORMAT`; by default `text` on a terminal and `json` elsewhere. @throws {Error} that names the variable and
 * valid values.
 */
export function logFormatFrom(environment: Environment, isTerminal: boolean): LogFormat {
  return oneOf(environment, 'LOG_FORMAT', logFormats, isTerminal ? 'text' : 'json');
}

function oneOf<const Value extends string>(
  environment: Environment,
  name: string,
  values: readonly Value[],
  otherwise: Value,
): Value {
  const value = environment[name]?.trim().toLowerCase() ?? '';
  if (value === '') return otherwise;
  if ((values as readonly string[]).includes(value)) return value as Value;
  throw new Error(`${name} must be one of ${values.join(', ')}, but is "${value.slice(0, 100)}"`);
}
