// Machines of one installation for tests: each a `platform start` of a program over a folder of its own, one Postgres,
// a server that speaks S3, and an edge on a machine of its own in front of them.
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { root as checkout } from '#cli/tasks/tools/processes.ts';
import { treeOf } from './child-process.ts';
import { copyProgram } from './fleet-programs.ts';
import { freePort } from './free-port.ts';
import { createTestDatabase } from './postgres.ts';
import { startS3Server, variablesOf } from './s3-server.ts';
import { until } from './until.ts';
import { platformAt, type Json, type WholePlatform } from './whole-platform.ts';

/** A machine. */
export interface FleetMachine {
  readonly name: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly port: number;
  /** Folder whose releases/ and `current` it has (`PLATFORM_HOME`). */
  readonly home: string;
  /** Folder of the program that its next start is of. */
  program: string;
  /** Its processes. */
  pids(): readonly number[];
  /** Starts it; resolves when it is up for the others, or its process has ended. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** kill -9 of everything that runs there. */
  kill(): Promise<void>;
}

/** The installation. */
export interface Fleet {
  readonly folder: string;
  readonly machines: readonly FleetMachine[];
  /** The one with the edge. */
  readonly edge: FleetMachine;
  /** Port of the edge: HTTPS. */
  readonly edgePort: number;
  /** Each host is one machine's: with so many, each machine has some. */
  readonly domains: readonly string[];
  readonly sql: Postgres;
  /** As an operator works with it: on the first machine, over the API. */
  readonly api: Pick<WholePlatform, 'call' | 'cli' | 'git' | 'ended' | 'token'>;
  /** Machines by name, as `platform machines` shows them. */
  statuses(): Promise<Readonly<Record<string, string>>>;
  /** Deploys a project to production; its files by path. */
  deploy(project: string, files: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}

const DOMAINS = Array.from({ length: 24 }, (_, index) => `d${index}.test`);
const SECRETS = [
  'AUTH_SECRET',
  'ENCRYPTION_KEY',
  'ENGINE_SECRET',
  'PRIVATE_PORT_TOKEN',
  'DB_SERVICE_TOKEN',
  'EDGE_TOKEN',
  'WEB_TOKEN',
];

/** Starts them: the first one with the API, the builder and the project databases. */
export async function startFleet(options: {
  readonly names?: readonly string[];
  /** Of all of them. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Program of all machines at first; default: this checkout. */
  readonly program?: (home: string) => string;
}): Promise<Fleet> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-fleet-'));
  const [database, s3] = await Promise.all([createTestDatabase(), startS3Server()]);
  const sql = openPostgres({ url: database.url, name: 'test fleet', connectionsMax: 2 });
  // A copy publishes no examples, as the checkout does at each start.
  const copied = options.program === undefined ? copyProgram(path.join(folder, 'program'), {}) : '';
  const program = options.program ?? ((): string => copied);
  const [databasePort, edgePort, httpPort] = [await freePort(), await freePort(), await freePort()];
  const apiPort = await freePort();
  const { certificate, key } = makeCertificate(folder);
  const shared: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    PLATFORM_CACHE_DIR: process.env['PLATFORM_CACHE_DIR'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    PLATFORM_FENCE: process.env['PLATFORM_FENCE'],
    CADDY_BIN: process.env['CADDY_BIN'],
    ...Object.fromEntries(SECRETS.map((name) => [name, randomBytes(32).toString('hex')])),
    ...variablesOf(s3, 'FILES_S3'),
    FILES_S3_BUCKET: s3.bucket,
    ARTIFACTS_S3_PREFIX: '_artifacts',
    DATABASE_URL: database.url,
    HANDLER_DOMAIN: DOMAINS.join(','),
    HANDLER_PROCESSES: '1',
    HANDLER_SPARES: '0',
    HANDLER_LISTENER: 'node',
    MACHINE_ADDRESS: '127.0.0.1',
    PUBLIC_HTTPS: 'on',
    PUBLIC_PROTOCOL: 'https',
    PUBLIC_API_URL: `http://localhost:${apiPort}`,
    UI_PORT: 'off',
    DOCS_PORT: 'off',
    API_PORT: 'off',
    NO_COLOR: '1',
    ...options.variables,
  };
  const ofFirst = {
    PLATFORM_PARTS: 'handler,databases,broker,api,builder,mirror',
    API_PORT: String(apiPort),
    DB_SERVICE_PORT: String(databasePort),
  };
  const ofOthers = { PLATFORM_PARTS: 'handler,broker,mirror', DB_URL: `tcp://127.0.0.1:${databasePort}` };
  const machines: FleetMachine[] = [];
  for (const [index, name] of (options.names ?? ['m1', 'm2', 'm3']).entries())
    machines.push(
      await createMachine(name, path.join(folder, name), sql, program, {
        ...shared,
        ...(index === 0 ? ofFirst : ofOthers),
      }),
    );
  const edge = await createMachine('e1', path.join(folder, 'e1'), sql, (): string => copied || checkout, {
    ...shared,
    PLATFORM_PARTS: 'edge',
    EDGE_HOST: '127.0.0.1',
    EDGE_HTTP_PORT: String(httpPort),
    EDGE_HTTPS_PORT: String(edgePort),
    EDGE_CERTIFICATE_FILE: certificate,
    EDGE_KEY_FILE: key,
    EDGE_CERTIFICATES_PER_WEEK: '0',
  });
  const all = [...machines, edge];
  const close = async (): Promise<void> => {
    for (const machine of all) await machine.stop();
    await sql.close();
    await Promise.all([database.close(), s3.close()]);
    rmSync(folder, { recursive: true, force: true });
  };
  const [first] = machines as [FleetMachine];
  try {
    await first.start();
    await Promise.all(all.slice(1).map((machine) => machine.start()));
  } catch (error) {
    await close();
    throw error;
  }
  const api = platformAt({
    folder,
    ports: { handler: first.port, api: apiPort, ui: 0 },
    token: tokens.get(first)!,
    environment: {
      ...first.environment,
      PLATFORM_API_URL: `http://127.0.0.1:${apiPort}`,
      PLATFORM_API_TOKEN: tokens.get(first)!,
    },
  });
  return {
    folder,
    machines,
    edge,
    edgePort,
    domains: DOMAINS,
    sql,
    api: { ...api, token: tokens.get(first)! },
    close,
    async statuses() {
      const { items } = await api.call('GET', '/operator/machines');
      return Object.fromEntries(items.map(({ name, status }: Json) => [name, status]));
    },
    async deploy(project, files) {
      const source = mkdtempSync(path.join(folder, 'source-'));
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(path.dirname(path.join(source, file)), { recursive: true });
        writeFileSync(path.join(source, file), text);
      }
      await api.cli(source, 'deploy', '--name', project, '--prod', '--json');
    },
  };
}

