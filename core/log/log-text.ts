// Formats JSON log lines for people on a terminal. Log lines contain text of workers, so control characters are
// escaped. Pure.
import { styleText } from 'node:util';
import { printable } from '../problem.ts';

const levels: Readonly<Record<number, readonly [name: string, style: 'dim' | 'green' | 'yellow' | 'red']>> = {
  20: ['debug', 'dim'],
  30: ['info', 'green'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
};

/**
 * Fields that are not appended to a line, because the line already contains them, or they are useless on a terminal.
 */
const SAID = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'project', 'err']);
/** Fields that are not appended to a line about an invocation, which already contains them. */
const SAID_OF_INVOCATION = new Set(['kind', 'method', 'path', 'status', 'outcome', 'cpuMs', 'wallMs']);

/**
 * Formats a JSON line as text.
 *
 * @example // 12:30:05 warn  shop  GET /cart 500 worker_threw, CPU 1.2 ms, wall 3 ms  deployment=d0123456789ab
 */
export function logText(json: string, colours: boolean): string {
  const fields = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const paint = (style: 'dim' | 'green' | 'yellow' | 'red' | 'cyan', text: string): string =>
    colours ? styleText(style, text, { validateStream: false }) : text;
  const text = (name: string): string => shown(fields[name]);
  const [level, style] = levels[fields['level'] as number] ?? ['log', 'dim'];
  const time = new Date(fields['time'] as number).toTimeString().slice(0, 8);
  const isInvocation = fields['msg'] === 'invocation';
  const message = isInvocation
    ? `${fields['kind'] === 'http' ? `${text('method')} ${text('path')} ${text('status')}` : text('kind')} ${text('outcome')}, CPU ${text('cpuMs')} ms, wall ${text('wallMs')} ms`
    : text('msg');
  const others = Object.entries(fields).filter(
    ([name]) => !SAID.has(name) && !(isInvocation && SAID_OF_INVOCATION.has(name)),
  );
  const rest = others.map(([name, value]) => `${name}=${shown(value)}`).join(' ');
  const { stack } = (fields['err'] ?? {}) as { stack?: unknown };
  return [
    `${paint('dim', time)} ${paint(style, level.padEnd(5))} ${paint('cyan', text(fields['project'] === undefined ? 'name' : 'project'))}  ${message}${rest === '' ? '' : `  ${paint('dim', rest)}`}`,
    ...(typeof stack === 'string' ? [shown(stack)] : []),
  ].join('\n');
}

/** A value for a terminal: line breaks are kept, everything else that moves the cursor is escaped. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text
    .split('\n')
    .map((line) => printable(line.replaceAll('\t', '  ')))
    .join('\n');
}
