// Formats values for `console`: the format string of the Console Standard, and objects as Node shows them. Limited in
// depth, width and length; a hostile getter or Proxy costs only its own invocation. lazy.ts loads this module when it
// is first used.
import { provideModule } from '../modules.ts';

/** Classes of the platform whose content is only accessible through getters. */
const getters: Readonly<Record<string, readonly string[]>> = {
  Blob: ['size', 'type'],
  File: ['name', 'size', 'type'],
  Request: ['method', 'url', 'headers', 'bodyUsed'],
  Response: ['status', 'statusText', 'headers', 'bodyUsed'],
  URL: ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'],
};
/** Classes of the platform that are lists of pairs. */
const pairs = new Set(['FormData', 'Headers', 'URLSearchParams']);

const DEPTH_MAX = 4;
const ENTRIES_MAX = 100;
const STRING_MAX = 10_000;
const LINE_MAX = 76;

/**
 * The text of `console.log`: the first argument with `%s %d %i %f %j %o %O %c %%` replaced, then the other arguments.
 */
export function format(values: readonly unknown[]): string {
  const [first, ...rest] = values;
  if (typeof first !== 'string') return values.map(show).join(' ');
  let at = 0;
  const text =
    rest.length === 0 && !first.includes('%')
      ? first
      : first.replace(/%[sdifjoOc%]/g, (directive) => {
          if (directive === '%%') return rest.length === 0 ? directive : '%';
          if (at >= rest.length) return directive;
          const value = rest[at++];
          switch (directive) {
            case '%s':
              return typeof value === 'string'
                ? value
                : typeof value === 'object' && value !== null
                  ? inspect(value, 0)
                  : String(value);
            case '%d':
              return typeof value === 'bigint'
                ? `${value}n`
                : typeof value === 'symbol'
                  ? 'NaN'
                  : String(Number(value));
            case '%i':
              return typeof value === 'bigint'
                ? `${value}n`
                : typeof value === 'symbol'
                  ? 'NaN'
                  : String(Number.parseInt(String(value), 10));
            case '%f':
              return typeof value === 'symbol' ? 'NaN' : String(Number.parseFloat(String(value)));
            case '%j':
              return toJson(value);
            case '%c':
              return '';
            default:
              return inspect(value);
          }
        });
  return [text, ...rest.slice(at).map(show)].join(' ');
}

function toJson(value: unknown): string {
  try {
    return String(JSON.stringify(value));
  } catch {
    return '[Circular]';
  }
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value);
}

/** Formats one value as text. */
export function inspect(value: unknown, depthMax = DEPTH_MAX): string {
  try {
    return render(value, depthMax, 0, []);
  } catch {
    return '[a value that cannot be shown]';
  }
}

function render(value: unknown, depthMax: number, depth: number, parents: readonly object[]): string {
  switch (typeof value) {
    case 'string':
      return quote(value.length > STRING_MAX ? `${value.slice(0, STRING_MAX)}...` : value);
    case 'bigint':
      return `${value}n`;
    case 'symbol':
      return value.toString();
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'function': {
      const source = Function.prototype.toString.call(value);
      return source.startsWith('class')
        ? `[class ${value.name || '(anonymous)'}]`
        : `[Function${value.name ? `: ${value.name}` : ' (anonymous)'}]`;
    }
    case 'object':
      return value === null ? 'null' : renderObject(value, depthMax, depth, parents);
    default:
      return String(value);
  }
}

function quote(text: string): string {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : '`';
  return (
    mark +
    text.replace(
      /[\\\n\r\t]/g,
      (letter) => ({ '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' })[letter] as string,
    ) +
    mark
  );
}

