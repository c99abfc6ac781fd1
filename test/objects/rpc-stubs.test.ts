// What calls pass by reference: functions and RpcTargets, the life of their stubs, calls that do not wait for each
// other, and the entrypoints of the worker itself.
import { runGroup } from '#test/setup/object-cases.ts';

runGroup({
  name: 'stubs',
  workers: {
    caller: {
      source: `
import { RpcTarget, RpcStub, WorkerEntrypoint, exports as moduleExports } from 'cloudflare:workers';
class Local extends RpcTarget { constructor(log) { super(); this.log = log; } note(x) { this.log.push(x); return this.log.length; } [Symbol.dispose]() { this.log.push('disposed'); } }
export class Named extends WorkerEntrypoint {
  props() { return this.ctx.props; }
  double(x) { return x * 2; }
  fetch(request) { return new Response('named ' + new URL(request.url).pathname); }
}
`,
      services: { S: 's', C: 'c' },
    },
    s: {
      source: `
import { WorkerEntrypoint, RpcTarget } from 'cloudflare:workers';
class Counter extends RpcTarget {
  #value;
  constructor(value) { super(); this.#value = value; }
  add(by) { this.#value += by; return this.#value; }
  get value() { return this.#value; }
  fails() { throw new RangeError('counter'); }
  next() { return new Counter(this.#value + 1); }
  hidden = 1;
}
let disposed = 0;
class Tracked extends RpcTarget { ping() { return 'pong'; } [Symbol.dispose]() { disposed++; } }
let kept = null;
export default class extends WorkerEntrypoint {
  counter(from) { return new Counter(from); }
  counters() { return { a: new Counter(1), b: new Counter(10), plain: 5 }; }
  func() { return (a, b) => a + b; }
  adder(by) { return (x) => x + by; }
  async call(callback, ...args) { return callback(...args); }
  async callTwice(callback) { return [await callback(1), await callback(2)]; }
  async method(target, name, ...args) { return target[name](...args); }
  async catches(callback) { try { await callback(); return 'nothing'; } catch (error) { return [error.name, error.message]; } }
  async keep(callback) { kept = callback.dup(); return 'kept'; }
  async useKept() { return kept(1); }
  kindOf(value) { return [typeof value, value.constructor === undefined]; }
  user(id) { return { id, counter: new Counter(id), greet: (name) => 'hello ' + name }; }
  tracked() { return new Tracked(); }
  disposed() { return disposed; }
  back(value) { return value; }
  async nested(other) { return other.add(1); }
  async plain(id) { await scheduler.wait(20); return { id, of: { deep: ['first', 'second'] } }; }
  async fails() { await scheduler.wait(20); throw new RangeError('failed'); }
}`,
    },
    c: {
      source: `
import { WorkerEntrypoint } from 'cloudflare:workers';
export default class extends WorkerEntrypoint {
  async use(counter) { return counter.add(5); }
}`,
    },
  },
  cases: {
    'a function as a result': `const f = await env.S.func(); return f(1, 2)`,
    'a function keeps what it closed over': `const f = await env.S.adder(10); return [await f(1), await f(2)]`,
    'a function as an argument': `return env.S.call((a, b) => a * b, 6, 7)`,
    'an async function as an argument': `return env.S.call(async (a) => { await scheduler.wait(1); return a + '!'; }, 'later')`,
    'a function is called twice': `let n = 0; const results = await env.S.callTwice((x) => { n += x; return n; }); return [results, n]`,
    'a callback that throws': `return env.S.catches(() => { throw new TypeError('from the caller'); })`,
    'a target as a result': `const counter = await env.S.counter(5); return [await counter.add(1), await counter.add(2)]`,
    'a getter of a target': `const counter = await env.S.counter(5); return counter.value`,
    'a field of a target': `const counter = await env.S.counter(5); return counter.hidden`,
    'a method of a target that throws': `const counter = await env.S.counter(5); return counter.fails()`,
    'a missing method of a target': `const counter = await env.S.counter(5); return counter.nothing()`,
    'a target from a target': `const counter = await env.S.counter(5); const next = await counter.next(); return next.value`,
    'the type of a stub': `const counter = await env.S.counter(5); return [typeof counter, counter instanceof RpcStub, typeof counter.then]`,
    'targets inside of an object': `const all = await env.S.counters(); return [await all.a.add(1), await all.b.add(1), all.plain]`,
    'a property of a plain result whose answer is on its way': `const user = env.S.plain(7); await scheduler.wait(5); const until = Date.now() + 60; while (Date.now() < until); const deep = user.of.deep; return [await deep, await user.id, (await user).id]`,
    'a method of a plain result whose answer is on its way': `const user = env.S.plain(7); await scheduler.wait(5); const until = Date.now() + 60; while (Date.now() < until); return user.of.missing(1)`,
    'a property of a failure that is on its way': `const user = env.S.fails(); await scheduler.wait(5); const until = Date.now() + 60; while (Date.now() < until); return user.of.deep`,
    'a call of a result, without waiting for it': `return env.S.counter(7).add(3)`,
    'a getter of a result, without waiting for it': `return env.S.counter(7).value`,
    'two steps, without waiting for them': `return env.S.counter(7).next().add(1)`,
    'a method of an object of a result': `return env.S.user(3).counter.add(4)`,
    'a function of an object of a result': `return env.S.user(3).greet('you')`,
    'a function that was returned is called at once': `return env.S.adder(5)(6)`,
    'a call of a result after it is there': `const promise = env.S.counter(1); await promise; return promise.add(1)`,
    'a property of a result after it is there': `const promise = env.S.user(4); await promise; return promise.id`,
    'a target as an argument': `const log = []; const n = await env.S.method(new Local(log), 'note', 'x'); return [n, log[0]]`,
    'a stub is given back to its owner': `const log = []; const stub = await env.S.back(new Local(log)); await stub.note('a'); return log[0]`,
    'a stub of one worker is passed to another': `const counter = await env.S.counter(1); return env.C.use(counter)`,
    'a stub remains the caller’s after it was passed': `const counter = await env.S.counter(1); await env.C.use(counter); return counter.value`,
    'a disposed stub': `const counter = await env.S.counter(1); counter[Symbol.dispose](); return counter.add(1)`,
    'dup of a stub': `const counter = await env.S.counter(1); const other = counter.dup(); counter[Symbol.dispose](); return other.add(1)`,
    using: `let kept; { using counter = await env.S.counter(1); kept = counter; await counter.add(1); } return kept.add(1)`,
    'disposing of an object disposes of its stubs': `const all = await env.S.counters(); all[Symbol.dispose](); return all.a.add(1)`,
    'a result has a disposer': `const user = await env.S.user(1); return [typeof user[Symbol.dispose], Object.keys(user)]`,
    'a plain result has a disposer too': `return typeof (await env.S.back({ a: 1 }))[Symbol.dispose]`,
    'a target is disposed of with its stub': {
      run: `
        const before = await env.S.disposed();
        { using tracked = await env.S.tracked(); await tracked.ping(); }
        await scheduler.wait(50);
        return (await env.S.disposed()) - before`,
      differs: { why: 'Its dispose method is called at once.', ours: { value: 1 } },
    },
    'a target of the caller is disposed of too': `const log = []; await env.S.method(new Local(log), 'note', 1); await scheduler.wait(50); return log`,
    'a stub of a target of this worker': `const log = []; const stub = new RpcStub(new Local(log)); return [await stub.note('x'), log]`,
    'dup of a stub of this worker': `const log = []; const stub = new RpcStub(new Local(log)); const other = stub.dup(); stub[Symbol.dispose](); const open = [...log]; other[Symbol.dispose](); await scheduler.wait(50); return [open, log]`,
    'a stub of this worker is passed': `const log = []; const stub = new RpcStub(new Local(log)); await env.S.method(stub, 'note', 'y'); return log[0]`,
    'a function of a stub of this worker': `const stub = new RpcStub((x) => x + 1); return stub(4)`,
    'a stub of a plain object': `return typeof new RpcStub({ a: 1 })`,
    'ctx.exports: a method': `return ctx.exports.Named.double(21)`,
    'ctx.exports: fetch': `return (await ctx.exports.Named.fetch('http://x/path')).text()`,
    'ctx.exports: props': `return ctx.exports.Named({ props: { role: 'admin', n: 1 } }).props()`,
    'ctx.exports: without props': `return ctx.exports.Named.props()`,
    'ctx.exports: the default export': `return (await ctx.exports.default.fetch('http://x/')).text()`,
    'ctx.exports: something that is not exported': `return typeof ctx.exports.Missing`,
    'exports of cloudflare:workers': `return moduleExports.Named.double(4)`,
    'a promise of a call is no plain promise': `const promise = env.S.func(); const result = [promise instanceof Promise, typeof promise]; await promise; return result`,
    'then of a call': `return env.S.counter(2).then((counter) => counter.add(1))`,
    'Promise.all of calls': `return Promise.all([env.S.counter(1).value, env.S.counter(2).value])`,
    'a call that nobody waits for': `env.S.counter(1); return 'gone on'`,
  },
});
