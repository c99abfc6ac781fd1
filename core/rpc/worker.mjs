// The worker that serves binding calls from outside isolates. The worker runs in an isolate with a project's bindings
// and executes the calls, so that code in Node gets the same results as a worker. Never imported: worker-code.ts reads
// it as text.
//
// A call is `{binding, method, args?, next?}`: in the body as JSON, or in the header `x-platform-call` (base64url);
// then the body is the value of `{"$body": true}`. For clients that accept application/octet-stream, a result that is a
// stream, a file or many bytes is the body of the response, and the remaining result is in `x-platform-result`. Values
// that JSON does not support are objects with one member that begins with `$`: docs/mock-server.md lists them.

import { createEventHandlers } from './events.mjs';

const BYTES_MAX = 33_554_432;
const DEPTH_MAX = 100;
/** Below this size, bytes are a part of the JSON. */
const RAW_BYTES_MIN = 4096;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function toBase64(bytes) {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

const fromBase64 = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
const toHeader = (value) =>
  toBase64(encoder.encode(JSON.stringify(value)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const fromHeader = (text) => JSON.parse(decoder.decode(fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))));

async function readAll(stream) {
  const chunks = [];
  let length = 0;
  for await (const chunk of stream ?? []) {
    length += chunk.byteLength;
    if (length > BYTES_MAX) throw new RangeError(`The body is larger than ${BYTES_MAX} bytes: read it in ranges`);
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

/** Decodes values for a binding. @param on the target of the method, to which statements belong. */
function revive(value, on, env, body) {
  if (value === null || typeof value !== 'object' || value instanceof AbortSignal) return value;
  const inside = (item) => revive(item, on, env, body);
  if (Array.isArray(value)) return value.map(inside);
  const names = Object.keys(value);
  if (names.length === 1) {
    const inner = value[names[0]];
    switch (names[0]) {
      case '$bytes':
        return fromBase64(inner);
      case '$body':
        return body;
      case '$date':
        return new Date(inner);
      case '$map':
        return new Map(inner.map(([key, item]) => [inside(key), inside(item)]));
      case '$set':
        return new Set(inner.map(inside));
      case '$bigint':
        return BigInt(inner);
      case '$number':
        return Number(inner);
      case '$undefined':
        return undefined;
      // Functions cannot be transferred, and bindings report that error.
      case '$function':
        return () => {};
      case '$object':
        return Object.fromEntries(inner.map(([name, item]) => [name, inside(item)]));
      case '$headers':
        return new Headers(inner);
      case '$request':
        return new Request('http://app/', { headers: inner });
      case '$binding':
        return bindingOf(env, inner);
      case '$statement':
        return on.prepare(inner[0]).bind(...inside(inner[1]));
    }
  }
  return Object.fromEntries(names.map((name) => [name, inside(value[name])]));
}

/**
 * Encodes a result as JSON. @param found gets the stream or the bytes of the result, and the placeholder to fill if the
 * response has no separate body.
 */
function encode(value, found, depth = 0) {
  if (depth > DEPTH_MAX) throw new TypeError('The result is nested too deeply');
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
      throw new TypeError('The result cannot be sent as JSON: continue with "next"');
    case 'object':
      break;
    default:
      return value;
  }
  const inside = (item) => encode(item, found, depth + 1);
  if (value === null) return null;
  if (Array.isArray(value)) return value.map(inside);
  if (value instanceof Date) return { $date: value.toISOString() };
  if (value instanceof ArrayBuffer) return encodeBody(new Uint8Array(value), found);
  if (ArrayBuffer.isView(value))
    return encodeBody(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), found);
  if (value instanceof ReadableStream) return encodeBody(value, found);
  if (value instanceof Map) return { $map: Array.from(value, ([key, item]) => [inside(key), inside(item)]) };
  if (value instanceof Response) {
    const { status, statusText } = value;
    const body = value.body === null ? null : encodeBody(value.body, found);
    if (!found.raw) return { status, headers: Object.fromEntries(value.headers), body };
    return { $response: { status, statusText, headers: [...value.headers], body } };
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null)
    return encodeObject(value, Object.keys(value), inside, depth);
  // An object with its own class: its fields, and for a file its content.
  const fields = Object.keys(value).filter((name) => typeof value[name] !== 'function');
  const isFile = typeof value.writeHttpMetadata === 'function';
  if (isFile && 'body' in value) fields.push('body');
  if (fields.length === 0) throw new TypeError('The result cannot be sent as JSON: continue with "next"');
  const encoded = Object.fromEntries(fields.map((name) => [name, inside(value[name])]));
  return isFile && found.raw ? { $file: encoded } : encoded;
}

function encodeObject(value, names, inside, depth) {
  const kept = names.filter((name) => typeof value[name] !== 'function');
  if (kept.length === 0 && names.length > 0 && depth === 0)
    throw new TypeError('The result cannot be sent as JSON: continue with "next"');
  // A page of files has the same list under two names.
  const isTwice = Array.isArray(value.objects) && value.objects === value.keys;
  const entries = kept.filter((name) => !isTwice || name !== 'keys').map((name) => [name, inside(value[name])]);
  return entries.length === 1 && entries[0][0].startsWith('$') ? { $object: entries } : Object.fromEntries(entries);
}

function encodeBody(body, found) {
  const isStream = body instanceof ReadableStream;
  if (!isStream && (body.byteLength < RAW_BYTES_MIN || !found.raw)) return { $bytes: toBase64(body) };
  if (found.body !== null) throw new TypeError('The result has two bodies');
  found.body = body;
  return (found.place = found.raw ? { $body: true } : { $bytes: '' });
}

/** The argument `found` for values that are sent as a line, or as a part of a line. */
const noBody = () => ({ raw: false, body: null, place: null });

function encodeError(error) {
  const { name, message, code, cause } = error ?? {};
  const fields = {};
  for (const [field, value] of Object.entries(Object(error)))
    if (['string', 'number', 'boolean'].includes(typeof value) || value === null) fields[field] = value;
  return {
    ...fields,
    name: String(name ?? 'Error'),
    message: String(message ?? error),
    ...(code === undefined ? {} : { code }),
    ...(cause instanceof Error ? { cause: encodeError(cause) } : {}),
  };
}

function bindingOf(env, name) {
  if (typeof name !== 'string' || name === 'vars' || !Object.hasOwn(env, name) || typeof env[name] !== 'object')
    throw new TypeError(`platform.yaml declares no binding ${String(name)}`);
  return env[name];
}

function methodOf(target, name, what) {
  if (typeof name !== 'string' || name in Object.prototype || typeof target?.[name] !== 'function')
    throw new TypeError(`${what} has no method ${String(name)}`);
  return target[name];
}

/**
 * Calls the methods one after the other, each on the result of the previous call. @returns the last result and the
 * first result.
 */
async function callAll(target, what, calls, env, body) {
  let result = target;
  let first;
  for (const [index, call] of calls.entries()) {
    const { method, args = [] } = call ?? {};
    if (!Array.isArray(args)) throw new TypeError('args must be a list');
    // The first call is made synchronously on the target itself, because a call on a transaction belongs to it,
    // whatever follows.
    const on = index === 0 ? target : await result;
    const called = methodOf(on, method, index === 0 ? what : 'The result');
    let values = args.map((value) => revive(value, on, env, body));
    // Statements cannot be transferred, so a batch may also be a list of {sql, params}.
    if (method === 'batch' && typeof on.prepare === 'function' && Array.isArray(values[0]))
      values = [
        values[0].map((item) =>
          typeof item?.sql === 'string' ? on.prepare(item.sql).bind(...(item.params ?? [])) : item,
        ),
      ];
    result = called.apply(on, values);
    if (index === 0) first = result;
  }
  return { result: await result, first: await first };
}

async function answerCall(call, request, env, isInHeader) {
  const { binding, method, args = [], next = [] } = call ?? {};
  const bound = bindingOf(env, binding);
  if (!Array.isArray(args) || !Array.isArray(next)) throw new TypeError('args and next must be lists');
  let body = null;
  if (isInHeader) body = call.bytes === true ? await readAll(request.body) : (request.body ?? new Response('').body);
  // The call ends when the client disconnects.
  const { signal } = request;
  if (method === 'run' && typeof bound.models === 'function') args[2] = { ...args[2], signal };
  const calls = [{ method, args }, ...next];
  const { result, first } = await callAll(bound, `The binding ${binding}`, calls, env, body);
  const found = {
    raw: request.headers.get('accept')?.includes('application/octet-stream') === true,
    body: null,
    place: null,
  };
  const answer = { result: encode(result, found) };
  if (typeof first?.getBookmark === 'function') answer.bookmark = first.getBookmark();
  const headers = { 'cache-control': 'no-store' };
  if (found.body === null) return Response.json(answer, { headers });
  if (found.raw) {
    answer.body = found.body instanceof ReadableStream ? 'stream' : 'bytes';
    const said = { 'content-type': 'application/octet-stream', 'x-platform-result': toHeader(answer) };
    return new Response(found.body, { headers: { ...headers, ...said } });
  }
  found.place.$bytes = toBase64(found.body instanceof ReadableStream ? await readAll(found.body) : found.body);
  return Response.json(answer, { headers });
}

/** Lines of JSON, as they arrive. */
async function* linesOf(stream) {
  let rest = '';
  const text = new TextDecoder();
  for await (const chunk of stream) {
    rest += text.decode(chunk, { stream: true });
    if (rest.length > BYTES_MAX) throw new RangeError(`A line is longer than ${BYTES_MAX} bytes`);
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

/**
 * A transaction for the duration of the request: each line of its body is a call on it, `{id, method, args?, next?}`,
 * answered by a line with the same id. `{commit: true}` commits it; a body that ends without that rolls it back.
 */
function answerTransaction({ binding }, request, env, context) {
  const bound = bindingOf(env, binding);
  methodOf(bound, 'transaction', `The binding ${binding}`);
  let tell;
  const answers = new ReadableStream({
    start: (controller) =>
      void ((tell = (line) => controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))),
      (tell.close = () => controller.close())),
  });
  const ended = bound.transaction(async (transaction) => {
    tell({ begun: true });
    for await (const call of linesOf(request.body)) {
      if (call.commit === true) return;
      const { id, method, args = [], next = [] } = call;
      callAll(transaction, 'A transaction', [{ method, args }, ...next], env, null)
        .then(({ result }) => tell({ id, result: encode(result, noBody()) }))
        .catch((error) => tell({ id, error: encodeError(error) }));
    }
    throw new Error('The transaction was abandoned');
  });
  context.waitUntil(
    ended
      .then(
        () => tell({ committed: true }),
        (error) => tell({ error: encodeError(error) }),
      )
      .then(tell.close)
      .catch(() => {}),
  );
  return new Response(answers, { headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' } });
}

// The methods of each kind from core/bindings/, which worker-code.ts inserts here.
const declaredKinds = {};
const kinds = { ...declaredKinds, ai: ['models'], assets: ['fetch'] };

/** Kind of a binding, detected by its methods, because the host only passes its name. The most specific kind counts. */
function kindOf(bound) {
  try {
    const fits = Object.entries(kinds).filter(([, methods]) =>
      methods.every((name) => typeof bound[name] === 'function'),
    );
    return fits.toSorted(([, one], [, other]) => other.length - one.length)[0]?.[0] ?? 'none';
  } catch {
    return 'none';
  }
}

function describe(env) {
  const names = Object.keys(env).filter((name) => name !== 'vars' && typeof env[name] === 'object');
  const vars = Object.fromEntries(Object.entries(env.vars).filter(([name]) => !name.startsWith('PLATFORM_APP_')));
  return { bindings: Object.fromEntries(names.map((name) => [name, kindOf(env[name])])), vars };
}

/**
 * Forwards a call to the AI gateway, to which a server has no other access. @param target path below PLATFORM_AI_URL
 */
function askGateway(target, request, { PLATFORM_AI_URL: base }) {
  if (base === undefined) throw new TypeError('platform.yaml has no "ai: true"');
  const { method, headers, body, signal } = request;
  return fetch(`${base}${target}`, { method, headers, body, signal, redirect: 'manual' });
}

export default {
  ...createEventHandlers({
    encode: (value) => encode(value, noBody()),
    revive: (value) => revive(value, null, {}, null),
    encodeError,
    linesOf,
  }),
  async fetch(request, env, context) {
    try {
      const { pathname, search } = new URL(request.url);
      if (/^\/ai(?:\/|$)/.test(pathname)) return await askGateway(pathname.slice(3) + search, request, env);
      if (request.method === 'GET') return Response.json(describe(env), { headers: { 'cache-control': 'no-store' } });
      const head = request.headers.get('x-platform-call');
      const call = head === null ? JSON.parse(decoder.decode(await readAll(request.body))) : fromHeader(head);
      if (call?.transaction === true) return answerTransaction(call, request, env, context);
      return await answerCall(call, request, env, head !== null);
    } catch (error) {
      return Response.json({ error: encodeError(error) }, { status: 400, headers: { 'cache-control': 'no-store' } });
    }
  },
};
