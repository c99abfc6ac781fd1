import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostBody } from '#runtime/engine/guest/host.ts';
import { AbortController as GuestController } from '#runtime/engine/guest/web/abort.ts';
import { Blob as GuestBlob } from '#runtime/engine/guest/web/blob.ts';
import { Headers as GuestHeaders } from '#runtime/engine/guest/web/headers.ts';
import { createIncomingRequest, Request as GuestRequest, takeRequest } from '#runtime/engine/guest/web/request.ts';
import { createIncomingResponse, Response as GuestResponse, takeResponse } from '#runtime/engine/guest/web/response.ts';
import { URL as GuestUrl } from '#runtime/engine/guest/web/url.ts';
import { URLSearchParams as GuestParams } from '#runtime/engine/guest/web/url-search-params.ts';
import { connectGuestHost, lazyGlobals } from '#test/setup/guest-host.ts';

connectGuestHost();
const GuestStream = lazyGlobals().ReadableStream;

const noSignal = () => new GuestController().signal;

function hostBody(...chunks: string[]): HostBody & { cancelled: unknown } {
  return {
    cancelled: undefined,
    async read() {
      const chunk = chunks.shift();
      return chunk === undefined ? null : new TextEncoder().encode(chunk);
    },
    cancel(reason) {
      this.cancelled = reason ?? 'no reason';
    },
  };
}

test('takes a text response apart without changing its form', () => {
  const taken = takeResponse(
    new GuestResponse('h\u00e4llo', { status: 201, statusText: 'Made', headers: { 'X-A': '1' } }),
  );
  assert.deepEqual(taken, {
    status: 201,
    statusText: 'Made',
    headerBlock: 'content-type\0text/plain;charset=UTF-8\0x-a\x001\0',
    body: 'h\u00e4llo',
    webSocket: null,
  });
  assert.deepEqual(takeResponse(new GuestResponse()), {
    status: 200,
    statusText: '',
    headerBlock: '',
    body: null,
    webSocket: null,
  });
  assert.equal(takeResponse({ status: 200 }), null);
  assert.equal(takeResponse('text'), null);
});

test('sends the headers as they were changed later', () => {
  const response = new GuestResponse('x', { headers: new GuestHeaders({ a: '1' }) });
  response.headers.append('set-cookie', 'b=2');
  response.headers.set('content-type', 'text/html');
  assert.equal(takeResponse(response)!.headerBlock, 'a\x001\0content-type\0text/html\0set-cookie\0b=2\0');
});

test('sends a response once', async () => {
  const response = new GuestResponse('once');
  takeResponse(response);
  assert.equal(response.bodyUsed, true);
  assert.throws(() => takeResponse(response), { name: 'TypeError' });
  await assert.rejects(response.text(), { name: 'TypeError' });
  const read = new GuestResponse('read');
  await read.text();
  assert.throws(() => takeResponse(read), { name: 'TypeError' });
  const locked = new GuestResponse('locked');
  locked.body!.getReader();
  assert.throws(() => takeResponse(locked), { name: 'TypeError' });
});

test('hands a body on the host through untouched, even after its stream was looked at', () => {
  const body = hostBody('a');
  const response = createIncomingResponse(200, 'OK', 'a\x001\0', body, 'https://a.test/#x', true);
  assert.equal(response.body!.locked, false);
  assert.equal(takeResponse(response)!.body, body);
  assert.equal(response.bodyUsed, true);
});

const posted = (body: string | Uint8Array): GuestRequest =>
  createIncomingRequest('POST', 'http://app.localhost/', '', body, noSignal);

test('takes the content back from the stream of a body that is passed on unread', async () => {
  for (const content of ['text', '', new Uint8Array([0xff, 0])]) {
    const request = posted(content);
    const response = new GuestResponse(request.body as never);
    assert.deepEqual([request.bodyUsed, response.bodyUsed], [false, false]);
    assert.deepEqual(takeResponse(response)!.body, content);
    assert.deepEqual([request.bodyUsed, request.body!.locked, response.bodyUsed], [true, true, true]);
    assert.throws(() => new GuestResponse(request.body as never), { name: 'TypeError' });
    await assert.rejects(request.text(), { name: 'TypeError' });
  }
  const request = posted('text');
  const outgoing = new GuestRequest('http://other.localhost/', {
    method: 'POST',
    body: request.body as never,
    duplex: 'half',
  } as never);
  assert.equal(takeRequest(outgoing).body, 'text');
  assert.equal(await new GuestResponse(posted('text').body as never).text(), 'text');
});

