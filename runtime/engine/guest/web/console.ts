// `console` and the reporting of uncaught errors: text for the deployment's log, limited per invocation.
import { toHost } from '../../bridge/protocol.ts';
import { host } from '../host.ts';
import { currentInvocation, type GuestInvocation } from '../invocation.ts';
import { send } from '../records.ts';
import { toJson } from '../safe.ts';
import { useModule } from '../modules.ts';

type LogLevel = 'debug' | 'info' | 'warn' | 'error';

let logBytesMax = 256 * 1024;

export function connectConsole(options: { logBytesMax: number }): void {
  logBytesMax = options.logBytesMax;
}

// All log lines outside of invocations (a module's top level, code that outlives its request) share one limit.
const nobody = { logBytes: 0 };

function write(level: LogLevel, text: string, invocation: GuestInvocation | undefined = currentInvocation()): void {
  const account = invocation ?? nobody;
  if (account.logBytes > logBytesMax) return;
  account.logBytes += text.length + 16;
  const line =
    account.logBytes > logBytesMax
      ? `${text.slice(0, 1024)} [log cut: more than ${logBytesMax} bytes in one invocation]`
      : text;
  send(toHost.log, invocation?.id ?? 0, level, toJson(line));
}

/** Logs an error that the worker did not catch; the host maps its stack to the sources. */
export function reportUncaught(error: unknown, prefix: string, invocation: GuestInvocation | undefined): void {
  let text: string;
  try {
    text = stackOf(error) ?? inspect(error);
  } catch {
    text = 'a value that cannot be shown';
  }
  write('error', `${prefix} ${text}`, invocation);
}

/**
 * The stack of an error, with its `cause` and `errors`, in which libraries store the reason, such as the message of a
 * database. Undefined for a value without a stack.
 */
export function stackOf(error: unknown): string | undefined {
  if (error === null || typeof error !== 'object') return undefined;
  const { stack, cause, errors } = error as { stack?: unknown; cause?: unknown; errors?: unknown };
  if (typeof stack !== 'string') return undefined;
  return cause === undefined && errors === undefined ? stack : inspect(error);
}

/** Formats values as text; a single string, which most lines are, needs no formatting. */
function format(values: readonly unknown[]): string {
  const [first] = values;
  return values.length === 1 && typeof first === 'string' && !first.includes('%')
    ? first
    : useModule('inspect').format(values);
}

function inspect(value: unknown): string {
  return useModule('inspect').inspect(value);
}

const counts = new Map<string, number>();
const times = new Map<string, number>();
let indentation = '';

function print(level: LogLevel, values: unknown[]): void {
  const text = format(values);
  write(level, indentation === '' ? text : indentation + text.replaceAll('\n', `\n${indentation}`));
}

function stackHere(): string {
  const frames = (new Error('').stack ?? '').split('\n').slice(1);
  // If positions are mapped, the platform's own frames are already removed.
  return frames.filter((frame) => !frame.includes('platform:guest')).join('\n');
}

function elapsed(label: string): string | null {
  const start = times.get(label);
  return start === undefined ? null : `${label}: ${(host.now() - start).toFixed(3)}ms`;
}

function table(rows: unknown = undefined, columns: unknown = undefined): void {
  if (rows === null || typeof rows !== 'object') {
    print('info', [rows]);
    return;
  }
  const wanted = Array.isArray(columns) ? columns.map(String) : null;
  const names = new Set<string>();
  const lines: { key: string; cells: Map<string, string> }[] = [];
  const entries: Iterable<[unknown, unknown]> =
    rows instanceof Map || Array.isArray(rows) ? rows.entries() : Object.entries(rows);
  for (const [key, row] of entries) {
    const cells = new Map<string, string>();
    if (row !== null && typeof row === 'object') {
      for (const [name, cell] of Object.entries(row)) {
        if (wanted !== null && !wanted.includes(name)) continue;
        names.add(name);
        cells.set(name, inspect(cell));
      }
    } else {
      names.add('Values');
      cells.set('Values', inspect(row));
    }
    lines.push({ key: String(key), cells });
  }
  const heads = ['(index)', ...names];
  const body = lines.map(({ key, cells }) => [key, ...[...names].map((name) => cells.get(name) ?? '')]);
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...body.map((row) => (row[column] as string).length)),
  );
  const draw = (row: string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] as number)).join(' | ')} |`;
  print('info', [
    [draw(heads), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body.map(draw)].join('\n'),
  ]);
}

const members = {
  log: (...values: unknown[]): void => print('info', values),
  info: (...values: unknown[]): void => print('info', values),
  debug: (...values: unknown[]): void => print('debug', values),
  warn: (...values: unknown[]): void => print('warn', values),
  error: (...values: unknown[]): void => print('error', values),
  trace: (...values: unknown[]): void => print('debug', [`Trace: ${format(values)}\n${stackHere()}`]),
  assert: (condition: unknown = false, ...values: unknown[]): void => {
    if (condition) return;
    print(
      'error',
      typeof values[0] === 'string'
        ? [`Assertion failed: ${values[0]}`, ...values.slice(1)]
        : ['Assertion failed', ...values],
    );
  },
  dir: (value: unknown = undefined): void => print('info', [inspect(value)]),
  dirxml: (...values: unknown[]): void => print('info', values),
  table,
  count: (label: unknown = 'default'): void => {
    const key = String(label);
    const count = (counts.get(key) ?? 0) + 1;
    if (counts.size < 1000 || counts.has(key)) counts.set(key, count);
    print('info', [`${key}: ${count}`]);
  },
  countReset: (label: unknown = 'default'): void => {
    if (!counts.delete(String(label))) print('warn', [`Count for '${String(label)}' does not exist`]);
  },
  group: (...values: unknown[]): void => {
    if (values.length > 0) print('info', values);
    if (indentation.length < 64) indentation += '  ';
  },
  groupCollapsed: (...values: unknown[]): void => members.group(...values),
  groupEnd: (): void => {
    indentation = indentation.slice(2);
  },
  time: (label: unknown = 'default'): void => {
    const key = String(label);
    if (times.has(key)) print('warn', [`Timer '${key}' already exists`]);
    else if (times.size < 1000) times.set(key, host.now());
  },
  timeLog: (label: unknown = 'default', ...values: unknown[]): void => {
    const text = elapsed(String(label));
    if (text === null) print('warn', [`Timer '${String(label)}' does not exist`]);
    else print('info', [text, ...values]);
  },
  timeEnd: (label: unknown = 'default'): void => {
    const text = elapsed(String(label));
    if (text === null) print('warn', [`Timer '${String(label)}' does not exist`]);
    else print('info', [text]);
    times.delete(String(label));
  },
  clear: (): void => {},
};

/** The `console` of the Console Standard: a namespace object, whose prototype is an empty object of its own. */
export const console: typeof members = Object.assign(Object.create({}) as object, members);
Object.defineProperty(console, Symbol.toStringTag, { value: 'console', configurable: true });