/** Tokens of first runs. */
const tokens = new WeakMap<FleetMachine, string>();

async function createMachine(
  name: string,
  folder: string,
  sql: Postgres,
  program: (home: string) => string,
  variables: NodeJS.ProcessEnv,
): Promise<FleetMachine> {
  const home = path.join(folder, 'home');
  mkdirSync(home, { recursive: true });
  const port = await freePort();
  const environment: NodeJS.ProcessEnv = {
    ...variables,
    FS_PATH: path.join(folder, 'data'),
    PLATFORM_HOME: home,
    MACHINE_NAME: name,
    HANDLER_PORT: String(port),
    HANDLER_PRIVATE_PORT: '0',
  };
  let child: ChildProcess | null = null;
  const isOver = (): boolean => child === null || child.exitCode !== null || child.signalCode !== null;
  const machine: FleetMachine = {
    name,
    environment,
    port,
    home,
    program: program(home),
    pids: () => (isOver() ? [] : treeOf(child!.pid!)),
    async start() {
      const before = await memberOf(sql, name);
      child = spawn(process.execPath, [path.join(machine.program, 'cli/run.mjs'), 'start', '--verbose'], {
        env: environment,
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const lines: string[] = [];
      for (const stream of [child.stdout!, child.stderr!])
        createInterface({ input: stream }).on('line', (line) => {
          if (process.env['TEST_SHOW_LOG'] !== undefined) console.log(`${name} ${line}`);
          const token = /shown once: (\S+)/.exec(line)?.[1];
          if (token !== undefined) tokens.set(machine, token);
          lines.push(line);
          if (lines.length > 200) lines.shift();
        });
      await until(async () => {
        if (isOver()) return true;
        const member = await memberOf(sql, name);
        return member !== null && member !== before && (!hasApi(environment) || tokens.has(machine));
      });
      if (isOver()) throw new Error(`${name} ended:\n${lines.join('\n')}`);
    },
    async stop() {
      if (isOver()) return;
      child!.kill('SIGTERM');
      await once(child!, 'exit');
    },
    async kill() {
      assert.ok(!isOver());
      const exited = once(child!, 'exit');
      for (const pid of treeOf(child!.pid!))
        try {
          process.kill(pid, 'SIGKILL');
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
        }
      await exited;
    },
  };
  return machine;
}

function hasApi({ PLATFORM_PARTS }: NodeJS.ProcessEnv): boolean {
  return PLATFORM_PARTS!.split(',').includes('api');
}

async function memberOf(sql: Postgres, name: string): Promise<string | null> {
  const [row] = await sql.all<{ member: string }>('SELECT member FROM control.machine WHERE name = $1', name);
  return row?.member ?? null;
}

function makeCertificate(folder: string): { certificate: string; key: string } {
  const [certificate, key] = [path.join(folder, 'certificate.pem'), path.join(folder, 'key.pem')];
  const names = DOMAINS.map((domain) => `DNS:*.${domain}`).join(',');
  execFileSync(
    'openssl',
    [
      ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test'.split(' '),
      '-addext',
      `subjectAltName=${names}`,
      '-keyout',
      key,
      '-out',
      certificate,
    ],
    { stdio: 'ignore' },
  );
  return { certificate, key };
}