test('sends a stream that somebody has begun to read, or holds, as what it is', async () => {
  const read = posted('text');
  const reader = read.body!.getReader();
  const response = new GuestResponse(posted('text').body as never);
  assert.equal(new TextDecoder().decode((await reader.read()).value), 'text');
  assert.throws(() => new GuestResponse(read.body as never), { name: 'TypeError' });
  response.body!.getReader();
  assert.throws(() => takeResponse(response), { name: 'TypeError' });
});

test('keeps the bytes of a body that is passed on apart from its clone', async () => {
  const request = posted(new Uint8Array([1, 2, 3]));
  const clone = request.clone();
  const bytes = await new GuestResponse(request.body as never).bytes();
  bytes.fill(0);
  assert.deepEqual([...(await clone.bytes())], [1, 2, 3]);
});

test('shows a fetched response with immutable headers', () => {
  const response = createIncomingResponse(404, 'Not Found', 'a\x001\0', null, 'https://a.test/x#hash', true);
  assert.deepEqual(
    [response.type, response.status, response.ok, response.statusText, response.url, response.redirected],
    ['basic', 404, false, 'Not Found', 'https://a.test/x', true],
  );
  assert.throws(() => response.headers.set('a', '2'), { name: 'TypeError' });
});

test('reads every form of body in every form', async () => {
  const bytes = new TextEncoder().encode('{"a":"\u00e9"}');
  const sources: (() => unknown)[] = [
    () => '{"a":"\u00e9"}',
    () => bytes,
    () => bytes.buffer,
    () => new GuestBlob([bytes]),
    () =>
      new GuestStream({
        start: (controller) => (
          controller.enqueue(bytes.slice(0, 3)),
          controller.enqueue(bytes.slice(3)),
          controller.close()
        ),
      }),
  ];
  for (const source of sources) {
    const make = () => new GuestResponse(source());
    assert.equal(await make().text(), '{"a":"\u00e9"}');
    assert.deepEqual(await make().json(), { a: '\u00e9' });
    assert.deepEqual(await make().bytes(), bytes);
    assert.deepEqual(new Uint8Array(await make().arrayBuffer()), bytes);
    assert.equal(await (await make().blob()).text(), '{"a":"\u00e9"}');
    const copies: Uint8Array[] = [];
    for await (const chunk of make().body!) copies.push(chunk as Uint8Array);
    assert.deepEqual(Buffer.concat(copies), Buffer.from(bytes));
  }
  assert.equal(
    await createIncomingRequest('POST', 'https://a.test/', '', hostBody('{"a":', '1}'), noSignal).text(),
    '{"a":1}',
  );
});

test('keeps a body apart from the buffer it was made from', async () => {
  const bytes = new Uint8Array([65, 66]);
  const response = new GuestResponse(bytes);
  const copy = response.clone();
  bytes[0] = 90;
  const mine = await response.bytes();
  mine[0] = 90;
  assert.equal(await copy.text(), 'AB');
});

test('implies the content type of each form of body', () => {
  const typeOf = (body: unknown) => new GuestResponse(body).headers.get('content-type');
  assert.equal(typeOf('x'), 'text/plain;charset=UTF-8');
  assert.equal(typeOf(new GuestParams('a=1')), 'application/x-www-form-urlencoded;charset=UTF-8');
  assert.equal(typeOf(new GuestBlob(['x'], { type: 'Image/PNG' })), 'image/png');
  assert.equal(typeOf(new GuestBlob(['x'])), null);
  assert.equal(typeOf(new Uint8Array(1)), null);
  assert.equal(typeOf(null), null);
  assert.equal(GuestResponse.json({}).headers.get('content-type'), 'application/json');
  assert.equal(
    GuestResponse.json({}, { headers: { 'Content-Type': 'application/vnd.x' } }).headers.get('content-type'),
    'application/vnd.x',
  );
});

test('marks bodies used by the rules', async () => {
  const response = new GuestResponse('text');
  assert.equal(response.bodyUsed, false);
  assert.equal(await response.text(), 'text');
  assert.equal(response.bodyUsed, true);
  assert.equal(response.body!.locked, true);
  await assert.rejects(response.json(), { name: 'TypeError' });
  assert.throws(() => response.clone(), { name: 'TypeError' });
  const empty = new GuestResponse();
  assert.equal(await empty.text(), '');
  assert.equal(await empty.text(), '');
  assert.equal(empty.bodyUsed, false);
  const cancelled = new GuestResponse('text');
  await cancelled.body!.cancel();
  assert.equal(cancelled.bodyUsed, true);
  await assert.rejects(Reflect.apply(GuestResponse.prototype.text, {}, []), { name: 'TypeError' });
});

