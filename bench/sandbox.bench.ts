// `npm run bench sandbox`: creating, waking and calling a sandbox, and the memory of an idle sandbox, over a separate
// Docker engine, compared with `docker run` and `docker exec` on the same engine. Has the requirements of `npm run test
// -- sandbox`. BENCH_ROUNDS and BENCH_SANDBOXES (idle sandboxes) shorten it.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { limitsFrom } from '../core/limits.ts';
import { openSandboxClient, type SandboxServiceClient } from '../core/sandbox/service-client.ts';
import { openContainerBackend } from '../sandbox/backends/container/backend.ts';
import { openEngineApi } from '../sandbox/backends/container/engine-api.ts';
import { guardedLookup } from '../core/outbound/host-names.ts';
import { noSandboxEngineReason, SANDBOX_IMAGE, startSandboxEngine } from '../test/setup/sandbox-engine.ts';
import { startTestSandboxService } from '../test/setup/sandbox-service.ts';
import { temporaryFolder } from './cleanup.ts';
import { processTree } from './load.ts';
import { formatTable, percentile } from './statistics.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 20);
const IDLE = Number(process.env['BENCH_SANDBOXES'] ?? 50);
/** Of commands in a sandbox that runs, for each round. */
const COMMANDS = 5;
/** What was compiled for the first command is written, and what it took collected. */
const SETTLE_MS = 5000;
/** Of a project in the service of tests. */
const PROJECT_SANDBOXES = 10;
const aims: Readonly<Record<string, number>> = {
  'create and first exec': 700,
  'exec, suspended': 150,
  'exec of true': 40,
};

const reason = await noSandboxEngineReason('docker');
if (reason === null) await measure();
else process.stdout.write(`Sandboxes are not measured: ${reason}\n`);

async function measure(): Promise<void> {
  const engine = await startSandboxEngine('docker');
  try {
    const policy = { loopback: false, private: false };
    const backend = await openContainerBackend({
      ...limitsFrom({}).sandbox,
      installation: `b${process.pid}`,
      socketPath: engine.socketPath,
      image: SANDBOX_IMAGE,
      images: [],
      aiUrl: null,
      diskFolder: temporaryFolder(),
      egress: { policy, lookup: guardedLookup(policy), hosts: null },
      report: (message) => void process.stderr.write(`${message}\n`),
    });
    const service = await startTestSandboxService(backend);
    try {
      const client = openSandboxClient(service.address);
      process.stdout.write(`${await timesOf(client, engine.socketPath)}\n\n`);
      process.stdout.write(`${await memoryOf(client, engine.socketPath)}\n`);
    } finally {
      for (const key of await backend.keys()) await backend.destroy(key);
      await service.close();
    }
  } finally {
    await engine.close();
  }
}

/** In turn, so that what else the machine does falls on all alike. */
async function timesOf(client: SandboxServiceClient, socketPath: string): Promise<string> {
  const readings = new Map<string, number[]>();
  const time = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const began = performance.now();
    await work();
    const all = readings.get(what) ?? [];
    all.push(performance.now() - began);
    readings.set(what, all);
  };
  const docker = (...words: string[]): Promise<unknown> =>
    promisify(execFile)('docker', ['--host', `unix://${socketPath}`, ...words]);
  await docker('run', '--detach', '--init', '--network=none', '--name', 'beside', SANDBOX_IMAGE, 'sleep', 'infinity');
  // The first round warms up.
  for (let round = 0; round <= ROUNDS; round++) {
    if (round === 1) readings.clear();
    const place = { project: 'bench', resource: 'boxes', id: `r${round}` };
    const exec = (): Promise<unknown> => client.call(place, 'exec', { command: 'true' });
    await time('create and first exec', exec);
    await time('docker run', () => docker('run', '--rm', '--init', '--network=none', SANDBOX_IMAGE, 'true'));
    for (let i = 0; i < COMMANDS; i++) {
      await time('exec of true', exec);
      await time('docker exec', () => docker('exec', 'beside', 'true'));
    }
    await client.call(place, 'suspend');
    await time('exec, suspended', exec);
    await client.call(place, 'stop');
    await time('exec, stopped', exec);
    await client.call(place, 'destroy');
  }
  await docker('rm', '--force', 'beside');
  return formatTable(
    ['', 'p50 ms', 'p95 ms', 'aim p50'],
    [...readings].map(([what, all]) => [what, percentile(all, 0.5), percentile(all, 0.95), aims[what] ?? '']),
  );
}

/** Proportional set size: what processes share counts once over all of them. */
async function memoryOf(client: SandboxServiceClient, socketPath: string): Promise<string> {
  for (let i = 0; i < IDLE; i++) {
    const project = `idle${Math.floor(i / PROJECT_SANDBOXES)}`;
    await client.call({ project, resource: 'boxes', id: `i${i}` }, 'exec', { command: 'true' });
  }
  await delay(SETTLE_MS);
  const api = openEngineApi(socketPath);
  const sums = { inside: 0, engine: 0, count: 0 };
  for (const { Id } of await api.call<{ Id: string }[]>('GET', '/containers/json')) {
    const { State } = await api.call<{ State: { Pid: number } }>('GET', `/containers/${Id}/json`);
    const shim = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${State.Pid}/stat`, 'latin1'))![1]);
    for (const pid of processTree(State.Pid)) sums.inside += pssOf(pid);
    sums.engine += pssOf(shim);
    sums.count++;
  }
  api.close();
  return formatTable(
    ['', 'MB each', 'of'],
    [
      ['an idle sandbox: what runs in it', sums.inside / sums.count, sums.count],
      ["the engine's process of it", sums.engine / sums.count, sums.count],
    ],
  );
}

function pssOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024;
}
