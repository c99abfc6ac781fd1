// Ids and stubs of durable objects, and what their instances may do.
import { runObjects } from '#test/setup/durable-object-cases.ts';

const source = `
import { DurableObject } from 'cloudflare:workers';
class Base extends DurableObject {
  inherited() { return 'base'; }
}
export class Room extends Base {
  count = 0;
  #secret = 1;
  async fetch(request) {
    const url = new URL(request.url);
    if (url.pathname === '/throw') throw new RangeError('out of range');
    if (url.pathname === '/stream') return new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('a')); c.enqueue(new TextEncoder().encode('b')); c.close(); } }));
    return Response.json({ method: request.method, url: request.url, header: request.headers.get('x-one'), body: await request.text(), name: this.ctx.id.name }, { status: url.pathname === '/teapot' ? 418 : 200, headers: { 'x-two': '2' } });
  }
  add(a, b) { return a + b; }
  next() { return ++this.count; }
  echo(...args) { return args; }
  fails() { throw new TypeError('it failed'); }
  failsWith() { throw Object.assign(new Error('with fields'), { status: 404 }); }
  async slowly(ms) { const before = this.count; await scheduler.wait(ms); this.count = before + 1; return this.count; }
  alone(ms) { return this.ctx.blockConcurrencyWhile(async () => { const before = this.count; await scheduler.wait(ms); this.count = before + 1; return this.count; }); }
  id() { return [String(this.ctx.id), this.ctx.id.name]; }
  async other(name) { return await this.env.ROOM.getByName(name).next(); }
  page() { return new Response('a page', { status: 201 }); }
  reset() { this.ctx.abort('enough'); }
  keys() { return Object.keys(this.ctx).length >= 0 && typeof this.ctx.storage.sql.exec; }
  get property() { return 'a property'; }
}
export class Plain {
  constructor(ctx, env) { this.ctx = ctx; this.env = env; }
  fetch() { return new Response('plain ' + typeof this.ctx.storage.get + ' ' + typeof this.env.ROOM.get); }
}
export class Broken extends DurableObject {
  constructor(ctx, env) { super(ctx, env); throw new Error('never made'); }
  fetch() { return new Response('no'); }
}
export class NoFetch extends DurableObject {
  hello() { return 'hello'; }
}`;