test('clones bodies of every kind, headers apart', async () => {
  for (const body of [
    'text',
    new Uint8Array([65]),
    new GuestStream({ start: (controller) => (controller.enqueue(new Uint8Array([65])), controller.close()) }),
  ]) {
    const response = new GuestResponse(body, { headers: { a: '1' } });
    const copy = response.clone();
    copy.headers.set('a', '2');
    assert.equal(response.headers.get('a'), '1');
    assert.equal(await response.text(), await copy.text());
  }
  const request = createIncomingRequest('POST', 'https://a.test/', 'a\x001\0', hostBody('one', 'two'), noSignal);
  const copy = request.clone();
  assert.deepEqual([await request.text(), await copy.text()], ['onetwo', 'onetwo']);
});

test('refuses statuses, reasons and bodies that do not fit', () => {
  for (const status of [0, 199, 600, 1000, Number.NaN, 'abc'])
    assert.throws(() => new GuestResponse(null, { status }), { name: 'RangeError' });
  assert.throws(() => new GuestResponse('x', { status: 204 }), { name: 'TypeError' });
  assert.throws(() => new GuestResponse(null, { statusText: 'a\nb' }), { name: 'TypeError' });
  assert.throws(() => new GuestResponse(null, 5), { name: 'TypeError' });
  assert.throws(() => new GuestResponse(Symbol('s')), { name: 'TypeError' });
  assert.throws(() => GuestResponse.json(undefined), { name: 'TypeError' });
  assert.throws(() => GuestResponse.redirect('https://a.test/', 200), { name: 'RangeError' });
  assert.throws(() => GuestResponse.redirect('not absolute'), { name: 'TypeError' });
  assert.equal(
    GuestResponse.redirect(new GuestUrl('https://A.test') as never, 307).headers.get('location'),
    'https://a.test/',
  );
  assert.deepEqual([GuestResponse.error().type, GuestResponse.error().status], ['error', 0]);
});

test('makes the request of an invocation from strings alone', () => {
  let signals = 0;
  const { signal } = new GuestController();
  const request = createIncomingRequest('GET', 'https://a.test/x', 'host\0a.test\0', null, () => (signals++, signal));
  assert.deepEqual(
    [request.method, request.url, request.headers.get('Host'), request.body],
    ['GET', 'https://a.test/x', 'a.test', null],
  );
  assert.throws(() => request.headers.set('a', '1'), { name: 'TypeError' });
  assert.equal(signals, 0);
  assert.equal(request.signal, signal);
  assert.equal(request.signal, signal);
  assert.equal(signals, 1);
});

test('makes requests from requests, which gives their bodies away', async () => {
  const first = new GuestRequest('https://a.test/', {
    method: 'post',
    body: 'text',
    headers: { a: '1' },
    redirect: 'manual',
  });
  const second = new GuestRequest(first, { headers: { b: '2' } });
  assert.deepEqual(
    [second.method, second.url, second.redirect, [...second.headers]],
    ['POST', 'https://a.test/', 'manual', [['b', '2']]],
  );
  assert.equal(first.bodyUsed, true);
  assert.equal(await second.text(), 'text');
  assert.throws(() => new GuestRequest(first), { name: 'TypeError' });
  const replaced = new GuestRequest(new GuestRequest('https://a.test/', { method: 'PUT', body: 'old' }), {
    body: 'new',
  });
  assert.equal(await replaced.text(), 'new');
});

test('takes a request apart to send it', () => {
  const controller = new GuestController();
  const request = new GuestRequest('https://a.test/?q', {
    method: 'PATCH',
    body: new GuestParams('a=1'),
    signal: controller.signal,
  });
  assert.deepEqual(takeRequest(request), {
    method: 'PATCH',
    url: 'https://a.test/?q',
    headerBlock: 'content-type\0application/x-www-form-urlencoded;charset=UTF-8\0',
    body: 'a=1',
    redirect: 'follow',
    signal: controller.signal,
    blob: null,
  });
  assert.throws(() => takeRequest(request), { name: 'TypeError' });
});

test('follows the signal it was given', () => {
  const controller = new GuestController();
  const request = new GuestRequest('https://a.test/', { signal: controller.signal });
  const copy = request.clone();
  assert.equal(request.signal.aborted, false);
  controller.abort('stop');
  assert.deepEqual([request.signal.reason, copy.signal.reason], ['stop', 'stop']);
});

