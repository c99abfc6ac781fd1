// `npm run bench overruns`: how code that V8 cannot interrupt ends, each as one request to a platform of its own: when
// it ends, the CPU that it uses and is charged, whether its thread continues, and the effect on another site.
// OVERRUNS="wasm;sort" selects code by words. Takes ten minutes. Linux only.
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Probed } from '../test/setup/hostile-prober.ts';
import { startPlatform } from '../test/setup/platform.ts';
import { cpuMs } from './load.ts';
import { codes } from './overrunning-codes.ts';
import { formatTable } from './statistics.ts';

const LIMIT_MS = 300;
/** How long after the answer a thread is looked at, and the share of a core from which on it burns. */
const LOOK_MS = 1000;
const BURNS_SHARE = 0.5;
const victim = `export default { fetch: () => new Response('unhurt') };`;
const words = process.env['OVERRUNS']?.split(';') ?? [''];

/** One request with this code. */
async function run(code: string): Promise<(string | number)[]> {
  const attacker = `export default { async fetch(request) { if (new URL(request.url).pathname === '/') return new Response('alive'); try { ${code} } catch (error) { return new Response(error.name + ': ' + error.message); } return new Response('done'); } };`;
  const platform = await startPlatform(
    { attacker, victim },
    { WORKER_CPU_LIMIT_MS_FREE: String(LIMIT_MS), WORKER_WALL_LIMIT_MS: '300000', HANDLER_SPARES: '0' },
  );
  try {
    await platform.answers('victim', 'unhurt');
    await platform.answers('attacker', 'alive');
    const prober = new Worker(join(import.meta.dirname, '../test/setup/hostile-prober.ts'), {
      workerData: { port: platform.port, host: 'victim.localhost' },
    });
    await once(prober, 'message');
    const { enginePid } = platform;
    const before = cpuMs(enginePid);
    const began = performance.now();
    const logged = platform.logged(({ project, path }) => project === 'attacker' && path === '/attack');
    const answer = await platform.fetch('attacker', '/attack').catch((error: unknown) => String(error));
    const wallMs = performance.now() - began;
    const used = cpuMs(enginePid) - before;
    const { cpuMs: charged } = await Promise.race([logged, delay(1000).then(() => ({ cpuMs: Number.NaN }))]);
    await delay(LOOK_MS / 2);
    const from = cpuMs(enginePid);
    await delay(LOOK_MS);
    const burns = (cpuMs(enginePid) - from) / LOOK_MS > BURNS_SHARE;
    prober.postMessage('stop');
    const [{ longestMs, failures }] = (await once(prober, 'message')) as [Probed];
    const ended =
      typeof answer === 'string' ? answer : `${answer.status} ${answer.headers['x-platform-error'] ?? answer.text}`;
    return [
      ended.slice(0, 48),
      wallMs,
      used,
      Number(charged),
      burns ? 'burns on' : '',
      `${Math.round(longestMs)} ms${failures === 0 ? '' : `, ${failures} failed`}`,
    ];
  } finally {
    await platform.close();
  }
}

const rows: (string | number)[][] = [];
for (const [name, code] of Object.entries(codes)) {
  if (!words.some((word) => name.includes(word))) continue;
  const row = [name, ...(await run(code))];
  rows.push(row);
  process.stderr.write(`${row.join('  ')}\n`);
}
process.stdout.write(
  `${formatTable(
    [`code, limit ${LIMIT_MS} ms`, 'ended as', 'after ms', 'used ms', 'charged ms', 'then', 'the victim waited'],
    rows,
  )}\n`,
);
process.exit();
