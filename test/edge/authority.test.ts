// What happens over time: certificates are renewed under load, an authority is away or limits us, a certificate of the
// operator's own takes the place of all, clocks are wrong. One edge each, before a server of the test's.
import assert from 'node:assert/strict';
import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import type { EdgeState, HostCertificate } from '#core/edge-state.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import { get, handshake, startAuthority, type Authority } from '#test/setup/edge.ts';
import { routeRecord } from '#test/setup/route-record.ts';
import { until } from '#test/setup/until.ts';

const ID = 'd000000000001';
let authority: Authority;
let upstream: Server;
let folder: string;
let edge: ChildProcess | null = null;

before(async () => {
  authority = await startAuthority();
  upstream = createServer((request, response) => response.end(`hello ${request.headers.host}`)).listen(0, '127.0.0.1');
  upstream.keepAliveTimeout = 5000;
  await once(upstream, 'listening');
  folder = mkdtempSync(path.join(tmpdir(), 'platform-edge-test-'));
  mkdirSync(path.join(folder, 'routes'));
});
afterEach(() => stop());
after(async () => {
  upstream.close();
  upstream.closeAllConnections();
  await authority.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
  edge = fork('runtime/edge/main.ts', {
    execArgv: [...nodeFlags],
    env: {
      PATH: process.env['PATH'],
      CADDY_BIN: process.env['CADDY_BIN'],
      FS_PATH: folder,
      HANDLER_DOMAIN: 'apps.test',
      HANDLER_PORT: String((upstream.address() as AddressInfo).port),
      EDGE_TOKEN: 'abcdefabcdefabcdef0123456789abcdef0123456789',
      ...authority.environment,
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [message] = (await Promise.race([once(edge, 'message'), once(edge, 'exit')])) as [{ type?: string }];
  assert.equal(message.type, 'ready');
}

async function stop(): Promise<void> {
  if (edge === null || edge.exitCode !== null) return;
  edge.kill('SIGTERM');
  await once(edge, 'exit');
  edge = null;
}

/** The custom domains of the one project from now on. */
function serve(...domains: string[]): void {
  const record = routeRecord(ID, {
    id: ID,
    artifact: 'a'.repeat(64),
    branch: 'main',
    createdAt: '2026-01-01T00:00:00Z',
  });
  writeFileSync(
    path.join(folder, 'routes', `${record.project}.json`),
    JSON.stringify({ ...record, production: ID, domains }),
  );
}

function stateOf(host: string): HostCertificate | undefined {
  try {
    const state: EdgeState = JSON.parse(readFileSync(path.join(folder, 'edge/state.json'), 'utf8'));
    return state.certificates[host];
  } catch {
    return undefined;
  }
}

const served = (host: string) => until(() => stateOf(host)?.expiresAt);

test('a certificate is renewed under steady load without a failed request', async () => {
  serve('one.test');
  // Of the authority's 12 hours, all but the first four seconds are the time to renew.
  await start({ EDGE_RENEWAL_RATIO: String(1 - 64 / (12 * 3600 + 60)) });
  await served('one.test');
  const first = (await handshake('one.test')).certificate.serialNumber;
  const failures: string[] = [];
  const serials = new Set([first]);
  let answered = 0;
  let isOver = false;
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      try {
        // A connection each: each is a handshake.
        const { status, text } = await get('one.test', '/', { ca: authority.root() });
        if (status === 200 && text === 'hello one.test') answered++;
        else failures.push(`${status} ${text}`);
      } catch (error) {
        failures.push((error as Error).message);
      }
    }
  });
  await until(async () => {
    serials.add((await handshake('one.test')).certificate.serialNumber);
    return serials.size > 1;
  });
  isOver = true;
  await Promise.all(load);
  assert.deepEqual(failures, []);
  assert.ok(answered > 50, `${answered} answers`);
});

test('while the authority is away the others go on, the state says why, and it ends when it is back', async () => {
  serve('one.test');
  await start({ EDGE_RETRY_MS: '1000', EDGE_RETRY_MS_MAX: '1000' });
  await served('one.test');
  await authority.stop();
  serve('one.test', 'two.test');
  const { problem, nextAttemptAt } = await until(() => {
    const state = stateOf('two.test');
    return state?.problem == null ? null : state;
  });
  assert.match(problem!, /connection refused/);
  assert.ok(Date.parse(nextAttemptAt!) > 0);
  assert.equal((await get('one.test', '/', { ca: authority.root() })).text, 'hello one.test');
  assert.equal(stateOf('one.test')?.problem, null);
  await authority.start();
  await served('two.test');
  assert.equal((await get('two.test', '/', { ca: authority.root() })).status, 200);
});

test('an authority that limits us is left alone, and its words are shown', async () => {
  serve('three.test');
  const words = 'too many certificates already issued for "three.test"';
  let orders = 0;
  const [key, cert] = selfSigned('acme.test', folder);
  const limiting = createSecureServer({ key, cert }, (request, response) => {
    const base = `https://acme.test:${(limiting.address() as AddressInfo).port}`;
    response.setHeader('content-type', 'application/json');
    response.setHeader('replay-nonce', `nonce${Math.random().toString(36).slice(2)}`);
    if (request.url === '/directory')
      return response.end(
        JSON.stringify({ newNonce: `${base}/nonce`, newAccount: `${base}/account`, newOrder: `${base}/order` }),
      );
    if (request.url === '/account') {
      response.writeHead(201, { location: `${base}/account/1`, 'content-type': 'application/json' });
      return response.end('{"status":"valid"}');
    }
    if (request.url === '/order') {
      orders++;
      response.writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': '3600' });
      return response.end(
        JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail: words, status: 429 }),
      );
    }
    response.end();
  }).listen(0, '127.0.0.1');
  await once(limiting, 'listening');
  try {
    await start({
      ACME_URL: `https://acme.test:${(limiting.address() as AddressInfo).port}/directory`,
      ACME_CA_FILE: path.join(folder, 'acme.test.crt'),
      EDGE_RETRY_MS: '1',
    });
    const { problem, nextAttemptAt } = await until(() => {
      const state = stateOf('three.test');
      return state?.problem == null ? null : state;
    });
    assert.match(problem!, /rateLimited.*too many certificates already issued/);
    assert.ok(Date.parse(nextAttemptAt!) - Date.now() > 3_000_000, nextAttemptAt!);
    assert.ok(orders < 5, `${orders} orders`);
  } finally {
    limiting.close();
    limiting.closeAllConnections();
  }
});

