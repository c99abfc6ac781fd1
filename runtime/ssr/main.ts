// Main module of the process that runs servers of ssr projects next to the handler: confines the servers, starts them
// for engines, and stops them. Started by the supervisor on demand, without keys of the platform.
import { chmodSync, chownSync, rmSync } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { createOwnAddresses } from '#core/egress.ts';
import { PlatformError } from '#core/errors.ts';
import { limitsFrom } from '#core/limits.ts';
import { openLog } from '#core/log/log.ts';
import { confinementOf } from '#core/process/confinement/confinement.ts';
import { tellFigures } from '#core/process/figures.ts';
import { closeInherited } from '#core/process/inherited-descriptors.ts';
import { nodeFolders } from '#core/process/confinement/command-line.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import { CALLS_PREFIX, readLines, type FromEngine, type ToEngine } from '#core/ssr/protocol.ts';
import { guardedLookup } from '#core/outbound/host-names.ts';
import { runProcess } from '#core/process/run-process.ts';
import { openCalls } from './calls.ts';
import { openOwnGroups } from './own-groups.ts';
import { ServerProcess } from './server-process.ts';
import { isRefusal, Servers } from './servers.ts';
import { openUnpacked } from './unpacked.ts';

const CLEAN_MS = 3_600_000;
const KEEP_MS = 7 * 86_400_000;
const IDLE_LOOK_MS = 1000;
const RUNS_PREFIX = 'ssr-';
const IN_CONTAINERS = 'In a container, use cap_add and security_opt of containers/servers.yaml';

const log = openLog('ssr', process.env);

await runProcess(log, start);

async function start(): Promise<() => Promise<void>> {
  closeInherited();
  const environment = process.env;
  const data = path.resolve(environment['FS_PATH'] ?? '');
  const sockets = environment['SSR_SOCKETS'] ?? '';
  const limits = limitsFrom(environment);
  const own = path.join(data, 'ssr');
  await mkdir(own, { recursive: true, mode: 0o700 });
  const runs = await makeRuns(sockets);
  // Engines may run as another user in another container, so members of the folder's group can reach its sockets.
  const { gid } = await stat(sockets);
  await openOwnGroups();
  const confinement = await confinementOf({
    workFolders: runs,
    privateFolders: [data],
    readable: nodeFolders(),
    needs: process.execPath,
    isOffline: true,
  });
  log[confinement.kind === 'namespaces' ? 'info' : 'error'](describe(confinement));
  const unpacked = await openUnpacked({
    folder: own,
    archiveOf: (artifact) => path.join(data, 'artifacts', artifact, 'server.tar'),
    filesMax: limits.artifactFilesMax,
    keepMs: KEEP_MS,
  });
  const allowed = (environment['WORKER_EGRESS_ALLOW'] ?? '').split(',').map((word) => word.trim());
  const policy = {
    loopback: allowed.includes('loopback'),
    private: allowed.includes('private'),
    isOwn: createOwnAddresses(),
  };
  const nameServers = (environment['WORKER_DNS_SERVERS'] ?? '').split(',').filter((word) => word.trim() !== '');
  const lookup = guardedLookup(policy, { servers: nameServers.map((word) => word.trim()) });

  const engines = new Set<Engine>();
  /** Sends log lines of a server to one of the engines that use it. */
  const tell = (key: string, level: 'info' | 'error', text: string): void => {
    const [known] = [...engines].filter((engine) => engine.keys.has(key));
    known?.say({ type: 'line', key, level, text });
  };
  const used = new Map<string, string>();
  /** Each run has its own folder, so that socket names are never reused. */
  let lastRun = 0;
  const servers = new Servers({
    limits: limits.ssr,
    onLine: tell,
    onEnded(key, socket) {
      for (const engine of engines) if (engine.keys.has(key)) engine.say({ type: 'ended', key, socket });
    },
    async start(spec, slot) {
      if (confinement.kind !== 'namespaces')
        throw new PlatformError('server_unavailable', {
          reason: `servers cannot be isolated on this machine. ${confinement.reason ?? ''}. ${IN_CONTAINERS}`,
        });
      const code = await unpacked.folderOf(spec.artifact, spec.server);
      used.set(spec.key, code);
      const server = await ServerProcess.start({
        confinement,
        slot,
        limits: limits.ssr,
        code,
        folder: spec.server.folder,
        start: spec.server.start,
        vars: spec.vars,
        run: path.join(runs, String(++lastRun)),
        engineGid: gid,
        policy,
        lookup,
        openCalls: (folder) => openCalls(folder, spec, () => enginesOf(engines, spec.key)),
        onLine: (level, text) => tell(spec.key, level, text),
      });
      void server.ended.then(() => used.delete(spec.key));
      await server.listening();
      return server;
    },
  });

  const server = createServer((socket) => {
    const engine = new Engine(socket, servers);
    engines.add(engine);
    socket.once('close', () => {
      engines.delete(engine);
      // This socket file was left behind by a killed engine.
      if (isCallsOf(sockets, engine.calls)) rmSync(engine.calls, { force: true });
      servers.releaseAll(engine);
    });
  });
  const file = path.join(sockets, 'ssr.sock');
  await rm(file, { force: true });
  await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(file, resolve));
  chownSync(file, process.getuid!(), gid);
  chmodSync(file, 0o660);
  const timers = [
    setInterval(() => servers.stopIdle(), Math.min(IDLE_LOOK_MS, limits.ssr.idleMs)),
    setInterval(() => void unpacked.clean(new Set(used.values())), CLEAN_MS),
  ];

  process.send?.({ type: 'ready' });
  tellFigures(async () => {
    const running = [...servers.running()];
    const bytes = await Promise.all(running.map((each) => each.residentBytes()));
    return [
      ['platform_servers_running', {}, running.length],
      ['platform_servers_resident_bytes', {}, bytes.reduce((sum, each) => sum + each, 0)],
      ['platform_server_starts_total', { outcome: 'ok' }, servers.starts.ok],
      ['platform_server_starts_total', { outcome: 'failed' }, servers.starts.failed],
    ];
  });
  return async () => {
    for (const timer of timers) clearInterval(timer);
    server.close();
    await servers.close();
  };
}

