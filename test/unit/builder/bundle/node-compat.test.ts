// `nodejs_compat`: Node's modules in a place that has none of them. Each bundle runs in a context without Node's
// globals.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { builtinModules } from 'node:module';
import { test, type TestContext } from 'node:test';
import * as node from 'node:util';
import { bundleFiles, evaluate, plain, run } from '../project-folder.ts';

type Globals = Readonly<Record<string | symbol, unknown>>;

/** Runs statements in a module with these imports, in the form `return ...`. */
async function inWorker(t: TestContext, imports: string, body: string, globals: Globals = {}): Promise<unknown> {
  const worker = await run(t, { 'src/index.ts': `${imports}\nexport default { fetch: () => { ${body} } };` }, globals);
  return worker['fetch']!();
}

test('a worker that names nothing of Node carries nothing of it', async (t) => {
  const { code, map } = await bundleFiles(t, {
    'src/index.ts': 'export default { fetch: (request: Request) => new Response(request.url) };',
  });
  assert.deepEqual((JSON.parse(map) as { sources: string[] }).sources, ['src/index.ts', 'platform:shims/handler.ts']);
  assert.ok(code.length < 2500);
});

test('an import of a module of Node that goes unused leaves nothing behind', async (t) => {
  const { map } = await bundleFiles(t, {
    'src/index.ts':
      'import fs from "fs"; import { Buffer } from "buffer"; import crypto from "node:crypto"; import "node:process"; import stream from "stream"; import events from "events"; import util from "util"; export default { fetch: () => 1 };',
  });
  assert.deepEqual((JSON.parse(map) as { sources: string[] }).sources, ['src/index.ts', 'platform:shims/handler.ts']);
});

test('randomUUID does not bring Buffer along', async (t) => {
  const { map } = await bundleFiles(t, {
    'src/index.ts': 'import { randomUUID } from "crypto"; export default { fetch: () => randomUUID() };',
  });
  assert.doesNotMatch(map, /node_modules\/buffer/);
});

test('every module of Node can be imported as a whole and evaluated', async (t) => {
  const modules = builtinModules.filter((name) => !name.startsWith('_') && !name.startsWith('node:'));
  const imports = modules
    .map((name, index) => `import * as m${index} from 'node:${name}'; import d${index} from '${name}';`)
    .join('\n');
  const uses = modules.map((_, index) => `Object.keys(m${index}).length > 0 && d${index} !== undefined`).join(',');
  const worker = await run(
    t,
    { 'src/index.ts': `${imports}\nexport default { fetch: () => [${uses}] };` },
    { AsyncLocalStorage },
  );
  assert.deepEqual(
    plain(worker['fetch']!()),
    modules.map(() => true),
  );
});

test('the globals Buffer, process, global and setImmediate are there for code that names them', async (t) => {
  const result = await inWorker(
    t,
    '',
    `return [Buffer.from('é').toString('hex'), typeof globalThis.Buffer, typeof process.nextTick, globalThis.process.cwd(), global === globalThis, typeof setImmediate];`,
  );
  assert.deepEqual(plain(result), ['c3a9', 'function', 'function', '/', true, 'function']);
});

test('without nodejs_compat the globals stay undefined', async (t) => {
  const { code } = await bundleFiles(
    t,
    { 'src/index.ts': 'export default { fetch: () => [typeof Buffer, typeof process, typeof global].join() };' },
    { nodeCompat: false },
  );
  assert.equal((evaluate(code) as { fetch(): string }).fetch(), 'undefined,undefined,undefined');
});

test('process.env reads the variables when it is used, and writing it does not reach them', async (t) => {
  const vars = { COLOR: 'red' };
  const globals: Record<string | symbol, unknown> = {};
  const { code } = await bundleFiles(t, {
    'src/index.ts': `import { env } from 'node:process';
const early = process.env.COLOR;
export default { fetch() { process.env.ADDED = 1; return [early, process.env.COLOR, env.COLOR, 'COLOR' in env, Object.keys(env).sort(), process.env.ADDED, env['NODE_ENV'], process.env.missing]; } };`,
  });
  globals[Symbol.for('platform.env.vars')] = vars;
  const worker = evaluate(code, globals) as { fetch(): unknown };
  assert.deepEqual(plain(worker.fetch()), [
    'red',
    'red',
    'red',
    true,
    ['ADDED', 'COLOR', 'NODE_ENV'],
    '1',
    'production',
    null,
  ]);
  assert.deepEqual(vars, { COLOR: 'red' });
});

