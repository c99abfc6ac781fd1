// The worker that answers calls of bindings from outside of isolates: it runs in an isolate with a project's bindings
// and calls what it is told, so that code in Node gets what a worker would. Never imported: worker-code.ts reads it.
//
// Values beyond JSON are objects with one member that begins with `$`: `$bytes` (base64), `$date` (ISO 8601), `$map`
// (entries), `$bigint`, `$number` (NaN, Infinity, -0), `$undefined`.

const toBase64 = (bytes) => {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
};
const fromBase64 = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

function revive(value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(revive);
  const names = Object.keys(value);
  if (names.length === 1) {
    const inner = value[names[0]];
    switch (names[0]) {
      case '$bytes':
        return fromBase64(inner);
      case '$date':
        return new Date(inner);
      case '$map':
        return new Map(inner.map(([key, item]) => [revive(key), revive(item)]));
      case '$bigint':
        return BigInt(inner);
      case '$number':
        return Number(inner);
      case '$undefined':
        return undefined;
    }
  }
  return Object.fromEntries(names.map((name) => [name, revive(value[name])]));
}

async function readAll(stream) {
  const chunks = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.byteLength;
    if (length > BYTES_MAX) throw new RangeError('The body is larger than BYTES_MAX bytes: read it in ranges');
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

async function encode(value, depth = 0) {
  if (depth > 100) throw new TypeError('The result is nested too deeply');
  switch (typeof value) {
    case 'undefined':
      return { $undefined: true };
    case 'bigint':
      return { $bigint: String(value) };
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { $number: Object.is(value, -0) ? '-0' : String(value) };
    case 'function':
    case 'symbol':
      throw new TypeError('The result has no JSON form: go on with "next"');
    case 'object':
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (value instanceof Date) return { $date: value.toISOString() };
  if (value instanceof ArrayBuffer) return { $bytes: toBase64(new Uint8Array(value)) };
  if (ArrayBuffer.isView(value))
    return { $bytes: toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
  if (value instanceof ReadableStream) return { $bytes: toBase64(await readAll(value)) };
  if (value instanceof Response) {
    const body = value.body === null ? null : await encode(value.body);
    return { status: value.status, headers: Object.fromEntries(value.headers), body };
  }
  if (value instanceof Map) {
    const entries = [];
    for (const [key, item] of value) entries.push([await encode(key, depth + 1), await encode(item, depth + 1)]);
    return { $map: entries };
  }
  if (Array.isArray(value)) {
    const items = [];
    for (const item of value) items.push(await encode(item, depth + 1));
    return items;
  }
  // An object with a class of its own: its fields and getters, of a file also the body.
  const fields = {};
  const prototype = Object.getPrototypeOf(value);
  const names = new Set(Object.keys(value));
  if (prototype !== Object.prototype && prototype !== null)
    for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (get !== undefined) names.add(name);
  let methods = 0;
  for (const name of names) {
    if (name === 'bodyUsed') continue;
    if (typeof value[name] === 'function') {
      methods++;
      continue;
    }
    Object.defineProperty(fields, name, { value: await encode(value[name], depth + 1), enumerable: true });
  }
  if (Object.keys(fields).length === 0 && (methods > 0 || (prototype !== Object.prototype && prototype !== null)))
    throw new TypeError('The result has no JSON form: go on with "next"');
  return fields;
}

function method(target, name, what) {
  if (typeof name !== 'string' || name in Object.prototype || typeof target?.[name] !== 'function')
    throw new TypeError(what + ' has no method ' + String(name));
  return name;
}

export default {
  async fetch(request, env) {
    try {
      const { binding, method: name, args = [], next = [] } = await request.json();
      if (typeof binding !== 'string' || binding === 'vars' || !Object.hasOwn(env, binding))
        throw new TypeError('platform.yaml declares no binding ' + String(binding));
      if (!Array.isArray(args) || !Array.isArray(next)) throw new TypeError('args and next must be lists');
      const bound = env[binding];
      method(bound, name, 'The binding ' + binding);
      let values = revive(args);
      // A statement is no value: a batch is a list of {sql, params}.
      if (name === 'batch' && typeof bound.prepare === 'function' && Array.isArray(values[0]))
        values = [values[0].map(({ sql, params = [] }) => bound.prepare(sql).bind(...params))];
      let result = bound[name](...values);
      for (const step of next) {
        const target = await result;
        result = target[method(target, step?.method, 'The result')](...revive(step.args ?? []));
      }
      return Response.json({ result: await encode(await result) });
    } catch (error) {
      const { name, message, code } = error ?? {};
      return Response.json(
        {
          error: {
            name: String(name ?? 'Error'),
            message: String(message ?? error),
            ...(code === undefined ? {} : { code }),
          },
        },
        { status: 400 },
      );
    }
  },
};