/**
 * Parent folder of the servers' folders. Engines may write to the same folder, as another user. Therefore files of
 * other users are not changed, and existing names are not used.
 */
async function makeRuns(sockets: string): Promise<string> {
  for (const name of await readdir(sockets)) {
    const left = path.join(sockets, name);
    // An earlier process may have been killed, and left its folder behind.
    if (name.startsWith(RUNS_PREFIX) && (await lstat(left)).uid === process.getuid!())
      await rm(left, { recursive: true, force: true });
  }
  const runs = await mkdtemp(path.join(sockets, RUNS_PREFIX));
  await chmod(runs, 0o711);
  return runs;
}

/** Whether a path is an engine's socket in the shared folder. */
function isCallsOf(sockets: string, file: string): boolean {
  const name = path.basename(file);
  return name.startsWith(CALLS_PREFIX) && file === path.join(sockets, name);
}

/** The engines' sockets for a server's binding calls; first those of the engines that have requested the server. */
function enginesOf(engines: ReadonlySet<Engine>, key: string): string[] {
  const known = [...engines].filter(({ calls }) => calls !== '');
  return known.sort((a, b) => Number(b.keys.has(key)) - Number(a.keys.has(key))).map(({ calls }) => calls);
}

/** A connected engine. */
class Engine {
  /** Servers that the engine has requested. */
  readonly keys = new Set<string>();
  /** Socket on which the engine serves binding calls. */
  calls = '';
  #socket: Socket;

  constructor(socket: Socket, servers: Servers) {
    this.#socket = socket;
    const read = readLines<FromEngine>((message) => {
      if (message.type === 'hello') this.calls = message.calls;
      else if (message.type === 'release') servers.release(message.key, this);
      else if (message.type === 'lost') servers.lost(message.key, message.socket);
      else {
        this.keys.add(message.spec.key);
        servers.acquire(message.spec, this).then(
          (path) => this.say({ type: 'acquired', id: message.id, socket: path }),
          (error: unknown) => this.say({ type: 'refused', id: message.id, ...refusalOf(error) }),
        );
      }
    });
    socket
      .setEncoding('utf8')
      .on('data', read)
      .on('error', () => {});
  }

  say(message: ToEngine): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }
}

function refusalOf(error: unknown): Pick<ToEngine & { type: 'refused' }, 'code' | 'details'> {
  if (isRefusal(error)) return { code: error.code, details: error.details };
  log.error({ error: (error as Error).message }, 'Server not started');
  return { code: 'server_unavailable', details: { reason: 'the process of servers failed' } };
}

function describe({ kind, reason, firstUid }: Confinement): string {
  const how =
    kind === 'namespaces'
      ? `Servers of ssr projects run in namespaces${firstUid == null ? '' : `, under user ids of their own from ${firstUid}`}`
      : 'Node servers are refused: they cannot be isolated on this machine';
  const what = reason === null ? how : `${how}. ${reason}`;
  return kind === 'namespaces' ? what : `${what}. ${IN_CONTAINERS}`;
}