test('nextTick runs before a timer, with its arguments', async (t) => {
  const order: string[] = [];
  await inWorker(
    t,
    '',
    `return new Promise((done) => { setTimeout(() => { log('timer'); done(); }, 0); process.nextTick(log, 'tick'); });`,
    {
      log: (word: string) => order.push(word),
    },
  );
  assert.deepEqual(order, ['tick', 'timer']);
});

test('hrtime counts forwards, as numbers and as a bigint', async (t) => {
  const result = await inWorker(
    t,
    '',
    `const start = process.hrtime(); const [s, ns] = process.hrtime(start); return [s, ns >= 0, typeof process.hrtime.bigint()];`,
  );
  assert.deepEqual(plain(result), [0, true, 'bigint']);
});

test('process has no exit, and says so when it is called', async (t) => {
  await assert.rejects(
    inWorker(t, '', 'process.exit(1)'),
    /process\.exit was called, but node:process is not available in a worker/,
  );
});

test('Buffer knows base64url, and isUtf8 and isAscii judge bytes', async (t) => {
  const result = await inWorker(
    t,
    `import buffer, { Buffer, isAscii, isUtf8 } from 'node:buffer';`,
    `const bytes = Buffer.from('-_8', 'base64url');
     return [bytes.toString('hex'), bytes.toString('base64url'), bytes.toString('base64'), Buffer.isEncoding('base64url'), Buffer.byteLength('-_8', 'base64url'),
       isUtf8(Buffer.from('é')), isUtf8(new Uint8Array([0xff])), isAscii(Buffer.from('e')), isAscii(Buffer.from('é')), buffer.Buffer === Buffer, Buffer.concat([Buffer.from('a'), Buffer.from('b')]).toString()];`,
  );
  assert.deepEqual(plain(result), ['fbff', '-_8', '+/8=', true, 2, true, false, true, false, true, 'ab']);
});

test('async_hooks has the AsyncLocalStorage of the global scope', async (t) => {
  const result = await inWorker(
    t,
    `import { AsyncLocalStorage, AsyncResource } from 'async_hooks';`,
    `const storage = new AsyncLocalStorage();
     const resource = storage.run('made', () => new AsyncResource('test'));
     return [AsyncLocalStorage === globalThis.AsyncLocalStorage, storage.run('now', () => storage.getStore()), resource.runInAsyncScope((a) => storage.getStore() + a, null, 1)];`,
    { AsyncLocalStorage },
  );
  assert.deepEqual(plain(result), [true, 'now', 'made1']);
});

test('the randomness and comparison of node:crypto work without a host, and what it lacks throws by name', async (t) => {
  const result = (await inWorker(
    t,
    `import crypto, { createDiffieHellman, getRandomValues, randomBytes, randomFillSync, randomInt, randomUUID, timingSafeEqual, webcrypto } from 'node:crypto';`,
    `let failure; try { createDiffieHellman(8); } catch (error) { failure = error.message; }
     const ints = Array.from({ length: 200 }, () => randomInt(3, 6));
     return [randomUUID().length, randomBytes(70000).length, randomBytes(4).toString('hex').length, getRandomValues(new Uint8Array(2)).length, randomFillSync(new Uint8Array(3)).length,
       Math.min(...ints), Math.max(...ints), timingSafeEqual(Buffer.from('a'), Buffer.from('a')), timingSafeEqual(Buffer.from('a'), Buffer.from('b')), webcrypto === globalThis.crypto, crypto.randomUUID === randomUUID, failure];`,
  )) as unknown[];
  assert.deepEqual(plain(result), [
    36,
    70000,
    8,
    2,
    3,
    3,
    5,
    true,
    false,
    true,
    true,
    'crypto.createDiffieHellman was called, but node:crypto is not available in a worker',
  ]);
});

