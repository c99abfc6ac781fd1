// Encoding of values: a value that JSON does not support is an object with one member that begins with `$` (the table
// is in docs/mock-server.md). The platform's worker that answers calls has the counterpart.

/** The raw body of a call, in addition to the JSON: the first stream, or the first large array of bytes. */
export interface RawBody {
  body: Uint8Array | ReadableStream<Uint8Array> | null;
}

/** Encodes a platform object. @param inside the function that encodes a value inside the object. */
type WireForm = (inside: (value: unknown) => unknown) => unknown;

const wireForms = new WeakMap<object, WireForm>();

/** Sets the encoding of a platform object. */
export function giveForm<Value extends object>(value: Value, form: WireForm): Value {
  wireForms.set(value, form);
  return value;
}

const DEPTH_MAX = 100;
/** Arrays with fewer bytes become part of the JSON. */
const RAW_BYTES_MIN = 4096;

/** Encodes a value as JSON. @param raw null if all bytes are part of the JSON. */
export function encode(value: unknown, raw: RawBody | null, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw new TypeError('A value is nested too deeply, or contains itself');
  switch (typeof value) {
    case 'undefined':
      return { $undefined: true };
    case 'bigint':
      return { $bigint: String(value) };
    case 'number':
      if (Number.isFinite(value) && !Object.is(value, -0)) return value;
      return { $number: Object.is(value, -0) ? '-0' : String(value) };
    case 'function':
    case 'symbol':
      return { $function: true };
    case 'object':
      return value === null ? null : encodeObject(value, raw, depth);
    default:
      return value;
  }
}

function encodeObject(value: object, raw: RawBody | null, depth: number): unknown {
  const inside = (item: unknown): unknown => encode(item, raw, depth + 1);
  const ours = wireForms.get(value);
  if (ours !== undefined) return ours(inside);
  if (Array.isArray(value)) return Array.from(value, inside);
  const bytes = bytesOf(value);
  if (bytes !== null) {
    if (raw === null || raw.body !== null || bytes.byteLength < RAW_BYTES_MIN) return { $bytes: toBase64(bytes) };
    // The bytes are copied now, because the program may change them before they are sent.
    raw.body = bytes.slice();
    return { $body: true };
  }
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? { $date: 'invalid' } : { $date: value.toISOString() };
  if (value instanceof ReadableStream) {
    if (raw === null || raw.body !== null) throw new TypeError('A call accepts only one stream');
    raw.body = value as ReadableStream<Uint8Array>;
    return { $body: true };
  }
  if (value instanceof Headers) return { $headers: [...value] };
  if (value instanceof Map) return { $map: Array.from(value, ([key, item]) => [inside(key), inside(item)]) };
  if (value instanceof Set) return { $set: Array.from(value, inside) };
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function')
    return inside((value as { toJSON(): unknown }).toJSON());
  if (typeof (value as Iterable<unknown>)[Symbol.iterator] === 'function')
    return Array.from(value as Iterable<unknown>, inside);
  const entries = Object.entries(value)
    .filter(([, item]) => typeof item !== 'function' && typeof item !== 'symbol')
    .map(([name, item]) => [name, inside(item)] as const);
  return entries.length === 1 && entries[0]![0].startsWith('$') ? { $object: entries } : Object.fromEntries(entries);
}

function bytesOf(value: object): Uint8Array | null {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const isBuffer = /^\[object (?:Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value));
  return isBuffer ? new Uint8Array(value as ArrayBuffer) : null;
}

const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** Functions that create a platform object from the fields of a file or of a response. */
export interface Revivers {
  readonly file: (fields: Record<string, unknown>) => unknown;
}

/** Decodes a result. @param body value of `$body`. */
export function revive(value: unknown, body: unknown, revivers: Revivers): unknown {
  if (value === null || typeof value !== 'object') return value;
  const inside = (item: unknown): unknown => revive(item, body, revivers);
  if (Array.isArray(value)) return value.map(inside);
  const entries = Object.entries(value as Record<string, unknown>);
  if (entries.length === 1) {
    const [name, inner] = entries[0] as [string, never];
    switch (name) {
      case '$bytes': {
        const bytes = Buffer.from(inner as string, 'base64');
        return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
      }
      case '$body':
        return body;
      case '$date':
        return new Date(inner);
      case '$map':
        return new Map((inner as unknown[][]).map(([key, item]) => [inside(key), inside(item)]));
      case '$bigint':
        return BigInt(inner);
      case '$number':
        return Number(inner);
      case '$undefined':
        return undefined;
      case '$object':
        return Object.fromEntries((inner as [string, unknown][]).map(([key, item]) => [key, inside(item)]));
      case '$file':
        return revivers.file(inside(inner) as Record<string, unknown>);
      case '$response': {
        const { body: content, ...init } = inner as ResponseInit & { body: unknown };
        return new Response(inside(content) as ReadableStream | null, init);
      }
    }
  }
  return Object.fromEntries(entries.map(([name, item]) => [name, inside(item)]));
}

const errorClasses: Readonly<Record<string, ErrorConstructor>> = { TypeError, RangeError, SyntaxError };

/** An error of a binding, with its original fields. */
export function toError(given: unknown): Error {
  const { name, message, code, cause, ...fields } = (given ?? {}) as Record<string, unknown>;
  const options = cause === undefined ? {} : { cause: toError(cause) };
  const error = new (errorClasses[String(name)] ?? Error)(String(message), options);
  if (error.name !== name) hide(error, 'name', String(name));
  if (code !== undefined) hide(error, 'code', code);
  return Object.assign(error, fields);
}

/** Defines a non-enumerable field, like the fields of errors. */
function hide(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, configurable: true, writable: true });
}
