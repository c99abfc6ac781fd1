// `npm run bench gateway`: the cost of a model call through the AI gateway, compared with Portkey's gateway and with
// the provider alone: added latency, calls per second, CPU time and memory; for streams, the added time to the first
// byte, and memory of 1,000 open streams. Only our gateway stores tokens and usage. Streams fail in Portkey's packaged
// version. BENCH_CALLS=200 BENCH_ROUNDS=2 BENCH_SECONDS=1 BENCH_STREAM_SECONDS=5 is a short run.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openPostgresAccounts } from '../gateway/accounts/postgres/accounts.ts';
import { encryptionKeys } from '../core/encryption.ts';
import { nodeFlags } from '../core/node-flags.mjs';
import { openPostgres } from '../postgres/connection.ts';
import { startEmbeddedPostgres } from '../postgres/embedded.ts';
import { migrate } from '../postgres/migrate.ts';
import { atExit, temporaryFolder } from './cleanup.ts';
import { askInTurn, askTogether, bodyOf, openTarget, type LoadReading, type OpenTarget } from './gateway-load.ts';
import { residentBytes, rounds, seconds } from './load.ts';
import { digits, formatTable, median, percentile } from './statistics.ts';

const CALLS = Number(process.env['BENCH_CALLS'] ?? 2000);
const TOGETHER = 50;
const STREAMS = 1000;
const STREAM_SECONDS = Number(process.env['BENCH_STREAM_SECONDS'] ?? 60);
const SHARE_MAX = 1 / 3;
const SECRET = '0123456789abcdef0123456789abcdef';
const MB = 1024 * 1024;

const folder = temporaryFolder();