test('createRequire works until the function it gives is called', async (t) => {
  await assert.rejects(
    inWorker(
      t,
      `import { createRequire } from 'node:module'; const require2 = createRequire(import.meta.url);`,
      `require2('left-pad')`,
    ),
    /require\("left-pad"\) cannot load a module while a worker runs: import it/,
  );
});

test('createRequire loads the modules of Node that a file names, as packages built into one file do', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'import built from "built"; export default { fetch: () => built };',
    'node_modules/built/package.json': '{"name":"built","type":"module","main":"index.js"}',
    'node_modules/built/index.js': `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
var __require = ((x) => typeof require !== 'undefined' ? require : x)(undefined);
const { EventEmitter } = __require("events");
const util = require('node:util');
util.patched = 'patched';
const messageOf = (run) => { try { run(); return 'worked'; } catch (error) { return error.message; } };
export default [new EventEmitter().listenerCount('x'), require('util').patched, require('path').join('a', '..', 'b'),
  messageOf(() => require('fs').readFileSync('x')), messageOf(() => require('left-pad'))];
`,
  });
  assert.deepEqual(plain(worker['fetch']!()), [
    0,
    'patched',
    'b',
    'fs.readFileSync was called, but node:fs is not available in a worker',
    'require("left-pad") cannot load a module while a worker runs: import it, so that it is bundled',
  ]);
});

for (const [how, body] of [
  ['self', 'return [typeof self.Buffer, typeof self.process.nextTick];'],
  ['an alias', 'const g = globalThis; return [typeof g.Buffer, typeof g.process.nextTick];'],
  ['its parts', 'const { Buffer: B, process } = globalThis; return [typeof B, typeof process.nextTick];'],
  ['a name in brackets', `return [typeof globalThis['Buffer'], typeof globalThis['process'].nextTick];`],
  ['a question', `const g = globalThis; return ['Buffer' in g && 'function', 'process' in g && 'function'];`],
] as const) {
  test(`Buffer and process are there through ${how}`, async (t) => {
    assert.deepEqual(plain(await inWorker(t, '', body)), ['function', 'function']);
  });
}

test('a method called process brings nothing of Node along', async (t) => {
  const { map } = await bundleFiles(t, {
    'src/index.ts': 'export default { fetch: (request, env) => globalThis.queue?.process(env) };',
  });
  assert.deepEqual((JSON.parse(map) as { sources: string[] }).sources, ['src/index.ts', 'platform:shims/handler.ts']);
});

for (const [name, use] of [
  ['fs', `fs.readFileSync('/etc/passwd')`],
  ['net', 'net.createServer()'],
  ['child_process', `child_process.exec('ls')`],
  ['tls', 'tls.createServer()'],
  ['dgram', `dgram.createSocket('udp4')`],
  ['http', `http.createServer()`],
] as const) {
  test(`node:${name} can be imported and extended; using it throws and names it`, async (t) => {
    const { code } = await bundleFiles(t, {
      'src/index.ts': `import ${name} from '${name}'; class Own extends ${name}.Something {} const kept = ${name}.a.b; export default { fetch: () => { ${use}; return [Own, kept]; } };`,
    });
    const worker = evaluate(code) as { fetch(): unknown };
    assert.throws(
      () => worker.fetch(),
      (error: NodeJS.ErrnoException) => {
        assert.match(
          error.message,
          new RegExp(
            `^${name}\\.\\w+ was called, but node:${name} is not available in a worker${
              name === 'http' ? ': export a fetch handler, or run it as a server for Node with "kind: ssr"' : ''
            }$`,
          ),
        );
        assert.equal(error.code, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM');
        return true;
      },
    );
  });
}

test('plain facts of unavailable modules are real', async (t) => {
  const result = await inWorker(
    t,
    `import net, { isIP } from 'node:net'; import http from 'node:http'; import fs from 'node:fs'; import { isMainThread } from 'node:worker_threads'; import { isatty } from 'node:tty';`,
    `return [isIP('1.2.3.4'), net.isIPv4('x'), http.STATUS_CODES[404], fs.existsSync('/'), isMainThread, isatty(1)];`,
  );
  assert.deepEqual(plain(result), [4, false, 'Not Found', false, true, false]);
});

test('require of a module of Node gives CommonJS code an object it can assign into', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'import old from "old"; export default { fetch: () => old };',
    'node_modules/old/package.json': '{"name":"old","main":"index.js"}',
    'node_modules/old/index.js': `
const url = require('node:url'); url.parse = () => 'patched';
const fs = require('fs'); fs.readFile = () => 'patched'; const { readFile } = require('fs');
const EventEmitter = require('events'); const emitter = new EventEmitter.EventEmitter(); let heard; emitter.on('x', (value) => { heard = value; }); emitter.emit('x', 'event');
const path = require('path'); const { Buffer } = require('buffer'); const assert = require('assert'); assert(true);
require('timers').setImmediate = 1;
module.exports = [require('url').parse(), readFile(), heard, path.join('a', '..', 'b'), Buffer.from('x').length, typeof require('util').inherits, emitter instanceof EventEmitter];`,
  });
  assert.deepEqual(plain(worker['fetch']!()), ['patched', 'patched', 'event', 'b', 1, 'function', true]);
});

