// util.inspect and util.format: values as text, similar to Node's output for commonly logged values: nested up to a
// depth, with cycles marked and class names shown. Colours and special options are not supported. Bundled with
// node:util.

/** The symbol with which code customizes its representation. */
export const customInspect = Symbol.for('nodejs.util.inspect.custom');

/** The supported options. */
interface InspectOptions {
  /** Levels of nesting shown; null means all. Default 2. */
  readonly depth?: number | null;
  /** Elements of a collection shown. Default 100. */
  readonly maxArrayLength?: number | null;
}

interface State {
  readonly depth: number;
  readonly elements: number;
  readonly above: readonly object[];
}

/** Longer lines are broken. */
const LINE_CHARS_MAX = 72;

function inspectValue(value: unknown, options: InspectOptions = {}): string {
  return show(value, {
    depth: options.depth === null ? Infinity : (options.depth ?? 2),
    elements: options.maxArrayLength ?? 100,
    above: [],
  });
}

export const inspect = Object.assign(inspectValue, { custom: customInspect, defaultOptions: {} as InspectOptions });

function show(value: unknown, state: State): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'function') {
    const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : 'Function';
    return value.name ? `[${kind}${kind === 'class' ? '' : ':'} ${value.name}]` : `[${kind} (anonymous)]`;
  }
  if (typeof value !== 'object' || value === null) return String(value);
  const custom = (value as Record<symbol, unknown>)[customInspect];
  if (typeof custom === 'function') {
    const shown: unknown = custom.call(value, state.depth - state.above.length, {}, inspect);
    return typeof shown === 'string' ? shown : show(shown, state);
  }
  if (state.above.includes(value)) return '[Circular *1]';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) return value.stack ?? String(value);
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet)
    return `${nameOf(value)} { <unknown> }`;
  return showObject(value, state);
}

function showObject(value: object, state: State): string {
  const name = nameOf(value);
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
  if (state.above.length > state.depth) return `[${name || 'Object: null prototype'}]`;
  const inner = { ...state, above: [...state.above, value] };
  const parts: string[] = [];
  const entries = entriesOf(value, isList);
  for (const entry of entries.slice(0, state.elements)) {
    parts.push(entry.length === 1 ? show(entry[0], inner) : `${show(entry[0], inner)} => ${show(entry[1], inner)}`);
  }
  if (entries.length > state.elements) parts.push(`... ${entries.length - state.elements} more items`);
  for (const key of Reflect.ownKeys(value)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(value, key);
    if (!descriptor?.enumerable || (isList && typeof key === 'string' && /^\d+$/.test(key))) continue;
    const label = typeof key === 'symbol' ? `[${String(key)}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key);
    parts.push(
      `${label}: ${descriptor.get ? (descriptor.set ? '[Getter/Setter]' : '[Getter]') : descriptor.set ? '[Setter]' : show(descriptor.value, inner)}`,
    );
  }
  const size = isList
    ? `(${(value as ArrayLike<unknown>).length})`
    : value instanceof Map || value instanceof Set
      ? `(${value.size})`
      : '';
  const prefix =
    name === 'Object' || (name === 'Array' && isList) ? '' : `${name || '[Object: null prototype]'}${size} `;
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (parts.length === 0) return `${prefix}${open}${close}`;
  const line = `${prefix}${open} ${parts.join(', ')} ${close}`;
  if (line.length <= LINE_CHARS_MAX && !line.includes('\n')) return line;
  return `${prefix}${open}\n${parts.map((part) => `  ${part.replaceAll('\n', '\n  ')}`).join(',\n')}\n${close}`;
}

function entriesOf(value: object, isList: boolean): (readonly [unknown] | readonly [unknown, unknown])[] {
  if (isList) return Array.from(value as ArrayLike<unknown>, (element) => [element] as const);
  if (value instanceof Map) return [...value];
  if (value instanceof Set) return Array.from(value, (element) => [element] as const);
  return [];
}

function nameOf(value: object): string {
  return (Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null)?.constructor?.name ?? '';
}

function quoted(text: string): string {
  if (!text.includes("'")) return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')}'`;
  return JSON.stringify(text);
}

/** Formats like `printf` with Node's specifiers; remaining arguments are appended, objects inspected. */
export function format(template?: unknown, ...values: unknown[]): string {
  const rest = [...values];
  const write = (value: unknown): string => (typeof value === 'string' ? value : inspect(value));
  const first =
    typeof template === 'string'
      ? template.replace(/%[sdifjoOc%]/g, (directive) => {
          if (directive === '%%') return rest.length === values.length && values.length === 0 ? '%%' : '%';
          if (rest.length === 0) return directive;
          const value = rest.shift();
          if (directive === '%s')
            return typeof value === 'object' && value !== null
              ? inspect(value, { depth: 0 })
              : typeof value === 'bigint'
                ? `${value}n`
                : String(value);
          if (directive === '%d')
            return typeof value === 'object' ? 'NaN' : typeof value === 'bigint' ? `${value}n` : String(Number(value));
          if (directive === '%i') return String(Number.parseInt(String(value), 10));
          if (directive === '%f') return String(Number.parseFloat(String(value)));
          if (directive === '%j') return JSON.stringify(value) ?? 'undefined';
          return directive === '%c' ? '' : inspect(value);
        })
      : template === undefined && values.length === 0
        ? ''
        : write(template);
  return [first, ...rest.map(write)].join(' ');
}

export function formatWithOptions(_options: object, ...values: unknown[]): string {
  return format(...values);
}