test('refuses requests that the Fetch Standard refuses', () => {
  const refused: [unknown, unknown?][] = [
    ['/relative'],
    ['https://user:pass@a.test/'],
    ['https://a.test/', { method: 'CONNECT' }],
    ['https://a.test/', { method: 'bad method' }],
    ['https://a.test/', { body: 'x' }],
    ['https://a.test/', { method: 'HEAD', body: 'x' }],
    ['https://a.test/', { mode: 'navigate' }],
    ['https://a.test/', { redirect: 'maybe' }],
    ['https://a.test/', { cache: 'only-if-cached' }],
    ['https://a.test/', { signal: {} }],
    ['https://a.test/', { headers: { 'bad name': '1' } }],
    ['https://a.test/', 5],
  ];
  for (const [input, init] of refused)
    assert.throws(() => new GuestRequest(input, init), { name: 'TypeError' }, JSON.stringify([input, init]));
});

test('reads a blob through any reader and leaves the blob whole', async () => {
  const blob = new GuestBlob(['hello world']);
  const reader = new GuestResponse(blob).body!.getReader({ mode: 'byob' });
  const pieces: string[] = [];
  for (;;) {
    const { done, value } = await reader.read(new Uint8Array(4));
    if (done) {
      assert.equal(value!.byteLength, 0);
      break;
    }
    pieces.push(new TextDecoder().decode(value));
  }
  assert.deepEqual(pieces, ['hell', 'o wo', 'rld']);
  await new GuestResponse(blob).body!.getReader().read();
  await new GuestRequest('https://a.example/', { method: 'POST', body: blob }).body!.getReader().read();
  (await new GuestResponse(blob).bytes()).fill(0);
  new Uint8Array(await new GuestResponse(blob).clone().arrayBuffer()).fill(0);
  assert.equal(await blob.text(), 'hello world');
  const sent = takeResponse(new GuestResponse(blob))!;
  assert.deepEqual(sent.body, new TextEncoder().encode('hello world'));
  assert.equal(sent.headerBlock, '');
});

test('asks for duplex where a body is a stream, and takes no stream with keepalive or in mode no-cors', () => {
  const url = 'https://a.example/';
  const stream = () => new GuestStream() as ReadableStream;
  const make = (init: object) => new GuestRequest(url, { method: 'POST', ...init });
  assert.throws(() => make({ body: stream() }), { name: 'TypeError', message: /duplex/ });
  assert.throws(() => make({ body: stream(), duplex: 'full' }), { name: 'TypeError' });
  assert.throws(() => make({ body: stream(), duplex: 'half', keepalive: true }), { name: 'TypeError' });
  assert.throws(() => make({ body: stream(), duplex: 'half', mode: 'no-cors' }), { name: 'TypeError' });
  const request = make({ body: stream(), duplex: 'half' });
  assert.throws(() => new GuestRequest(request, { mode: 'no-cors' }), { name: 'TypeError' });
  assert.ok(new GuestRequest(url, request).body);
  assert.ok(make({ body: 'text', keepalive: true, mode: 'no-cors' }));
  const incoming = createIncomingRequest('POST', url, '', hostBody('a'), noSignal);
  assert.ok(make({ body: incoming.body }), 'what came in is handed on without it');
});

test('takes GET, HEAD and POST in mode no-cors and no other method', () => {
  for (const method of ['GET', 'HEAD', 'post'])
    assert.equal(new GuestRequest('https://a.example/', { mode: 'no-cors', method }).mode, 'no-cors');
  for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PROPFIND'])
    assert.throws(() => new GuestRequest('https://a.example/', { mode: 'no-cors', method }), { name: 'TypeError' });
  const simple = new GuestRequest('https://a.example/', { mode: 'no-cors' });
  assert.throws(() => new GuestRequest(simple, { method: 'PUT' }), { name: 'TypeError' });
});

test('a stream is an empty object to JSON, and so is all that belongs to one', () => {
  const { TransformStream, WritableStream, CompressionStream, TextDecoderStream } =
    lazyGlobals() as unknown as typeof globalThis;
  const readable = new GuestStream() as ReadableStream;
  const writable = new WritableStream();
  const all = [
    readable,
    readable.getReader(),
    writable,
    writable.getWriter(),
    new TransformStream(),
    new TextDecoderStream(),
    new CompressionStream('gzip'),
  ];
  assert.equal(JSON.stringify({ all, name: 'x' }), '{"all":[{},{},{},{},{},{},{}],"name":"x"}');
  assert.deepEqual(Object.keys(Object.getPrototypeOf(readable) as object).includes('toJSON'), false);
});