test('a package that has the name of a module of Node is reached with a slash', async (t) => {
  const result = await run(t, {
    'src/index.ts': 'import mine from "punycode/"; export default { fetch: () => mine };',
    'node_modules/punycode/package.json': '{"name":"punycode","main":"p.js"}',
    'node_modules/punycode/p.js': 'module.exports = "package";',
  });
  assert.equal(result['fetch']!(), 'package');
});

test('a package with its own readable-stream, of any version, finds the modules and globals of Node', async (t) => {
  const worker = await run(t, {
    'src/index.ts': 'import stream from "readable-stream"; export default { fetch: () => stream };',
    'node_modules/readable-stream/package.json': '{"name":"readable-stream","main":"readable.js"}',
    'node_modules/readable-stream/readable.js': `
const { EventEmitter } = require('events/'); const { Buffer } = require('node:buffer');
module.exports = [process.platform, new EventEmitter().listenerCount('x'), Buffer.from('x').length, typeof setImmediate];`,
  });
  assert.deepEqual(plain(worker['fetch']!()), ['linux', 0, 1, 'function']);
});

test('validateHeaderValue refuses what no header may hold, as Node does', async (t) => {
  const result = await inWorker(
    t,
    `import { validateHeaderValue } from 'node:http';`,
    `const codeOf = (value) => { try { validateHeaderValue('x-a', value); return 'fine'; } catch (error) { return [error.code, error.message]; } };
     return [codeOf('é'), codeOf('a\\nb'), codeOf(undefined)];`,
  );
  assert.deepEqual(plain(result), [
    'fine',
    ['ERR_INVALID_CHAR', 'Invalid character in header content ["x-a"]'],
    ['ERR_HTTP_INVALID_HEADER_VALUE', 'Invalid value "undefined" for header "x-a"'],
  ]);
});

test('StringDecoder keeps back the bytes of an unfinished character', async (t) => {
  const result = await inWorker(
    t,
    `import { StringDecoder } from 'string_decoder';`,
    `const utf8 = new StringDecoder(); const base64 = new StringDecoder('base64'); const euro = Buffer.from('€');
     return [utf8.write(euro.subarray(0, 2)), utf8.write(euro.subarray(2)), utf8.end(Buffer.from([0xc3])), base64.write(Buffer.from('ab')), base64.end(Buffer.from('c')), base64.end()];`,
  );
  assert.deepEqual(plain(result), ['', '€', '\ufffd', '', 'YWJj', '']);
});

test('streams of node:stream transform, pipe and end', async (t) => {
  const result = await inWorker(
    t,
    `import { PassThrough, Readable, Transform, pipeline } from 'node:stream'; import { pipeline as piped } from 'node:stream/promises'; import { text } from 'node:stream/consumers'; import { EventEmitter } from 'node:events';`,
    `return (async () => {
       const upper = new Transform({ transform(chunk, encoding, done) { done(null, String(chunk).toUpperCase()); } });
       const first = await text(Readable.from(['a', 'b']).pipe(upper));
       const sink = new PassThrough();
       const second = text(sink);
       await piped(Readable.from([Buffer.from('x'), Buffer.from('y')]), sink);
       const failure = await new Promise((resolve) => pipeline(new Readable({ read() { this.destroy(new Error('broken')); } }), new PassThrough(), resolve));
       return [first, await second, failure.message, new Readable() instanceof EventEmitter];
     })();`,
  );
  assert.deepEqual(plain(result), ['AB', 'xy', 'broken', true]);
});