function renderObject(value: object, depthMax: number, depth: number, parents: readonly object[]): string {
  if (parents.includes(value)) return '[Circular]';
  if (value instanceof Error) return renderError(value, depthMax, depth, parents);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Promise) return 'Promise {}';
  const name = constructorName(value);
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef)
    return `${name} { <items unknown> }`;
  const within = [...parents, value];
  if (depth > depthMax) return Array.isArray(value) ? '[Array]' : `[${name || 'Object'}]`;
  const child = (item: unknown): string => render(item, depthMax, depth + 1, within);
  if (Array.isArray(value)) return wrap('', '[', list(value, value.length, child), ']', depth);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const items = value as unknown as ArrayLike<unknown>;
    return wrap(`${name}(${items.length}) `, '[', list(items, items.length, child), ']', depth);
  }
  if (value instanceof ArrayBuffer) return `ArrayBuffer { byteLength: ${value.byteLength} }`;
  if (value instanceof Map) {
    const entries = bounded(value.entries(), value.size).map(([key, item]) => `${child(key)} => ${child(item)}`);
    return wrap(`Map(${value.size}) `, '{', more(entries, value.size), '}', depth);
  }
  if (value instanceof Set)
    return wrap(
      `Set(${value.size}) `,
      '{',
      more(bounded(value.values(), value.size).map(child), value.size),
      '}',
      depth,
    );
  if (pairs.has(name) && Symbol.iterator in value) {
    const entries = Array.from(value as Iterable<readonly unknown[]>);
    const shown = entries.slice(0, ENTRIES_MAX).map(([key, item]) => `${child(key)} => ${child(item)}`);
    return wrap(`${name}(${entries.length}) `, '{', more(shown, entries.length), '}', depth);
  }
  const keys = Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
  const fields = keys.slice(0, ENTRIES_MAX).map((key) => {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    const label = typeof key === 'symbol' ? `[${key.toString()}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key);
    if (descriptor?.get !== undefined)
      return `${label}: ${descriptor.set === undefined ? '[Getter]' : '[Getter/Setter]'}`;
    return `${label}: ${child(descriptor === undefined ? undefined : descriptor.value)}`;
  });
  for (const key of Object.hasOwn(getters, name) ? getters[name]! : [])
    if (key in value) fields.push(`${key}: ${child((value as Record<string, unknown>)[key])}`);
  const prefix = name === 'Object' ? '' : name === '' ? '[Object: null prototype] ' : `${name} `;
  return wrap(prefix, '{', more(fields, fields.length + Math.max(0, keys.length - ENTRIES_MAX)), '}', depth);
}

function renderError(error: Error, depthMax: number, depth: number, parents: readonly object[]): string {
  const head = typeof error.stack === 'string' && error.stack !== '' ? error.stack : `${error.name}: ${error.message}`;
  const within = [...parents, error];
  const extra = Object.keys(error).filter((key) => key !== 'stack' && key !== 'message');
  const fields = extra.map(
    (key) => `${key}: ${render((error as unknown as Record<string, unknown>)[key], depthMax, depth + 1, within)}`,
  );
  if (error.cause !== undefined) fields.push(`[cause]: ${render(error.cause, depthMax, depth + 1, within)}`);
  const { errors } = error as { errors?: unknown };
  if (Array.isArray(errors) && !extra.includes('errors'))
    fields.push(`[errors]: ${render(errors, depthMax, depth + 1, within)}`);
  if (fields.length === 0) return head;
  return `${head} {\n  ${fields.map((field) => field.replaceAll('\n', '\n  ')).join(',\n  ')}\n}`;
}

function constructorName(value: object): string {
  for (let at: object | null = value; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(at, 'constructor');
    if (typeof descriptor?.value === 'function' && descriptor.value.name !== '') return descriptor.value.name as string;
  }
  return '';
}

function bounded<Item>(items: Iterator<Item>, size: number): Item[] {
  const taken: Item[] = [];
  for (let left = Math.min(size, ENTRIES_MAX); left > 0; left--) taken.push(items.next().value as Item);
  return taken;
}

function list(items: ArrayLike<unknown>, length: number, child: (item: unknown) => string): string[] {
  const shown: string[] = [];
  for (let at = 0; at < length && at < ENTRIES_MAX; at++) shown.push(at in items ? child(items[at]) : '<empty>');
  return more(shown, length);
}

function more(shown: string[], length: number): string[] {
  return length > shown.length ? [...shown, `... ${length - shown.length} more`] : shown;
}

function wrap(prefix: string, open: string, items: string[], close: string, depth: number): string {
  if (items.length === 0) return `${prefix}${open}${close}`;
  const line = items.join(', ');
  if (line.length + depth * 2 <= LINE_MAX && !line.includes('\n')) {
    return open === '[' ? `${prefix}[ ${line} ]` : `${prefix}${open} ${line} ${close}`;
  }
  return `${prefix}${open}\n  ${items.map((item) => item.replaceAll('\n', '\n  ')).join(',\n  ')}\n${close}`;
}

declare module '../modules.ts' {
  interface Modules {
    inspect: { readonly format: typeof format; readonly inspect: typeof inspect };
  }
}

provideModule('inspect', { format, inspect });