runObjects(
  'namespace',
  source,
  { ROOM: 'Room', PLAIN: 'Plain', BROKEN: 'Broken', NOFETCH: 'NoFetch' },
  {
    'an id has 64 hexadecimal digits': `return /^[0-9a-f]{64}$/.test(String(env.ROOM.idFromName('a')))`,
    'the same name has the same id': `return env.ROOM.idFromName('a').equals(env.ROOM.idFromName('a'))`,
    'another name has another id': `return env.ROOM.idFromName('a').equals(env.ROOM.idFromName('b'))`,
    'another class has another id': `return String(env.ROOM.idFromName('a')) === String(env.PLAIN.idFromName('a'))`,
    'unique ids differ': `return env.ROOM.newUniqueId().equals(env.ROOM.newUniqueId())`,
    'the name of an id': `return env.ROOM.idFromName('a').name`,
    'a unique id has no name': `return env.ROOM.newUniqueId().name`,
    'an id from a text': `const id = env.ROOM.newUniqueId(); return env.ROOM.idFromString(String(id)).equals(id)`,
    'an id of another class is refused': `return (await caught(() => env.PLAIN.idFromString(String(env.ROOM.idFromName('a')))))[0]`,
    'a text that is no id is refused': `return (await caught(() => env.ROOM.idFromString('abc')))[0]`,
    'a stub has its id and name': `const stub = env.ROOM.getByName('a'); return [stub.id.equals(env.ROOM.idFromName('a')), stub.name]`,
    'a stub is no promise': `return typeof (await env.ROOM.getByName('a')).fetch`,
    'fetch with a URL': `return await (await env.ROOM.getByName('a').fetch('https://example.com/path?q=1')).json()`,
    'fetch with http': `return (await (await env.ROOM.getByName('a').fetch('http://example.com/path')).json()).url`,
    'fetch with a request': `return await (await env.ROOM.getByName('a').fetch(new Request('https://x.example/', { method: 'PUT', body: 'text', headers: { 'x-one': '1' } }))).json()`,
    'fetch with options': `return (await (await env.ROOM.getByName('a').fetch('https://x.example/', { method: 'POST', body: 'abc' })).json()).body`,
    'a status and a header of the answer': `const r = await env.ROOM.getByName('a').fetch('https://x.example/teapot'); return [r.status, r.headers.get('x-two')]`,
    'a stream as the answer': `return await (await env.ROOM.getByName('a').fetch('https://x.example/stream')).text()`,
    'a stream as the body': `const body = new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('streamed')); c.close(); } }); return (await (await env.ROOM.getByName('a').fetch('https://x.example/', { method: 'POST', body, duplex: 'half' })).json()).body`,
    'what fetch throws': `return await caught(() => env.ROOM.getByName('a').fetch('https://x.example/throw'))`,
    'a URL that is none': `return (await caught(() => env.ROOM.getByName('a').fetch('/path')))[0]`,
    'a method': `return await env.ROOM.getByName('a').add(1, 2)`,
    'a method of a base class': `return await env.ROOM.getByName('a').inherited()`,
    'memory stays': `const room = env.ROOM.getByName('memory'); return [await room.next(), await room.next()]`,
    'two stubs, one object': `await env.ROOM.getByName('two').next(); return await env.ROOM.get(env.ROOM.idFromName('two')).next()`,
    'arguments of many kinds': `return await env.ROOM.getByName('a').echo(1, 'a', null, undefined, new Date(5), new Map([[1, new Set([2])]]), [1, [2]], { a: { b: 3 } }, 5n, new Uint8Array([1, 2]))`,
    'what a method throws': `return await caught(() => env.ROOM.getByName('a').fails())`,
    'own fields of what a method throws': `try { await env.ROOM.getByName('a').failsWith(); } catch (error) { return [error.message, error.status]; }`,
    'a response that a method returns': `const page = await env.ROOM.getByName('a').page(); return [page.status, await page.text()]`,
    'a missing method': `return await caught(() => env.ROOM.getByName('a').none())`,
    'an own field is no method': `return (await caught(() => env.ROOM.getByName('a').count()))[0]`,
    'events interleave where they wait': `const room = env.ROOM.getByName('slow'); const all = await Promise.all([room.slowly(20), room.slowly(20)]); return all`,
    'blockConcurrencyWhile runs alone': `const room = env.ROOM.getByName('alone'); const all = await Promise.all([room.alone(20), room.alone(20), room.alone(1)]); return all.toSorted()`,
    'an object calls another': `return await env.ROOM.getByName('a').other('b-of-a')`,
    'an object calls itself': `return await env.ROOM.getByName('self').other('self')`,
    'its id inside': `const [id, name] = await env.ROOM.getByName('inside').id(); return [id === String(env.ROOM.idFromName('inside')), name]`,
    'a unique object has no name inside': `return (await env.ROOM.get(env.ROOM.newUniqueId()).id())[1]`,
    abort: `const room = env.ROOM.getByName('abort'); await room.next(); const said = await caught(() => room.reset()); return [said[1], await env.ROOM.getByName('abort').next()]`,
    'a class without a base': `return await (await env.PLAIN.getByName('a').fetch('https://x.example/')).text()`,
    'a constructor that throws': `return await caught(() => env.BROKEN.getByName('a').fetch('https://x.example/'))`,
    'a class without fetch': `return await env.NOFETCH.getByName('a').hello()`,
    'fetch of a class without it': `return (await caught(() => env.NOFETCH.getByName('a').fetch('https://x.example/')))[0]`,
    'a jurisdiction is taken': `return typeof env.ROOM.newUniqueId().toString()`,
    'many objects at once': `const all = await Promise.all(Array.from({ length: 30 }, (_, i) => env.ROOM.getByName('many-' + i).next())); return all.every((n) => n === 1)`,
    'many calls of one at once': `const room = env.ROOM.getByName('busy'); const all = await Promise.all(Array.from({ length: 50 }, () => room.next())); return all.toSorted((a, b) => a - b).at(-1)`,
  },
);