test('an EventEmitter is extended as a class and as a function', async (t) => {
  const result = await inWorker(
    t,
    `import { EventEmitter } from 'events'; import { inherits } from 'util';`,
    `function Old() { EventEmitter.call(this); } inherits(Old, EventEmitter);
     class New extends EventEmitter {}
     const heard = [];
     for (const emitter of [new Old(), new New(), new EventEmitter()]) { emitter.once('x', (value) => heard.push(value)); emitter.emit('x', 1); emitter.emit('x', 2); heard.push(emitter instanceof EventEmitter, emitter.listenerCount('x')); }
     return heard;`,
  );
  assert.deepEqual(plain(result), [1, true, 0, 1, true, 0, 1, true, 0]);
});

test('util.inspect and util.format write what Node writes', async (t) => {
  const { format, inspect } = (await inWorker(
    t,
    `import { format, inspect } from 'node:util';`,
    'return { format, inspect };',
  )) as typeof node;
  for (const value of [
    1,
    'it',
    "it's",
    -0,
    10n,
    null,
    undefined,
    true,
    Symbol('s'),
    () => {},
    parseInt,
    class {},
    class Named {},
  ]) {
    assert.equal(inspect(value), node.inspect(value));
  }
  for (const args of [
    ['%s is %d', 'x', 42, 'more'],
    ['%j', { a: 1 }],
    ['100%', 1],
    ['%i %f', '3.7px', '3.7px'],
    ['%%', 1],
    ['%%'],
    ['plain'],
    [1, 'two'],
    [],
  ]) {
    assert.equal(format(...args), node.format(...args));
  }
});

test('inspect shows nested values to a depth and marks cycles', async (t) => {
  const result = await inWorker(
    t,
    `import { inspect } from 'util';`,
    `class Point { x = 1; }
     const loop = { name: 'loop' }; loop.self = loop;
     return [loop, { a: { b: { c: { d: 1 } } } }, [1, 'x'], new Map([['k', { v: 1 }]]), new Set([1]), new Point(), new Uint8Array(2), { 'a-b': "it's" }, [], {}, /x/g, { get g() { return 1; } }].map((value) => inspect(value));`,
  );
  assert.deepEqual(plain(result), [
    "{ name: 'loop', self: [Circular *1] }",
    '{ a: { b: { c: [Object] } } }',
    "[ 1, 'x' ]",
    "Map(1) { 'k' => { v: 1 } }",
    'Set(1) { 1 }',
    'Point { x: 1 }',
    'Uint8Array(2) [ 0, 0 ]',
    `{ 'a-b': "it's" }`,
    '[]',
    '{}',
    '/x/g',
    '{ g: [Getter] }',
  ]);
});

test('promisify, callbackify, types and isDeepStrictEqual of node:util work', async (t) => {
  const result = await inWorker(
    t,
    `import util, { callbackify, isDeepStrictEqual, promisify, types } from 'node:util'; import { isDate } from 'node:util/types';`,
    `return (async () => {
       const own = Object.assign(() => {}, { [promisify.custom]: () => 'custom' });
       const rejected = await promisify((done) => done(new Error('no')))().catch((error) => error.message);
       const called = await new Promise((resolve) => callbackify(async (x) => x + 1)(1, (error, value) => resolve(value)));
       return [await promisify((a, done) => done(null, a * 2))(21), promisify(own)(), rejected, called, types.isPromise(Promise.resolve()), types.isUint8Array(Buffer.from('')), isDate(new Date()),
         isDeepStrictEqual({ a: [1, new Map([[1, { b: 2 }]])] }, { a: [1, new Map([[1, { b: 2 }]])] }), isDeepStrictEqual([1], ['1']), isDeepStrictEqual(new Date(1), new Date(2)), util.stripVTControlCharacters('\u001b[31mred\u001b[0m')];
     })();`,
  );
  assert.deepEqual(plain(result), [42, 'custom', 'no', 2, true, true, true, true, false, false, 'red']);
});