test("hosts of deployments have a budget; a certificate of the operator's own needs none, and is read again", async () => {
  serve();
  await start({ EDGE_CERTIFICATES_PER_WEEK: '1' });
  const { project } = routeRecord(ID, { id: ID, artifact: 'a'.repeat(64), branch: 'main', createdAt: '' });
  await handshake(`${project}.apps.test`);
  await assert.rejects(handshake(`${project}--${ID}.apps.test`), /alert|disconnected|ECONNRESET/);
  await stop();
  const [, first] = selfSigned('*.apps.test', folder, 'wildcard');
  const files = {
    EDGE_CERTIFICATE_FILE: path.join(folder, 'wildcard.crt'),
    EDGE_KEY_FILE: path.join(folder, 'wildcard.key'),
  };
  await start({ EDGE_CERTIFICATES_PER_WEEK: '0', ...files });
  for (const host of [`${project}--${ID}.apps.test`, 'nobody.apps.test'])
    assert.equal((await get(host, '/', { ca: first })).text, `hello ${host}`);
  await assert.rejects(handshake('x.y.apps.test'));
  const kept = (await handshake('nobody.apps.test')).certificate.serialNumber;
  selfSigned('*.apps.test', folder, 'wildcard');
  // Custom domains are looked at every half minute; a change of the routes has it done at once.
  serve('one.test');
  await until(async () => (await handshake('nobody.apps.test')).certificate.serialNumber !== kept);
});

test('a certificate that is not valid yet says that a clock is wrong', async () => {
  serve('four.test');
  selfSigned('four.test', folder, 'future', ['-not_before', '20980101000000Z', '-not_after', '20990101000000Z']);
  await start({
    EDGE_CERTIFICATE_FILE: path.join(folder, 'future.crt'),
    EDGE_KEY_FILE: path.join(folder, 'future.key'),
  });
  const { problem } = await until(() => {
    const state = stateOf('four.test');
    return state?.problem == null ? null : state;
  });
  assert.match(problem!, /^The certificate is not valid before 2098-01-01T00:00:00\.000Z: the clock/);
});

/** Key and certificate, in files of that name. */
function selfSigned(host: string, into: string, name = host, more: readonly string[] = []): [string, string] {
  const [key, cert] = [path.join(into, `${name}.key`), path.join(into, `${name}.crt`)];
  if (more.length === 0)
    execFileSync(
      'openssl',
      [
        ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' '),
        '-subj',
        '/CN=test',
        '-addext',
        `subjectAltName=DNS:${host}`,
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'ignore' },
    );
  else {
    const [request, ext] = [path.join(into, `${name}.csr`), path.join(into, `${name}.ext`)];
    writeFileSync(
      ext,
      `subjectAltName=DNS:${host}\n[ca]\ndefault_ca=own\n[own]\ndatabase=${into}/index\nserial=${into}/serial\nnew_certs_dir=${into}\ndefault_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n`,
    );
    writeFileSync(path.join(into, 'index'), '');
    writeFileSync(path.join(into, 'serial'), '01\n');
    const run = (line: string): void => void execFileSync('openssl', line.split(' '), { stdio: 'ignore' });
    run(
      `req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test -keyout ${key} -out ${request}`,
    );
    run(
      `ca -batch -selfsign -config ${ext} -extfile ${ext} -keyfile ${key} -in ${request} -out ${cert} -startdate ${more[1]} -enddate ${more[3]} -notext`,
    );
  }
  return [readFileSync(key, 'utf8'), readFileSync(cert, 'utf8')];
}
