// What skew protection costs a request: CPU time of the engine for a page, for data and for a file of a project that
// has had twenty deployments, with it and without (`skew_protection: false`), in turn on one engine. `npm run bench
// skew`
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { build } from '../builder/build/build.ts';
import { parseProjectConfig } from '../core/config/project-config.ts';
import { publish } from '../artifacts/publish.ts';
import { changeRoute } from '../artifacts/route-records.ts';
import { temporaryFolder } from './endings.ts';
import { loadInTurn, missingWrk, plannedSeconds, rounds, seconds, type Target } from './load.ts';
import { startEngine, type Server } from './servers.ts';
import { formatTable, ratio } from './statistics.ts';

const DEPLOYMENTS = 20;
const CONNECTIONS = 64;
const PROJECTS = { with: 'protected', without: 'bare' } as const;
const DATA = { 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' };
const SCRIPT = { 'sec-fetch-dest': 'script', 'sec-fetch-site': 'same-origin' };
const PAGE = { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate', accept: 'text/html' };

/** A kind of request: what is sent, and whose answer it has to be. */
interface Visit {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly answer: string;
}

const missing = missingWrk();
if (missing === null) await measure();
else {
  process.stderr.write(`${missing}\n`);
  process.exitCode = 1;
}

async function measure(): Promise<void> {
  const sources = temporaryFolder('platform-bench-skew-');
  const folder = temporaryFolder();
  let server: Server | null = null;
  try {
    const [first, live] = await publishAll(sources, folder);
    server = await startEngine('ours', folder, 'node', PROJECTS.with, '/');
    const last = DEPLOYMENTS - 1;
    const visits: Visit[] = [
      { name: 'a program, no cookie', path: '/', headers: {}, answer: `v${last}` },
      { name: 'a page', path: '/', headers: PAGE, answer: `v${last}` },
      { name: 'data of the live page', path: '/', headers: of(live, DATA), answer: `v${last}` },
      { name: 'a file of the live page', path: fileOf(last), headers: of(live, SCRIPT), answer: `// ${last}` },
      { name: 'data of the oldest page', path: '/', headers: of(first, DATA), answer: 'v0' },
      { name: 'a file of the oldest page', path: fileOf(0), headers: of(first, SCRIPT), answer: '// 0' },
    ];
    // What an older page asks for is there with protection alone: the same of the live page is what it is compared to.
    const bare = visits.slice(0, 4);
    const targets = [
      ...visits.map((visit) => targetOf(server!, visit, 'with')),
      ...bare.map((visit) => targetOf(server!, visit, 'without')),
    ];
    for (const target of targets) await check(target);
    process.stdout.write(
      `CPU time of the engine per request, ${CONNECTIONS} connections; medians of ${rounds} rounds of ${seconds} s, in turn; about ${plannedSeconds(targets.length, 1)} s\n`,
    );
    const readings = await loadInTurn(targets, CONNECTIONS);
    const rows = [...readings].map(([name, { cpuUs, perSecond, bad }]) => [name, cpuUs, perSecond, bad]);
    const cpu = new Map([...readings].map(([name, { cpuUs }]) => [name, cpuUs]));
    const compared = visits.map(({ name }) => [`${name}, with`, `${name.replace('oldest', 'live')}, without`]) as [
      string,
      string,
    ][];
    const ratios = compared.map(([ours, than]) => `  ${ratio(cpu, ours, than)}\n`).join('');
    process.stdout.write(`\n${formatTable(['', 'CPU us', 'requests/s', 'failed'], rows)}\n${ratios}`);
  } finally {
    await server?.stop();
    for (const made of [sources, folder]) rmSync(made, { recursive: true, force: true });
  }
}

/** Both projects have the same deployments. @returns ids of the first and the last, with protection. */
async function publishAll(sources: string, folder: string): Promise<readonly [string, string]> {
  const ids: string[] = [];
  for (let version = 0; version < DEPLOYMENTS; version++)
    for (const [how, project] of Object.entries(PROJECTS)) {
      const root = path.join(sources, project, String(version));
      const file = path.join(root, 'public', fileOf(version));
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, `// ${version}`);
      const worker = `export default { fetch: () => new Response('v${version}', { headers: { 'content-type': 'text/html' } }) };`;
      writeFileSync(path.join(root, 'worker.js'), worker);
      const yaml = `main: worker.js\nassets: {}\nskew_protection: ${how === 'with'}\n`;
      const { config } = parseProjectConfig(yaml, { file: 'platform.yaml' });
      const artifacts = path.join(folder, 'artifacts');
      const artifact = await build({ root, config: config!, artifacts, durable: false });
      const where = { dataFolder: folder, project, branch: 'main', production: true };
      publish({ ...where, artifactFolder: artifact.folder, artifactId: artifact.id });
      if (how === 'with') ids.push(changeRoute(folder, project, (record) => record).production!);
    }
  return [ids[0]!, ids.at(-1)!];
}

function fileOf(version: number): string {
  return `/assets/app-AbCdE${String(version).padStart(3, '0')}.js`;
}

function of(deployment: string, headers: Readonly<Record<string, string>>): Record<string, string> {
  return { ...headers, cookie: `__dpl=${deployment}` };
}

interface SkewTarget extends Target {
  readonly answer: string;
}

function targetOf(server: Server, visit: Visit, how: keyof typeof PROJECTS): SkewTarget {
  return {
    name: `${visit.name}, ${how}`,
    pid: server.pid,
    url: new URL(visit.path, server.url).href,
    host: `${PROJECTS[how]}.localhost`,
    headers: visit.headers,
    answer: visit.answer,
  };
}

/** @throws {Error} when another deployment answers. */
async function check({ name, url, host, headers, answer }: SkewTarget): Promise<void> {
  const text = await new Promise<string>((resolve, reject) => {
    const sent = request(url, { headers: { ...headers, host } }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve(body)).on('error', reject);
    });
    sent.on('error', reject).end();
  });
  if (text !== answer) throw new Error(`${name}: answered "${text.slice(0, 200)}", not "${answer}"`);
}
