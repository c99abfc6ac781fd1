// What calls carry: each kind of value there and back, what is refused, requests, responses and streams.
import { runGroup } from '#test/setup/object-cases.ts';

runGroup({
  name: 'values',
  workers: {
    caller: { source: `class Own { x = 1; }`, services: { ECHO: 'echo' } },
    echo: {
      source: `
import { WorkerEntrypoint } from 'cloudflare:workers';
class Own { x = 1; }
export default class extends WorkerEntrypoint {
  echo(value) { return value; }
  kind(value) { return [typeof value, Object.prototype.toString.call(value), value?.constructor?.name]; }
  same(value) { return value.a === value.b; }
  cyclic() { const ring = { name: 'ring' }; ring.self = ring; return ring; }
  own() { return new Own(); }
  symbol() { return Symbol('s'); }
  text(request) { return request.text(); }
  async request(request) { return [request.url, request.method, request.headers.get('x-a'), await request.text(), request instanceof Request]; }
  response() { return new Response('a body', { status: 201, headers: { 'x-b': 'b' } }); }
  empty() { return new Response(null, { status: 204 }); }
  headers() { return new Headers([['x-a', '1'], ['x-a', '2']]); }
  stream() { return new Blob(['first ', 'second']).stream(); }
  slow() {
    let n = 0;
    return new ReadableStream({ type: 'bytes', async pull(c) { await scheduler.wait(1); if (n === 3) c.close(); else c.enqueue(new TextEncoder().encode('part ' + n++ + ';')); } });
  }
  broken() { return new ReadableStream({ type: 'bytes', pull() { throw new Error('the stream broke'); } }); }
  async read(stream) { return new Response(stream).text(); }
  async fill(writable) { const writer = writable.getWriter(); await writer.write(new TextEncoder().encode('written')); await writer.close(); return 'done'; }
  large(bytes) { return new Uint8Array(bytes); }
  length(value) { return value.byteLength ?? value.length; }
  getter() { return { get value() { throw new RangeError('a getter threw'); } }; }
  errorValue() { return new TypeError('as a value'); }
  cause() { throw new Error('outer', { cause: new Error('inner') }); }
}`,
    },
  },
  cases: {
    texts: `return env.ECHO.echo(['', 'größer', '\\u0000\\u0001\\u0002', '\\ud83d\\ude00'])`,
    numbers: `return env.ECHO.echo([0, -0, 1.5, NaN, Infinity, -Infinity, 2 ** 53])`,
    'null and undefined': `return env.ECHO.echo([null, undefined])`,
    booleans: `return env.ECHO.echo([true, false])`,
    bigints: `return env.ECHO.echo([0n, -12345678901234567890n])`,
    dates: `return env.ECHO.echo([new Date(0), new Date('2026-01-01')])`,
    'an invalid date': `return env.ECHO.echo(new Date(NaN))`,
    'regular expressions': `return env.ECHO.echo(/a+b/gi)`,
    maps: `return env.ECHO.echo(new Map([['a', 1], [{ b: 1 }, new Map()]]))`,
    sets: `return env.ECHO.echo(new Set([1, 'a', null]))`,
    'lists with holes': `const list = await env.ECHO.echo([1, , 3]); return [list.length, 1 in list]`,
    'typed arrays': `return env.ECHO.echo([new Uint8Array([1, 2]), new Float64Array([0.5]), new BigInt64Array([-1n]), new Uint8ClampedArray([300])])`,
    'an array buffer': `return env.ECHO.echo(new Uint8Array([1, 2, 3]).buffer)`,
    'a part of a buffer': `return env.ECHO.echo(new Uint8Array([1, 2, 3, 4]).subarray(1, 3))`,
    'a DataView': `const view = await env.ECHO.echo(new DataView(new Uint8Array([1, 2]).buffer)); return [view instanceof DataView, view.getUint8(1)]`,
    'boxed values': `return env.ECHO.kind(new Number(5))`,
    'nested objects': `return env.ECHO.echo({ a: { b: { c: [{ d: 1 }] } }, 'key with space': 2, 3: 4 })`,
    'a key __proto__': `return Object.keys(await env.ECHO.echo(JSON.parse('{"__proto__": 1, "b": 2}')))`,
    'an object without a prototype': `return env.ECHO.kind(Object.assign(Object.create(null), { a: 1 }))`,
    'one object twice': `const one = {}; return env.ECHO.same({ a: one, b: one })`,
    'a cycle in an argument': `const ring = { n: 1 }; ring.self = ring; const back = await env.ECHO.echo(ring); return [back.n, back.self === back]`,
    'a cycle in a result': `const ring = await env.ECHO.cyclic(); return [ring.name, ring.self === ring]`,
    'an error as a value': `const error = await env.ECHO.errorValue(); return [error instanceof TypeError, error.message]`,
    'a cause': `try { await env.ECHO.cause() } catch (error) { return [error.message, error.cause?.message] }`,
    'an instance of a class as an argument': `return env.ECHO.echo(new Own())`,
    'an instance of a class as a result': `return env.ECHO.own()`,
    'a symbol as an argument': {
      run: `return env.ECHO.echo(Symbol('s'))`,
      differs: {
        why: 'The words of the message.',
        ours: { threw: 'DataCloneError', message: 'A symbol cannot be sent to another worker' },
      },
    },
    'a symbol as a result': {
      run: `return env.ECHO.symbol()`,
      differs: {
        why: 'The words of the message.',
        ours: { threw: 'DataCloneError', message: 'A symbol cannot be sent to another worker' },
      },
    },
    'a getter that throws in a result': `return env.ECHO.getter()`,
    'a getter that throws in an argument': `return env.ECHO.echo({ get x() { throw new RangeError('mine'); } })`,
    'a request': `return env.ECHO.request(new Request('http://a.example/b?c=1', { method: 'PUT', headers: { 'x-a': 'y' }, body: 'sent' }))`,
    'a response': `const response = await env.ECHO.response(); return [response.status, response.headers.get('x-b'), await response.text(), response instanceof Response]`,
    'a response without a body': `const response = await env.ECHO.empty(); return [response.status, response.body]`,
    headers: `return [...await env.ECHO.headers()]`,
    'headers as an argument': `return (await env.ECHO.echo(new Headers({ a: '1' }))).get('a')`,
    'a stream as a result': `return new Response(await env.ECHO.stream()).text()`,
    'a slow stream': `return new Response(await env.ECHO.slow()).text()`,
    'a stream as an argument': `return env.ECHO.read(new Blob(['from the caller']).stream())`,
    'a stream there and back': `return new Response(await env.ECHO.echo(new Blob(['there and back']).stream())).text()`,
    'a stream that breaks': {
      run: `try { await new Response(await env.ECHO.broken()).text(); return 'read' } catch (error) { return error.message }`,
      differs: { why: 'The reader gets the error of the stream.', ours: { value: 'the stream broke' } },
    },
    'a writable stream': `
      const { readable, writable } = new IdentityTransformStream();
      const text = new Response(readable).text();
      return [await env.ECHO.fill(writable), await text]`,
    'a stream that is cancelled': `const stream = await env.ECHO.slow(); await stream.cancel(); return 'cancelled'`,
    'the body of a response is passed on': `return (await env.ECHO.response()).text()`,
    'a large result': `return (await env.ECHO.large(1_000_000)).byteLength`,
    'a large argument': `return env.ECHO.length(new Uint8Array(2_000_000))`,
    'a long text': `return env.ECHO.length('x'.repeat(1_000_000))`,
    'more than 32 MB': `try { return await env.ECHO.length(new Uint8Array(33 * 1024 * 1024)) } catch (error) { return [error.name, /limited to 32MiB/.test(error.message)] }`,
    'after a refused argument the service works': `await env.ECHO.echo(new Own()).catch(() => {}); return env.ECHO.echo('still')`,
  },
});