/** Starts a program of Node and waits until it says that it is ready. */
async function start(file: string, words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const child = fork(path.join(import.meta.dirname, file), words, {
    execArgv: [...nodeFlags],
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const gone = atExit(() => child.kill('SIGKILL'));
  child.once('exit', gone);
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const postgres = await startEmbeddedPostgres({ folder: path.join(folder, 'postgres'), durable: false });
const sql = openPostgres({ url: postgres.url, name: 'bench', connectionsMax: 1 });
await migrate(sql);
await sql.session((session) =>
  session.script(`
    INSERT INTO control.organization (id, slug, name) VALUES ('acme', 'acme', 'Acme');
    INSERT INTO control.project (id, organization_id, name) VALUES ('shop', 'acme', 'shop');
    INSERT INTO control.deployment (id, project_id, organization_id, target, branch, source)
      VALUES ('d000000000001', 'shop', 'acme', 'production', 'main', 'upload')`),
);
const accounts = await openPostgresAccounts({
  connection: { url: postgres.url, name: 'bench', connectionsMax: 1 },
  now: Date.now,
  limitsOf: () => [],
  table: { providers: [], aliases: {}, auto: [] },
  keys: encryptionKeys(SECRET),
  usageDays: 1,
  log: () => {},
});
const caller = {
  kind: 'worker',
  organizationId: 'acme',
  projectId: 'shop',
  deploymentId: 'd000000000001',
  branch: 'main',
  plan: 'free',
  runId: null,
} as const;
const token = await accounts.tokens.issue(caller, null);
await accounts.close();

const [upstreamPort, portkeyPort, apiPort] = [await freePort(), await freePort(), await freePort()];
const upstream = await start('peers/model-upstream.mjs', [String(upstreamPort)]);
await once(upstream, 'message');
const upstreamUrl = `http://127.0.0.1:${upstreamPort}/v1`;
const startOurs = async (name: string, more: Readonly<Record<string, string>> = {}) => {
  const socket = path.join(folder, `${name}.sock`);
  const child = await start('../gateway/main.ts', [], {
    AI_LISTEN: socket,
    AI_ENGINES_LISTEN: path.join(folder, `${name}-engines.sock`),
    DATABASE_URL: postgres.url,
    ENCRYPTION_KEY: SECRET,
    AI_PROVIDER_UP_KIND: 'openai',
    AI_PROVIDER_UP_URL: upstreamUrl,
    LOG_LEVEL: 'error',
    ...more,
  });
  await once(child, 'message');
  return { socket, pid: child.pid! };
};
const ours = await startOurs('ours');
const limited = await startOurs('limited', { AI_QUOTA_TOKENS_FREE_DAY: String(1e12), AI_RATE_RPM_FREE: String(1e9) });
const api = await start('peers/api-front.ts', [String(apiPort), ours.socket]);
await once(api, 'message');
const portkey = await start('node_modules/@portkey-ai/gateway/build/start-server.js', [
  '--headless',
  `--port=${portkeyPort}`,
]);
while ((await fetch(`http://127.0.0.1:${portkeyPort}/`).catch(() => null)) === null) await delay(50);

const json = { 'content-type': 'application/json' };
const own = { path: '/ai/chat/completions', prefix: 'up/', headers: { ...json, authorization: `Bearer ${token}` } };
const bare = openTarget({
  name: 'the provider alone',
  origin: `http://127.0.0.1:${upstreamPort}`,
  path: '/v1/chat/completions',
  prefix: '',
  headers: json,
  pids: [upstream.pid!],
});
const portkeyTarget = openTarget({
  name: "Portkey's 1.15.2",
  origin: `http://127.0.0.1:${portkeyPort}`,
  path: '/v1/chat/completions',
  prefix: '',
  headers: {
    ...json,
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': upstreamUrl,
    authorization: 'Bearer sk-bench',
  },
  pids: [portkey.pid!],
});
const socket = { ...own, origin: 'http://gateway' };
const ourTarget = openTarget({ ...socket, name: 'ours, as engines reach it', socket: ours.socket, pids: [ours.pid] });
const limitedTarget = openTarget({
  ...socket,
  name: 'ours, under limits',
  socket: limited.socket,
  pids: [limited.pid],
});
const apiTarget = openTarget({
  ...own,
  name: 'ours, through the API',
  origin: `http://127.0.0.1:${apiPort}`,
  pids: [ours.pid, api.pid!],
});
const gateways = [portkeyTarget, ourTarget, limitedTarget, apiTarget];
const targets = [bare, ...gateways];

const memoryOf = ({ pids }: OpenTarget): number => pids.reduce((sum, pid) => sum + residentBytes(pid), 0) / MB;
const idle = new Map(targets.map((target) => [target.name, memoryOf(target)]));

process.stdout.write(
  `${CALLS} calls one after the other, in turn; then ${TOGETHER} at a time, medians of ${rounds} rounds of ${seconds} s\n\n`,
);
const whole = await askInTurn(targets, { count: CALLS, isStream: false });
const added = (name: string, share: number, of: 'first' | 'whole', times = whole): number =>
  percentile(times.get(name)![of], share) - percentile(times.get(bare.name)![of], share);
const readings = new Map(targets.map(({ name }) => [name, [] as LoadReading[]]));
for (let round = 0; round <= rounds; round += 1)
  for (const target of targets) {
    const reading = await askTogether(target, TOGETHER, seconds);
    if (round > 0) readings.get(target.name)!.push(reading);
  }
const middle = (name: string, key: keyof LoadReading): number => median(readings.get(name)!.map((one) => one[key]));
process.stdout.write(
  `${formatTable(
    ['', 'added p50 ms', 'added p99 ms', 'calls/s', 'p50 ms', 'p99 ms', 'CPU us a call', 'MB idle', 'MB after'],
    targets.map((target) => [
      target.name,
      target === bare ? '-' : digits(added(target.name, 0.5, 'whole')),
      target === bare ? '-' : digits(added(target.name, 0.99, 'whole')),
      middle(target.name, 'perSecond'),
      middle(target.name, 'p50Ms'),
      middle(target.name, 'p99Ms'),
      middle(target.name, 'cpuUs'),
      idle.get(target.name)!,
      memoryOf(target),
    ]),
  )}\n`,
);
for (const { name } of gateways.slice(1)) {
  const share = added(name, 0.5, 'whole') / added(portkeyTarget.name, 0.5, 'whole');
  const missed = share > SHARE_MAX ? ', missed' : '';
  process.stdout.write(`  ${name} / Portkey's, added p50 = ${digits(share)} (aim: at most 0.33${missed})\n`);
}

const streamed = [bare, ourTarget, limitedTarget, apiTarget];
const firsts = await askInTurn(streamed, { count: Math.ceil(CALLS / 4), isStream: true });
process.stdout.write(
  `\n${formatTable(
    ['streams of 23 chunks', 'first byte p50 ms', 'added', 'p99 ms', 'added', 'whole p50 ms', 'added'],
    streamed.map(({ name }) => [
      name,
      percentile(firsts.get(name)!.first, 0.5),
      added(name, 0.5, 'first', firsts),
      percentile(firsts.get(name)!.first, 0.99),
      added(name, 0.99, 'first', firsts),
      percentile(firsts.get(name)!.whole, 0.5),
      added(name, 0.5, 'whole', firsts),
    ]),
  )}\n`,
);

/** Opens them, reads them for a while, closes them, and tells the memory at each time. */
async function holdStreams(target: OpenTarget): Promise<readonly number[]> {
  const figures = [memoryOf(target)];
  const body = bodyOf(target, 'slow', true);
  let chunks = 0;
  const openOne = async () => {
    const answer = await target.pool.request({ path: target.path, method: 'POST', headers: target.headers, body });
    if (answer.statusCode !== 200) throw new Error(`a stream was answered ${answer.statusCode}`);
    return answer.body.on('data', () => (chunks += 1)).on('error', () => {});
  };
  const open: Awaited<ReturnType<typeof openOne>>[] = [];
  while (open.length < STREAMS) open.push(...(await Promise.all(Array.from({ length: TOGETHER }, openOne))));
  figures.push(memoryOf(target));
  await delay((STREAM_SECONDS * 1000) / 2);
  figures.push(memoryOf(target));
  await delay((STREAM_SECONDS * 1000) / 2);
  figures.push(memoryOf(target));
  if (chunks < (STREAMS * STREAM_SECONDS) / 2) throw new Error(`only ${chunks} chunks came`);
  for (const stream of open) stream.destroy();
  await delay(5000);
  return [...figures, memoryOf(target)];
}

process.stdout.write(`\n${STREAMS} streams with a chunk a second each\n`);
const held: (readonly (string | number)[])[] = [];
for (const target of [ourTarget, apiTarget]) held.push([target.name, ...(await holdStreams(target))]);
process.stdout.write(
  `${formatTable(
    ['MB', 'before', 'open', `after ${STREAM_SECONDS / 2} s`, `after ${STREAM_SECONDS} s`, '5 s after the end'],
    held,
  )}\n`,
);

await Promise.all(targets.map(({ pool }) => pool.destroy()));
for (const child of [portkey, api, upstream]) child.kill('SIGKILL');
for (const { pid } of [ours, limited]) process.kill(pid, 'SIGTERM');
await sql.close();
await postgres.stop();
process.exit(0);
