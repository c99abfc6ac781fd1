// Calls of another worker's methods: which members can be reached, on which kinds of entrypoints, and how errors come
// back.
import { runGroup } from '#test/setup/object-cases.ts';

runGroup({
  name: 'calls',
  workers: {
    caller: {
      source: '',
      services: { AUTH: 'auth', ADMIN: { project: 'auth', entrypoint: 'Admin' }, PLAIN: { project: 'plain' } },
    },
    auth: {
      source: `
import { WorkerEntrypoint, RpcTarget } from 'cloudflare:workers';
class Base extends WorkerEntrypoint {
  inherited() { return 'from the base class'; }
}
export default class extends Base {
  field = 'own';
  fieldFunction = () => 'own';
  #secret = 1;
  #hidden() { return 2; }
  async fetch(request) {
    return Response.json({ url: request.url, method: request.method, text: await request.text() });
  }
  add(a, b) { return a + b; }
  nothing() {}
  async later(value) { await Promise.resolve(); return value; }
  self() { return [typeof this.env, typeof this.ctx, typeof this.ctx.waitUntil, this.#secret]; }
  count(...args) { return args.length; }
  get property() { return 'a property'; }
  get broken() { throw new RangeError('no such property'); }
  get nested() { return { deep: { value: 7, call: (x) => x * 2 } }; }
  fails() { throw new TypeError('it failed'); }
  failsPlain() { throw 'a text'; }
  failsWith() { throw Object.assign(new Error('with fields'), { code: 'E_CODE', status: 404 }); }
  async rejects() { throw new SyntaxError('rejected'); }
  custom() { class MyError extends Error { name = 'MyError'; } throw new MyError('mine'); }
  user(id) { return { id, name: 'user ' + id, tags: ['a', 'b'] }; }
  async asyncUser(id) { return { id, name: 'user ' + id }; }
}
export class Admin extends WorkerEntrypoint {
  role() { return 'admin'; }
  fetch() { return new Response('admin page'); }
}
export class Other { }
`,
    },
    plain: {
      source: `
export default {
  fetch() { return new Response('plain page'); },
  greet(name, env, ctx) { return ['hello ' + name, typeof env, typeof ctx.waitUntil]; },
  value: 5,
};`,
    },
  },
  cases: {
    'a method of the default entrypoint': `return env.AUTH.add(1, 2)`,
    'a method of a named entrypoint': `return env.ADMIN.role()`,
    'a method without a result': `return env.AUTH.nothing()`,
    'an async method': `return env.AUTH.later({ a: 1 })`,
    'this.env and this.ctx': `return env.AUTH.self()`,
    'the number of arguments': `return [await env.AUTH.count(), await env.AUTH.count(undefined), await env.AUTH.count(1, 2, 3)]`,
    'fetch of the default entrypoint': `
      const response = await env.AUTH.fetch('http://somewhere.example/path?q=1', { method: 'POST', body: 'text' });
      return [response.status, await response.json()]`,
    'fetch of a named entrypoint': `return (await env.ADMIN.fetch('http://x/')).text()`,
    'an inherited method': `return env.AUTH.inherited()`,
    'a getter': `return env.AUTH.property`,
    'a getter that throws': `return env.AUTH.broken`,
    'a field of the instance': `return env.AUTH.field`,
    'a function in a field of the instance': `return env.AUTH.fieldFunction()`,
    'a method that does not exist': `return env.AUTH.missing()`,
    'a property that does not exist': `return env.AUTH.missing`,
    'a private method': `return env.AUTH['#hidden']()`,
    constructor: `return env.AUTH.constructor()`,
    'toString of Object.prototype': `return env.AUTH.toString()`,
    'hasOwnProperty of Object.prototype': `return env.AUTH.hasOwnProperty('x')`,
    __proto__: `return env.AUTH.__proto__`,
    'env of the instance': `return env.AUTH.env`,
    'ctx of the instance': `return env.AUTH.ctx`,
    'then of a service': `return typeof env.AUTH.then`,
    'a service may be awaited': `const auth = await env.AUTH; return auth.add(2, 3)`,
    'a getter called as a method': `return env.AUTH.property()`,
    'a method read as a property': `return typeof (await env.AUTH.add)`,
    'an error keeps its name and message': `return env.AUTH.fails()`,
    'a rejection': `return env.AUTH.rejects()`,
    'an error is an instance of its class': `try { await env.AUTH.fails() } catch (error) { return [error instanceof TypeError, error instanceof Error, error.constructor.name] }`,
    'own fields of an error': `try { await env.AUTH.failsWith() } catch (error) { return [error.code, error.status] }`,
    'a text that is thrown': `try { await env.AUTH.failsPlain() } catch (error) { return error }`,
    'a class of errors of its own': `try { await env.AUTH.custom() } catch (error) { return [error.name, error.message, error instanceof Error] }`,
    'a property of a result, without waiting for it': `return env.AUTH.user(3).name`,
    'a property of the result of an async method': `return env.AUTH.asyncUser(4).name`,
    'an item of a list in a result': {
      run: `return env.AUTH.user(3).tags[1]`,
      differs: { why: 'Items of lists can be read here, as in a result that was awaited.', ours: { value: 'b' } },
    },
    'properties of a getter': `return env.AUTH.nested.deep.value`,
    'a function in a getter': `return env.AUTH.nested.deep.call(21)`,
    'a property of a result that does not exist': `return env.AUTH.user(1).missing`,
    'a call of a property of a result that is no function': `return env.AUTH.user(1).name()`,
    'a pipelined call of a failed call': `return env.AUTH.fails().name.length`,
    'catch of a call': `return env.AUTH.fails().catch((error) => error.message)`,
    'finally of a call': `let done = 0; await env.AUTH.add(1, 1).finally(() => done++); return done`,
    'a handler object: a method gets env and ctx': `return env.PLAIN.greet('you')`,
    'a handler object: too many arguments': {
      run: `return env.PLAIN.greet('you', 'me')`,
      differs: {
        why: 'The words of the message.',
        ours: {
          threw: 'TypeError',
          message:
            'Cannot call handler function "greet" over RPC: it takes one argument, and env and ctx. ' +
            'A class that extends WorkerEntrypoint has methods with more.',
        },
      },
    },
    'a handler object: a value': `return env.PLAIN.value`,
    'a handler object: fetch': `return (await env.PLAIN.fetch('http://x/')).text()`,
    'the type of a stub': `return [typeof env.AUTH, typeof env.AUTH.add, typeof env.AUTH.fetch]`,
    'many calls at once': `return Promise.all(Array.from({ length: 50 }, (_, n) => env.AUTH.add(n, n)))`,
    'calls are in order': `const all = []; for (let n = 0; n < 5; n++) all.push(env.AUTH.later(n)); return Promise.all(all)`,
  },
});
