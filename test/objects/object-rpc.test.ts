// Calls of durable objects by RPC: what crosses, properties, pipelining, stubs, and the gates of the object.
import { runObjects } from '#test/setup/durable-object-cases.ts';

const source = `
import { DurableObject, RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';
const wait = (ms) => scheduler.wait(ms);
class Desk extends RpcTarget {
  #room; #open = true;
  constructor(room) { super(); this.#room = room; }
  get label() { return 'desk of ' + this.#room.ctx.id.name; }
  add(by) { return this.#room.add(by); }
  async slow(ms) { await wait(ms); return this.#room.count; }
  chair(n) { return new Chair(n); }
  [Symbol.dispose]() { this.#room.disposed++; }
}
class Chair extends RpcTarget {
  #n;
  constructor(n) { super(); this.#n = n; }
  get number() { return this.#n; }
  sit(who) { return who + ' on ' + this.#n; }
}
export class Room extends DurableObject {
  count = 0; disposed = 0; kept = null; log = [];
  get size() { return 5; }
  get broken() { throw new RangeError('no size'); }
  get nested() { return { deep: { value: 7, call: (x) => x * 2 } }; }
  get later() { return Promise.resolve('a promise'); }
  add(by = 1) { return this.count += by; }
  room(n) { return { n, name: 'room ' + n, doors: { front: 'open' } }; }
  async asyncRoom(n) { await wait(1); return { n, name: 'room ' + n }; }
  desk() { return new Desk(this); }
  async asyncDesk() { await wait(1); return new Desk(this); }
  disposals() { return this.disposed; }
  counter() { let n = 0; return () => ++n; }
  each(list, callback) { return Promise.all(list.map((item) => callback(item))); }
  async callTwice(callback) { return [await callback(1), await callback(2)]; }
  async useTarget(target) { return [await target.number, await target.sit('you')]; }
  keep(callback) { this.kept = callback.dup(); }
  async callKept(value) { return await this.kept(value); }
  async callLost(callback) { this.lost = callback; }
  async callLostNow() { return await this.lost(1); }
  many() { return { desk: new Desk(this), n: 1, call: (x) => x + 1, list: [new Desk(this)] }; }
  stream(texts) { return new ReadableStream({ start(c) { for (const text of texts) c.enqueue(new TextEncoder().encode(text)); c.close(); } }); }
  async read(stream) { return await new Response(stream).text(); }
  sink() { const room = this; return new WritableStream({ write(chunk) { room.log.push(new TextDecoder().decode(chunk)); }, close() { room.log.push('closed'); } }); }
  async writeTo(stream) { const w = stream.getWriter(); await w.write(new TextEncoder().encode('from the room')); await w.close(); }
  logged() { return this.log; }
  async request(request) { return [request.method, request.url, request.headers.get('x-one'), await request.text()]; }
  makeRequest() { return new Request('https://x.example/made', { method: 'PUT', body: 'a body', headers: { 'x-two': '2' } }); }
  response() { return new Response('text of the room', { status: 201, headers: { 'x-two': '2' } }); }
  async responseText(response) { return [response.status, await response.text()]; }
  headers() { return new Headers({ 'x-a': '1' }); }
  url() { return new URL('https://x.example/path?q=1'); }
  fails() { throw new TypeError('it failed'); }
  async rejects() { await wait(1); throw new SyntaxError('rejected'); }
  failsWith() { throw Object.assign(new Error('with fields'), { status: 404 }); }
  failsPlain() { throw 'a text'; }
  async failsIn(callback) { return await callback(); }
  self() { return this; }
  async put(value) { await this.ctx.storage.put('value', value); return value; }
  get() { return this.ctx.storage.get('value'); }
  async readAndAsk() { await this.ctx.storage.get('value'); this.ctx.storage.sql.exec('SELECT 1'); return 'asked'; }
  async readAround(callback) { const before = await this.ctx.storage.get('value'); await callback(); return [before, await this.ctx.storage.get('value')]; }
  alone(callback) { return this.ctx.blockConcurrencyWhile(async () => { const said = await callback(this.count); this.count += 100; return said; }); }
  async callOther(name) { const desk = await this.env.ROOM.getByName(name).desk(); return await desk.add(3); }
  async passOn(name, callback) { return await this.env.ROOM.getByName(name).callTwice(callback); }
  async deskOf(name) { return await this.env.ROOM.getByName(name).desk(); }
  abort() { this.ctx.abort('enough'); }
  alarm() { return 'alarm'; }
  webSocketMessage() { return 'message'; }
  webSocketClose() { return 'close'; }
  webSocketError() { return 'error'; }
  fetch() { return new Response('page'); }
  count2(...args) { return args.length; }
  order = [];
  async ordered(n) { this.order.push(n); await wait(5 - n); return this.order.length; }
  orders() { return this.order; }
  dup() { return 'dup of the room'; }
}
export class Broken extends DurableObject {
  constructor(ctx, env) { super(ctx, env); throw new Error('never made'); }
  hello() { return 'hello'; }
}
export class Caller extends DurableObject {
  async sum(name) { using desk = await this.env.ROOM.getByName(name).desk(); await desk.add(1); return await desk.add(1); }
  async withCallback(name) { let seen = 0; await this.env.ROOM.getByName(name).each([1, 2, 3], (n) => { seen += n; }); return seen; }
  async gated(name) { const value = this.ctx.storage.get('none'); const called = this.env.ROOM.getByName(name).callTwice((n) => n); return [await value, await called]; }
}`;

