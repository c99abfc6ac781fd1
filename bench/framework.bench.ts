// A validated request through packages/worker beside bare `fetch` and Hono with zod, inside an isolate of the real
// engine; and how long a chain of 500 routes takes the type checker. `npm run bench framework`
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { manyRoutes } from '../test/unit/packages/worker/many-routes.ts';
import { temporaryFolder } from './endings.ts';
import { loadInTurn, missingWrk, seconds } from './load.ts';
import { ask, cpuLimitOff, publishFolder, startEngine, type Server } from './servers.ts';
import { formatTable } from './statistics.ts';

const root = path.join(import.meta.dirname, '..');
const LOOP_MS = 20;
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 15);
/** Microseconds that checking may add to a request, and times of the bare handler where nothing is checked. */
const aims = { addedUsMax: 30, plainTimesMax: 1.15 };

const apps: readonly (readonly [key: string, name: string])[] = [
  ['bare', 'bare fetch'],
  ['bare-zod', 'bare fetch, zod by hand'],
  ['ours-plain', 'ours, no schemas'],
  ['ours-zod', 'ours + zod, request and answer'],
  ['ours-typebox', 'ours + TypeBox, request and answer'],
  ['hono-plain', 'Hono, no schemas'],
  ['hono-zod', 'Hono + zod, request alone'],
  ['hono-zod-both', 'Hono + zod, request and answer'],
];

const folder = await publishFolder(path.join(root, 'bench/workers'), 'main: framework.ts\n', ['framework']);
let server: Server | null = null;
try {
  server = await startEngine('ours', folder, 'node', 'framework', '/users/7', cpuLimitOff);
  process.stdout.write(
    `microseconds of a request inside the isolate; the best of ${rounds} rounds of ${LOOP_MS} ms, in turn\n\n`,
  );
  const readings = new Map<string, number[]>();
  for (let round = -3; round < rounds; round++) {
    for (const route of ['get', 'post'])
      for (const [key] of apps) {
        const { ns } = await loop(server, key, route);
        if (round >= 0) readings.set(`${key} ${route}`, [...(readings.get(`${key} ${route}`) ?? []), ns / 1000]);
      }
  }
  const us = (key: string, route: string): number => Math.min(...readings.get(`${key} ${route}`)!);
  const rows = apps.map(([key, name]) => [
    name,
    us(key, 'get'),
    us(key, 'get') / us('bare', 'get'),
    us(key, 'post'),
    us(key, 'post') / us('bare', 'post'),
  ]);
  process.stdout.write(`${formatTable(['', 'GET us', '/ bare', 'POST us', '/ bare'], rows)}\n\n`);
  for (const route of ['get', 'post']) {
    const added = us('ours-zod', route) - us('bare', route);
    process.stdout.write(
      `${route}: ours + zod adds ${added.toFixed(1)} us to bare fetch (aim: at most ${aims.addedUsMax})`,
    );
    process.stdout.write(
      `; ours + zod / Hono + zod = ${(us('ours-zod', route) / us('hono-zod-both', route)).toFixed(2)}\n`,
    );
  }
  await measureWhole(server);
} finally {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
}
const { cpu, wall } = typeCheckSeconds();
process.stdout.write(
  `\n500 chained routes with zod schemas, and a client: the type checker takes ${cpu.toFixed(1)} s of CPU, ${wall.toFixed(1)} s on the clock (aim: below 10)\n`,
);

/** The same requests through the socket: what the engine spends on one, all of it. */
async function measureWhole(target: Server): Promise<void> {
  const missing = missingWrk();
  if (missing !== null) return void process.stdout.write(`\n${missing}\n`);
  const targets = apps.map(([key, name]) => ({
    ...target,
    name,
    url: new URL(`/users/7?q=x&app=${key}`, target.url).href,
  }));
  const readings = await loadInTurn(targets, 64);
  const us = (name: string): number => readings.get(name)!.cpuUs;
  const rows = [...readings].map(([name, { cpuUs, perSecond, bad }]) => [
    name,
    cpuUs,
    cpuUs / us('bare fetch'),
    perSecond,
    bad,
  ]);
  process.stdout.write(
    `\n${formatTable([`GET through the engine, 64 connections, ${seconds} s`, 'CPU us', '/ bare', 'requests/s', 'failed'], rows)}\n`,
  );
  const plain = us('ours, no schemas') / us('bare fetch');
  process.stdout.write(
    `whole request: ours without schemas / bare = ${plain.toFixed(2)} (aim: at most ${aims.plainTimesMax})\n`,
  );
}

/** One round of an app's loop. @throws {Error} when it answers something else. */
async function loop(target: Server, app: string, route: string): Promise<{ readonly ns: number }> {
  const text = await ask(target, `/?app=${app}&route=${route}&ms=${LOOP_MS}`);
  const answer = JSON.parse(text) as { ns: number; sample: string };
  if (!answer.sample.includes('"name":"Ada"')) throw new Error(`${app} answers ${answer.sample}`);
  return answer;
}

function typeCheckSeconds(): { readonly cpu: number; readonly wall: number } {
  const project = temporaryFolder('platform-bench-types-');
  try {
    mkdirSync(path.join(project, 'node_modules/@platform-run'), { recursive: true });
    symlinkSync(path.join(root, 'packages/worker'), path.join(project, 'node_modules/@platform-run/worker'));
    symlinkSync(path.join(root, 'packages/types'), path.join(project, 'node_modules/@platform-run/types'));
    symlinkSync(path.join(root, 'node_modules/zod'), path.join(project, 'node_modules/zod'));
    const compilerOptions = {
      target: 'es2024',
      lib: ['es2024'],
      module: 'esnext',
      moduleResolution: 'bundler',
      types: ['@platform-run/types'],
      noEmit: true,
      strict: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
    };
    writeFileSync(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }));
    writeFileSync(path.join(project, 'app.ts'), manyRoutes(500));
    const started = performance.now();
    const script = '"$0" "$1" -p "$2" >&2; times';
    const words = ['-c', script, process.execPath, path.join(root, 'node_modules/typescript/bin/tsc'), project];
    const printed = execFileSync('sh', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    // `times` says what the shell used, then what its children did: user and system, such as `0m3.177s 0m0.136s`.
    const used = [...(printed.trim().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g)].map(
      ([, m, s]) => Number(m) * 60 + Number(s),
    );
    return { cpu: used.reduce((sum, each) => sum + each, 0), wall: (performance.now() - started) / 1000 };
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}
