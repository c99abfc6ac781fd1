// `npm run bench soak`: a million requests to four projects, one of which is redeployed every second, and ten thousand
// isolates that replace each other. Counts errors, and the growth of memory by its owner. BENCH_REQUESTS and
// BENCH_REPLACEMENTS set the numbers.
import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { missingWrk, parseWrk, residentBytes } from './load.ts';
import { bundleWorker, names, publishCopies, publishCopy } from './deployments.ts';
import { get, startEngine, type Server } from './servers.ts';
import { digits, formatTable, median, slope } from './statistics.ts';
import { tally, visit } from './visits.ts';

const requests = Number(process.env['BENCH_REQUESTS'] ?? 1e6);
const replacements = Number(process.env['BENCH_REPLACEMENTS'] ?? 1e4);
const LIVE = 32;
const projects = names('soak', 4);
const settings = { WORKER_ISOLATES_MAX: String(LIVE) };

const missing = missingWrk();
if (missing === null) {
  process.stdout.write(`at most ${LIVE} live isolates; about ${Math.round(requests / 3e4 + replacements / 60)} s\n\n`);
  await redeployments();
  await replaced();
} else {
  process.stderr.write(`${missing}\n`);
  process.exitCode = 1;
}

async function redeployments(): Promise<void> {
  const bundle = await bundleWorker('version');
  const folder = await publishCopies(bundle, projects);
  const engine = await startEngine('ours', folder, 'node', projects[0]!, '/', settings);
  const script = path.join(folder, 'projects.lua');
  writeFileSync(script, projectsScript());
  const samples: Sample[] = [];
  const seenMs: number[] = [];
  const errors: string[] = [];
  let [answered, bad, deploys, running] = [0, 0, 0, true];
  const deploying = (async () => {
    while (running) {
      const began = performance.now();
      const project = projects[deploys % projects.length]!;
      const version = `version ${++deploys}`;
      await publishCopy(folder, project, { ...bundle, code: bundle.code.replace(/version \d+/, version) }, version);
      for (let isNew = false; !isNew;) {
        const { status, body } = await get(engine.url, `${project}.localhost`);
        if (status !== 200) errors.push(`${status}`);
        isNew = body.toString() === version;
        if (!isNew && performance.now() - began > 5000) {
          errors.push('the new version is not served after 5 s');
          break;
        }
      }
      seenMs.push(performance.now() - began);
      samples.push(await look(engine, answered));
      await delay(Math.max(0, 1000 - (performance.now() - began)));
    }
  })();
  let third: number | null = null;
  while (answered < requests) {
    const printed = await wrk(['-t1', '-c32', '-d5s', '--latency', '-s', script, engine.url]);
    const reading = parseWrk(printed);
    answered += reading.requests;
    bad += reading.bad;
    if (answered >= requests / 3) third ??= await engine.reached!();
  }
  running = false;
  await deploying;
  process.stdout.write(
    `${answered} requests, ${deploys} redeployments: ${bad} failed, and of the deployer's own: ${tally(errors)}\n`,
  );
  process.stdout.write(
    `deploy to first answer of the new version: median ${digits(median(seenMs))}, worst ${digits(Math.max(...seenMs))} ms\n`,
  );
  writeGrowth(samples, 'requests', 1e6);
  await writeReached(engine, third!);
  await end(engine, folder);
}

async function replaced(): Promise<void> {
  const all = names('app', 2 * LIVE);
  const folder = await publishCopies(await bundleWorker('hello'), all);
  const engine = await startEngine('ours', folder, 'node', all[0]!, '/', settings);
  const samples: Sample[] = [];
  const failures: string[] = [];
  let visited = 0;
  let third: number | null = null;
  while (visited < replacements) {
    // Each is the one that was used longest ago, and so the one that has just gone.
    failures.push(...(await visit(engine.url, all, { atATime: 2 })).failures);
    visited += all.length;
    samples.push(await look(engine, visited));
    if (visited >= replacements / 3) third ??= await engine.reached!();
  }
  process.stdout.write(`\n${visited} isolates in place of others, failed: ${tally(failures)}\n`);
  writeGrowth(samples, 'replacements', 1e4);
  await writeReached(engine, third!);
  await end(engine, folder);
}

/** Bytes by what holds them, after so many requests or replacements. */
interface Sample {
  readonly after: number;
  readonly bytes: Readonly<Record<string, number>>;
}

async function look({ pid, held }: Server, after: number): Promise<Sample> {
  const { heap, buffers, isolates } = await held!();
  const files = fileBytes(pid);
  const all = residentBytes(pid);
  const rest = all - heap - buffers - isolates - files;
  return {
    after,
    bytes: {
      'heap of the engine': heap,
      'buffers of the engine, code of workers': buffers,
      'live isolates': isolates,
      'files: programs and libraries': files,
      'unexplained: malloc, stacks, spare isolates': rest,
      'resident in all': all,
    },
  };
}

/** Resident pages of files that are mapped. */
function fileBytes(pid: number): number {
  const line = /^RssFile:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(line?.[1] ?? 0) * 1024;
}

/** The first third only fills caches and heaps. */
function writeGrowth(samples: readonly Sample[], what: string, per: number): void {
  const settled = samples.slice(Math.floor(samples.length / 3));
  const [first, last] = [settled[0]!.bytes, settled.at(-1)!.bytes];
  const rows = Object.keys(first).map((name) => {
    const growth = slope(settled.map(({ after, bytes }) => [after, bytes[name]!] as const)) * per;
    return [name, first[name]! / 1e6, last[name]! / 1e6, growth / 1e6];
  });
  const head = ['memory', 'MB after a third', 'MB at the end', `slope, MB per ${per} ${what}`];
  process.stdout.write(`${formatTable(head, rows)}\n`);
}

/** What grows but goes when it is collected is no leak. */
async function writeReached(engine: Server, third: number): Promise<void> {
  const end = await engine.reached!();
  process.stdout.write(
    `of the heap of the engine a collection leaves ${digits(third / 1e6)} MB after a third, ${digits(end / 1e6)} MB at the end\n`,
  );
}

async function end(engine: Server, folder: string): Promise<void> {
  await engine.stop();
  rmSync(folder, { recursive: true });
}

function wrk(words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('wrk', words, { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    child.on('error', reject);
    child.on('close', () => resolve(printed));
  });
}

function projectsScript(): string {
  const list = projects.map((name) => `wrk.format("GET", "/", { Host = "${name}.localhost" })`).join(',\n    ');
  return `local requests\nlocal at = 0\ninit = function()\n  requests = {\n    ${list}\n  }\nend\nrequest = function()\n  at = at + 1\n  return requests[at % #requests + 1]\nend\n`;
}