const room = (name: string, run: string): string => `const room = env.ROOM.getByName(${JSON.stringify(name)});\n${run}`;

runObjects(
  'object rpc',
  source,
  { ROOM: 'Room', BROKEN: 'Broken', CALLER: 'Caller' },
  {
    'a getter': room('a', 'return await room.size'),
    'a getter that throws': room('a', 'return await caught(() => room.broken)'),
    'a getter with a promise': room('a', 'return await room.later'),
    'an own field': room('a', 'return (await caught(() => room.count))[0]'),
    'a property of a getter': room('a', 'return await room.nested.deep.value'),
    'a function in a getter': room('a', 'return await room.nested.deep.call(21)'),
    'a missing property': room('a', 'return await caught(() => room.missing)'),
    'a missing method': room('a', 'return await caught(() => room.missing())'),
    'a getter called as a method': room('a', 'return (await caught(() => room.size()))[0]'),
    'a method read as a property': room('a', 'return typeof (await room.add)'),
    constructor: room('a', 'return (await caught(() => room.constructor()))[0]'),
    'toString of Object.prototype': room('a', 'return (await caught(() => room.toString()))[0]'),
    'the tag of a stub': room('a', "return [String(room), 'anything' in room, room instanceof Object]"),
    'env and ctx': room('a', 'return [(await caught(() => room.env))[0], (await caught(() => room.ctx))[0]]'),
    'the method alarm': room('a', 'return (await caught(() => room.alarm()))[0]'),
    'methods of sockets': room(
      'a',
      'return [(await caught(() => room.webSocketMessage()))[0], (await caught(() => room.webSocketClose()))[0], (await caught(() => room.webSocketError()))[0]]',
    ),
    'the number of arguments': room(
      'a',
      'return [await room.count2(), await room.count2(undefined), await room.count2(1, 2)]',
    ),
    'types of members': room('a', 'return [typeof room, typeof room.add, typeof room.fetch, typeof room.then]'),

    'a property of a result': room('a', 'return await room.room(1).name'),
    'a property of a property of a result': room('a', 'return await room.room(1).doors.front'),
    'a property of the result of an async method': room('a', 'return await room.asyncRoom(2).name'),
    'a missing property of a result': room('a', 'return await caught(() => room.room(1).missing)'),
    'a method of a target that is not there yet': room('pipe', 'return await room.desk().add(4)'),
    'a method of a target of an async method': room('pipe-2', 'return await room.asyncDesk().add(4)'),
    'three steps at once': room('a', "return await room.desk().chair(3).sit('you')"),
    'a getter of a target at the end of steps': room('a', 'return await room.desk().chair(3).number'),
    'a step of a failed call': room('a', 'return await caught(() => room.fails().name)'),
    'steps in parallel': room(
      'a',
      "const desk = room.desk(); return await Promise.all([desk.label, desk.chair(1).sit('x'), desk.chair(2).number])",
    ),

    'a target': room(
      'target',
      'const desk = await room.desk(); return [await desk.add(1), await desk.add(2), await desk.label]',
    ),
    'a target in an object': room(
      'many',
      'const all = await room.many(); return [all.n, await all.desk.add(1), await all.call(1), await all.list[0].add(1)]',
    ),
    'a private member of a target': room('a', "return (await caught(() => room.desk()['#room']))[0]"),
    'a function that is returned': room(
      'a',
      'const next = await room.counter(); return [await next(), await next(), await next()]',
    ),
    'two functions count apart': room(
      'a',
      'const one = await room.counter(), two = await room.counter(); await one(); return [await one(), await two()]',
    ),
    'a target is kept over calls': room(
      'over',
      'const desk = await room.desk(); await room.add(10); return await desk.add(1)',
    ),
    'an object as a result': room('a', 'return (await caught(() => room.self()))[0]'),

    'a function as an argument': room('a', 'return await room.callTwice((n) => n * 10)'),
    'an async function as an argument': room(
      'a',
      'return await room.callTwice(async (n) => { await scheduler.wait(1); return n * 10; })',
    ),
    'a function called many times': room(
      'a',
      'return await room.each(Array.from({ length: 40 }, (_, n) => n), (n) => n + 1)',
    ),
    'a target as an argument': room(
      'a',
      `class Mine extends (await import('cloudflare:workers')).RpcTarget { get number() { return 9; } sit(who) { return who + ' here'; } }
        return await room.useTarget(new Mine())`,
    ),
    'what a callback throws': room(
      'a',
      "return await caught(() => room.failsIn(() => { throw new RangeError('of the caller'); }))",
    ),
    'a callback that is kept with dup': room('keep', 'await room.keep((n) => n + 1); return await room.callKept(4)'),
    'a callback that is kept without dup': room(
      'lost',
      'await room.callLost((n) => n + 1); return (await caught(() => room.callLostNow()))[1]',
    ),
    'a callback that calls the object': room('again', 'return await room.callTwice((n) => room.add(n))'),
    'a stub as an argument': room(
      'back',
      'using chair = await room.desk().chair(6); return await room.useTarget(chair)',
    ),

    'dispose of a target': room(
      'dispose',
      'const desk = await room.desk(); desk[Symbol.dispose](); await scheduler.wait(20); return await room.disposals()',
    ),
    'using a target': room(
      'using',
      '{ using desk = await room.desk(); await desk.add(1); } await scheduler.wait(20); return await room.disposals()',
    ),
    'a call after dispose': room(
      'a',
      'const desk = await room.desk(); desk[Symbol.dispose](); return (await caught(() => desk.add(1)))[1]',
    ),
    'dup of a target': room(
      'dup',
      'const desk = await room.desk(); const other = desk.dup(); desk[Symbol.dispose](); const said = await other.add(5); other[Symbol.dispose](); await scheduler.wait(20); return [said, await room.disposals()]',
    ),
    'dispose of a result with targets': room(
      'result',
      'const all = await room.many(); all[Symbol.dispose](); await scheduler.wait(20); return await room.disposals()',
    ),

    'a stream that is returned': room('a', "return await new Response(await room.stream(['a', 'b', 'c'])).text()"),
    'a stream as an argument': room(
      'a',
      "const body = new ReadableStream({ type: 'bytes', start(c) { c.enqueue(new TextEncoder().encode('to the room')); c.close(); } }); return await room.read(body)",
    ),
    'a writable stream that is returned': room(
      'sink',
      "const sink = await room.sink(); const w = sink.getWriter(); await w.write(new TextEncoder().encode('one')); await w.close(); return await room.logged()",
    ),
    'a writable stream as an argument': room(
      'a',
      'const { readable, writable } = new TransformStream(); const read = new Response(readable).text(); await room.writeTo(writable); return await read',
    ),
    'a request as an argument': room(
      'a',
      "return await room.request(new Request('https://x.example/p', { method: 'POST', body: 'abc', headers: { 'x-one': '1' } }))",
    ),
    'a request that is returned': room(
      'a',
      'const r = await room.makeRequest(); return [r.method, r.url, r.headers.get("x-two"), await r.text()]',
    ),
    'a response that is returned': room(
      'a',
      'const r = await room.response(); return [r.status, r.headers.get("x-two"), await r.text()]',
    ),
    'a response as an argument': room('a', "return await room.responseText(new Response('mine', { status: 202 }))"),
    'headers that are returned': room('a', "return (await room.headers()).get('x-a')"),
    'a symbol as an argument': room('a', "return (await caught(() => room.count2(Symbol('a'))))[0]"),
    'an instance of a class as an argument': room(
      'a',
      'class Own { a = 1 } return (await caught(() => room.count2(new Own())))[0]',
    ),
    'a cycle as an argument': room('a', 'const a = {}; a.a = a; return await room.count2(a)'),

    'a rejection': room('a', 'return await caught(() => room.rejects())'),
    'a text that is thrown': room('a', 'try { await room.failsPlain(); } catch (error) { return error; }'),
    'own fields of an error': room(
      'a',
      'try { await room.failsWith(); } catch (error) { return [error.status, error.remote]; }',
    ),
    'an error is an instance of its class': room(
      'a',
      'try { await room.fails(); } catch (error) { return [error instanceof TypeError, error.remote]; }',
    ),
    'catch of a call': room('a', 'return await room.fails().catch((error) => error.message)'),
    'finally of a call': room('a', 'let n = 0; await room.add(0).finally(() => n++); return n'),
    'a constructor that throws': `return await caught(() => env.BROKEN.getByName('a').hello())`,
    'a call after a constructor that throws': `await caught(() => env.BROKEN.getByName('b').hello()); return await caught(() => env.BROKEN.getByName('b').hello())`,
    'abort ends calls that run': room(
      'abort',
      'const slow = caught(() => room.desk().slow(200)); await scheduler.wait(20); await caught(() => room.abort()); return (await slow)[1]',
    ),
    'a target after abort': {
      run: room(
        'abort-2',
        'const desk = await room.desk(); await caught(() => room.abort()); return (await caught(() => desk.add(1)))[1]',
      ),
      differs: { why: 'The call fails with the reason of the abort.', ours: { value: 'enough' } },
    },
    'the object after abort': room(
      'abort-3',
      'await room.add(5); await caught(() => room.abort()); return await env.ROOM.getByName("abort-3").add(1)',
    ),

    'calls are in order': room(
      'order',
      'await Promise.all([1, 2, 3, 4].map((n) => room.ordered(n))); return await room.orders()',
    ),
    'calls of a target are in order': room(
      'order-2',
      'const desk = await room.desk(); return await Promise.all([1, 2, 3].map((n) => desk.add(n)))',
    ),
    'what a call wrote is there for the next': room('write', 'await room.put(5); return await room.get()'),
    'SQL after a read, again and again': room(
      'ask',
      'return [await room.readAndAsk(), await room.readAndAsk(), await room.readAndAsk()]',
    ),
    'a callback while storage is read': room(
      'around',
      'await room.put(1); return await room.readAround(() => room.put(2))',
    ),
    'blockConcurrencyWhile waits for a callback': room(
      'alone',
      "const said = room.alone(async (count) => { await scheduler.wait(10); return 'said ' + count; }); const added = room.add(1); return [await said, await added]",
    ),

    'an object calls a target of another': room('one', "return await room.callOther('other')"),
    'a callback passed on': room('one', "return await room.passOn('two', (n) => n * 7)"),
    'a target of another passed on': room(
      'one',
      "const desk = await room.deskOf('three'); return [await desk.add(2), await desk.label]",
    ),
    'an object uses a target': `return await env.CALLER.getByName('a').sum('sum')`,
    'callbacks of an object': `return await env.CALLER.getByName('a').withCallback('cb')`,
    'an object that reads and is called back': `return await env.CALLER.getByName('a').gated('gated')`,
    'fifty calls at once': room(
      'fifty',
      'const all = await Promise.all(Array.from({ length: 50 }, () => room.add(1))); return all.at(-1)',
    ),
    'dup of a stub is a call': room('a', 'return (await caught(() => room.dup()))[0]'),
  },
);
