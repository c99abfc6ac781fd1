// What happens over time: certificates are renewed under load, an authority is away or limits us, a certificate of the
// operator's own takes the place of all, clocks are wrong. One edge each, before a server of the test's.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import type { EdgeState, HostCertificate } from '#core/edge-state.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import {
  get,
  handshake,
  selfSigned,
  startAuthority,
  startLimitingAuthority,
  type Authority,
} from '#test/setup/edge.ts';
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
  assert.match(problem!, /^The authority does not answer: ECONNREFUSED/);
  // Caddy itself lets a handshake wait for up to 90 s while it tries again.
  await assert.rejects(handshake('two.test'), /alert|disconnected|ECONNRESET/);
  assert.ok(Date.parse(nextAttemptAt!) > 0);
  assert.equal((await get('one.test', '/', { ca: authority.root() })).text, 'hello one.test');
  assert.equal(stateOf('one.test')?.problem, null);
  await authority.start();
  await served('two.test');
  assert.equal((await get('two.test', '/', { ca: authority.root() })).status, 200);
});

test('a certificate that is to be renewed while the authority is away goes on serving', async () => {
  serve('four.test');
  await start();
  await served('four.test');
  const { serialNumber } = (await handshake('four.test')).certificate;
  await stop();
  await authority.stop();
  try {
    await start({ EDGE_RENEWAL_RATIO: '0.999999' });
    await until(() => stateOf('four.test')?.problem);
    // More than one: the refusal takes the certificate out of Caddy's memory.
    for (let visit = 0; visit < 5; visit++)
      assert.equal((await handshake('four.test')).certificate.serialNumber, serialNumber);
  } finally {
    await authority.start();
  }
});

test('an authority that limits us is left alone, and its words are shown', async () => {
  serve('three.test');
  const words = 'too many certificates already issued for "three.test"';
  const [key, cert] = selfSigned('acme.test', folder);
  const limiting = await startLimitingAuthority({ key, cert, words });
  try {
    await start({
      ACME_URL: `https://acme.test:${limiting.port}/directory`,
      ACME_CA_FILE: path.join(folder, 'acme.test.crt'),
      EDGE_RETRY_MS: '1',
    });
    const { problem, nextAttemptAt } = await until(() => {
      const state = stateOf('three.test');
      return state?.problem == null ? null : state;
    });
    assert.match(problem!, /rateLimited.*too many certificates already issued/);
    assert.ok(Date.parse(nextAttemptAt!) - Date.now() > 3_000_000, nextAttemptAt!);
    assert.ok(limiting.orders() < 5, `${limiting.orders()} orders`);
  } finally {
    limiting.close();
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
