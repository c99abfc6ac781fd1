// `npm run bench ssr-page`: a page that a framework renders for each request: CPU time of a request, and the first
// request to an unused deployment. Compares our build with the framework's own build for workerd and with its own Node
// server. The apps are first installed from the registry and built, about a minute each.
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { coldHead, coldStarts, settleMs } from './cold-starts.ts';
import { names, publishCopies, startWorkerLoader } from './deployments.ts';
import { loadInTurn, missingWrk, rounds, seconds } from './load.ts';
import { aimLine, perRequest, wantsConnections, type Aim } from './requests.ts';
import { ask, startEngine, startServer, startWorkerdModule, uwsMissing, type Server } from './servers.ts';
import { makeApp, recipes, WORKERD_FLAGS, type SsrApp } from './ssr-apps.ts';
import { digits, formatTable, median } from './statistics.ts';

const WARM_UPS = 10;
const FIRSTS = 60;
/** Longer than a start, so that none waits for another. */
const EVERY_MS = 100;
const NODE_STARTS = 5;
/** What ours is to be at most of workerd's. */
const [CPU_AIM, COLD_AIM] = [1, 0.5];

const missing = missingWrk();
if (missing === null) for (const recipe of recipes) await measure(await makeApp(recipe));
else {
  process.stderr.write(`${missing}\n`);
  process.exitCode = 1;
}

async function measure(app: SsrApp): Promise<void> {
  const ours = digits(app.bundle.code.length / 1000);
  const theirs = digits(app.workerd.code.length / 1000);
  process.stdout.write(`\n${app.name}, ${app.target}: ${ours} KB with us, ${theirs} KB for workerd\n`);
  await measureRequests(app);
  await measureColdStarts(app);
}

async function measureRequests(app: SsrApp): Promise<void> {
  const folder = await publishCopies(app.bundle, ['page']);
  const starts = {
    'ours, node:http': (name: string) => startEngine(name, folder, 'node', 'page', app.target),
    'ours, uWebSockets.js': (name: string) => uwsMissing() ?? startEngine(name, folder, 'uws', 'page', app.target),
    workerd: (name: string) => startWorkerdModule(name, 'page.localhost', app.workerd.code, app.target, WORKERD_FLAGS),
    'its Node server': (name: string) => startNode(name, app),
  };
  const servers = await startThose(starts);
  for (const server of servers) {
    const page = await ask(server, app.target);
    if (!page.includes('Ada')) throw new Error(`${server.name} renders no page: ${page.slice(0, 300)}`);
  }
  process.stdout.write(`medians of ${rounds} rounds of ${seconds} s, in turn\n`);
  for (const connections of [64, 8, 1].filter(wantsConnections)) {
    const readings = await loadInTurn(servers, connections);
    const rows = [...readings].map(([name, reading]) => [name, ...perRequest.map(([, figure]) => figure(reading))]);
    const title = `${connections} connection${connections === 1 ? '' : 's'}`;
    process.stdout.write(`\n${formatTable([title, ...perRequest.map(([name]) => name)], rows)}\n`);
    const aims = ['ours, node:http', 'ours, uWebSockets.js'].flatMap((name): Aim[] => [
      { figure: perRequest[0]!, ours: name, than: 'workerd', atMost: CPU_AIM },
      { figure: perRequest[0]!, ours: name, than: 'its Node server' },
    ]);
    for (const aim of aims) process.stdout.write(`  ${aimLine(readings, aim) ?? ''}\n`);
  }
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(folder, { recursive: true });
}

async function measureColdStarts(app: SsrApp): Promise<void> {
  const projects = { first: ['first'], warm: names('warm', WARM_UPS), fresh: names('fresh', FIRSTS) };
  const folder = await publishCopies(app.bundle, Object.values(projects).flat());
  const starts = {
    'ours, node:http': (name: string) => startEngine(name, folder, 'node', 'first', app.target),
    'ours, uWebSockets.js': (name: string) => uwsMissing() ?? startEngine(name, folder, 'uws', 'first', app.target),
    'workerd, Worker Loader': (name: string) => startWorkerLoader(name, app.workerd, app.target, WORKERD_FLAGS),
  };
  const readings = new Map<string, number[][]>();
  const processes: number[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const [name, start] of Object.entries(starts)) {
      const [server] = await startThose({ [name]: start }, round > 0);
      if (server === undefined) continue;
      if (name.startsWith('ours')) await delay(settleMs);
      readings.set(name, [...(readings.get(name) ?? []), await coldStarts(server, projects, EVERY_MS)]);
      await server.stop();
    }
    for (let start = 0; start < NODE_STARTS; start++) {
      const began = performance.now();
      const server = await startNode('its Node server', app);
      processes.push(performance.now() - began);
      await server.stop();
    }
  }
  rmSync(folder, { recursive: true });
  const rows = [...readings].map(([name, all]) => [
    name,
    ...coldHead.map((_, column) => median(all.map((reading) => reading[column]!))),
  ]) as [string, ...number[]][];
  const title = `first requests, ${FIRSTS} a round, one every ${EVERY_MS} ms`;
  process.stdout.write(`\n${formatTable([title, ...coldHead], rows)}\n`);
  const peer = rows.find(([name]) => name.startsWith('workerd'))?.[1];
  for (const [name, p50] of rows) {
    if (!name.startsWith('ours') || peer === undefined) continue;
    const share = p50! / peer;
    process.stdout.write(
      `  p50: ${name} / workerd = ${digits(share)} (aim: at most ${COLD_AIM}${share > COLD_AIM ? ', missed' : ''})\n`,
    );
  }
  process.stdout.write(`  its Node server, a process: ${digits(median(processes))} ms to the first answer\n`);
}

function startNode(name: string, { server, target }: SsrApp): Promise<Server> {
  return startServer(name, 'page.localhost', target, (port) => ({
    words: [process.execPath, ...server],
    environment: { PORT: String(port), HOST: '127.0.0.1', NODE_ENV: 'production' },
  }));
}

/** Those that this machine runs; of the others it says why not. */
async function startThose(
  starts: Readonly<Record<string, (name: string) => Promise<Server> | string>>,
  isQuiet = false,
): Promise<Server[]> {
  const servers: Server[] = [];
  for (const [name, start] of Object.entries(starts)) {
    const started = await start(name);
    if (typeof started !== 'string') servers.push(started);
    else if (!isQuiet) process.stdout.write(`${name} is left out: ${started}\n`);
  }
  return servers;
}
