// What Node's modules do with the platform around them: http clients over fetch, refusals, what the hooks give to
// hostile code, and who pays for the host's work.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;
let upstream: Server;

before(async () => {
  upstream = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      if (request.url === '/moved') response.writeHead(302, { location: '/elsewhere' }).end();
      else if (request.url === '/never') response.writeHead(200).write('begun');
      else
        response
          .writeHead(201, { 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'] })
          .end(
            `${request.method} ${request.url} ${request.headers.authorization ?? '-'} ${request.headers['x-a'] ?? '-'} ${text}`,
          );
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const vars = { PORT: String((upstream.address() as AddressInfo).port) };
  handler = await startHandler({
    http: {
      vars,
      files: `import http, { get, request } from 'node:http';
        import https from 'node:https';
        const read = (sent) => new Promise((resolve, reject) => {
          sent.on('error', reject);
          sent.on('response', (response) => {
            let text = '';
            response.setEncoding('utf8');
            response.on('data', (part) => (text += part));
            response.on('end', () => resolve({ status: response.statusCode, headers: response.headers['set-cookie'] ?? response.headers.location, text, complete: response.complete }));
          });
        });
        export default { async fetch(incoming, env) {
          const port = env.PORT;
          switch (new URL(incoming.url).pathname) {
            case '/get': return Response.json(await read(get('http://u:p@127.0.0.1:' + port + '/a?b=c', { agent: new http.Agent({ keepAlive: true }) })));
            case '/post': {
              const sent = request({ host: '127.0.0.1', port, path: '/p', method: 'POST', headers: { 'X-A': 'b', 'Content-Length': 8 } });
              sent.write('body');
              sent.end('more');
              return Response.json(await read(sent));
            }
            case '/moved': return Response.json(await read(http.get({ hostname: '127.0.0.1', port, path: '/moved' })));
            case '/refused': return Response.json(await read(http.get('http://127.0.0.1:1/')).catch((error) => ({ failed: error.name })));
            case '/timeout': {
              const sent = http.get({ hostname: '127.0.0.1', port, path: '/never', timeout: 20 });
              const seen = await new Promise((resolve) => { sent.on('error', (error) => resolve('error ' + error.message)); sent.on('timeout', () => resolve('timeout')); sent.on('response', (response) => { response.on('data', () => {}); response.on('error', () => {}); }); });
              sent.destroy();
              return new Response(seen);
            }
            default: return new Response([typeof https.request, typeof https.Agent, http.STATUS_CODES[404], http.METHODS.includes('GET')].join());
          }
        } };`,
    },
    refused: `import fs, { readFileSync } from 'node:fs';
      import fsp from 'node:fs/promises';
      import net from 'node:net';
      import tls from 'node:tls';
      import dgram from 'node:dgram';
      import { spawn } from 'node:child_process';
      import http from 'node:http';
      import { Worker } from 'node:worker_threads';
      import vm from 'node:vm';
      import crypto from 'node:crypto';
      const tries = { readFileSync: () => readFileSync('/x'), exists: () => fs.existsSync('/etc/passwd'), fsp: () => fsp.readFile('/x'), net: () => net.createServer(), tls: () => tls.createServer(), dgram: () => dgram.createSocket('udp4'), spawn: () => spawn('ls'), server: () => http.createServer(), worker: () => new Worker('x'), vm: () => vm.runInNewContext('1'), dh: () => crypto.createDiffieHellman(8) };
      export default { fetch: () => Response.json(Object.fromEntries(Object.entries(tries).map(([name, run]) => { try { return [name, run()]; } catch (error) { return [name, error.message]; } }))) };`,
    hostile: `export default { async fetch() {
        Object.prototype.reference = true;
        Object.prototype.result = { reference: true };
        Object.prototype.copy = false;
        Array.prototype[Symbol.iterator] = function* () { for (let at = 0; at < this.length; at++) yield this[at]; };
        const hooks = globalThis[Symbol.for('platform.node')];
        const answer = hooks.crypto({ op: 'hkdf', digest: 'sha256', length: 4 }, [new Uint8Array(1), new Uint8Array(1), new Uint8Array(1)]);
        const failures = [];
        for (const run of [() => hooks.crypto({ op: 'nope' }, []), () => hooks.crypto({ op: 'hkdf' }, ['text']), () => hooks.crypto(undefined, []), () => hooks.zlib({ get op() { throw new Error('own'); } }, [])]) {
          try { const { value } = run(); failures.push(value?.error?.message ?? typeof value); } catch (error) { failures.push(error.message); }
        }
        delete Object.prototype.reference; delete Object.prototype.result; delete Object.prototype.copy;
        return Response.json({ keys: Object.keys(hooks), frozen: Object.isFrozen(hooks), answer: Object.keys(answer), plain: Object.getPrototypeOf(answer) === Object.prototype, part: answer.parts[0] instanceof Uint8Array, failures, names: Object.getOwnPropertyNames(globalThis).filter((name) => /ivm|native|connect|host/i.test(name)) });
      } };`,
    paying: `import { pbkdf2Sync, randomBytes } from 'node:crypto';
      export default { fetch(request) {
        const times = Number(new URL(request.url).searchParams.get('times'));
        for (let at = 0; at < times; at++) pbkdf2Sync('password', 'salt', 100_000, 64, 'sha512');
        return new Response('done');
      } };`,
    hooks: {
      vars: { NAME: 'value' },
      files: `import { env, waitUntil } from 'cloudflare:workers';
        let failure; try { waitUntil(Promise.resolve()); } catch (error) { failure = error.message; }
        const early = env.NAME;
        export default { fetch() { waitUntil((async () => { await scheduler.wait(5); console.log('waited until'); })()); return Response.json([early, env.vars.NAME, Object.keys(env), failure]); } };`,
    },
  });
});
after(async () => {
  await handler.close();
  upstream.closeAllConnections();
  upstream.close();
});

test('http.get and http.request are streams over fetch', async () => {
  assert.deepEqual((await handler.fetch('http', '/get')).json(), {
    status: 201,
    headers: ['a=1', 'b=2'],
    text: `GET /a?b=c Basic ${btoa('u:p')} - `,
    complete: true,
  });
  assert.deepEqual((await handler.fetch('http', '/post')).json(), {
    status: 201,
    headers: ['a=1', 'b=2'],
    text: 'POST /p - b bodymore',
    complete: true,
  });
  assert.equal((await handler.fetch('http', '/')).text, 'function,function,Not Found,true');
});

test('http clients follow no redirect, fail with an error event and tell of a timeout', async () => {
  assert.deepEqual((await handler.fetch('http', '/moved')).json(), {
    status: 302,
    headers: '/elsewhere',
    text: '',
    complete: true,
  });
  assert.deepEqual((await handler.fetch('http', '/refused')).json(), { failed: 'TypeError' });
  assert.equal((await handler.fetch('http', '/timeout')).text, 'timeout');
});

test('files, datagrams, processes and servers are refused by name when they are used', async () => {
  const said = (await handler.fetch('refused')).json() as Record<string, unknown>;
  assert.equal(said['exists'], false);
  assert.equal(said['readFileSync'], 'fs.readFileSync was called, but node:fs is not available in a worker');
  assert.equal(said['net'], 'net.createServer was called, but node:net is not available in a worker');
  for (const [name, message] of Object.entries(said))
    if (name !== 'exists')
      assert.match(
        String(message),
        /was called, but node:[\w/]+ is not available in a worker(?:: export a fetch handler, [^\n]+)?$/,
        name,
      );
});

test('the hooks give hostile code bytes and plain values, never a reference to the host', async () => {
  assert.deepEqual((await handler.fetch('hostile')).json(), {
    keys: ['crypto', 'cryptoLater', 'zlib', 'zlibLater', 'tcpConnect', 'tcpLookup', 'tcpOpen'],
    frozen: true,
    answer: ['value', 'parts', 'cpuMs'],
    plain: true,
    part: true,
    failures: [
      'The operation is unknown',
      'A part must be a view of an ArrayBuffer',
      'The arguments must be an object',
      'own',
    ],
    names: [],
  });
});

test('what a waiting worker lets the host work out is on its own CPU account', async () => {
  assert.equal((await handler.fetch('paying', '/?times=1')).text, 'done');
  assert.ok((handler.requests.at(-1)?.cpuMs ?? 0) > 15);
  const response = await handler.fetch('paying', '/?times=200');
  assert.match(response.text, /cpu_limit_exceeded/);
});

test('cloudflare:workers has env and waitUntil', async () => {
  assert.deepEqual((await handler.fetch('hooks')).json(), [
    'value',
    'value',
    ['NAME', 'vars'],
    'waitUntil was called outside of an invocation',
  ]);
  assert.equal((await handler.logged('hooks', /waited until/)).level, 'info');
});
