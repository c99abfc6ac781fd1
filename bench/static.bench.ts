// A static file of 10 KB: CPU time per request of our engine over both listeners, nginx, Caddy and workerd with a disk
// service. `npm run bench static`; nginx and Caddy are Debian's packages, and left out where they are not installed.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from './endings.ts';
import { loadInTurn, missingWrk, rounds, seconds } from './load.ts';
import {
  get,
  notInstalled,
  publishFolder,
  startEngine,
  startServer,
  uwsMissing,
  workerdBinary,
  type Server,
} from './servers.ts';
import { formatTable, ratio } from './statistics.ts';

const FILE_BYTES = 10 * 1024;
const target = '/file.txt';
const host = 'static.localhost';
const CONNECTIONS = 64;

const missing = missingWrk();
if (missing === null) await measure();
else {
  process.stderr.write(`${missing}\n`);
  process.exitCode = 1;
}

async function measure(): Promise<void> {
  const folder = temporaryFolder('platform-bench-static-');
  const site = path.join(folder, 'site');
  mkdirSync(site);
  writeFileSync(
    path.join(site, 'file.txt'),
    'The quick brown fox, 0123456789. '.repeat(FILE_BYTES).slice(0, FILE_BYTES),
  );
  const data = await publishFolder(folder, "kind: static\nbuild: 'true'\nout: site\n", ['static']);
  const servers: Server[] = [];
  try {
    const starts: [name: string, start: (name: string) => Promise<Server> | string][] = [
      ['ours, node:http', (name) => startEngine(name, data, 'node', 'static', target)],
      ['ours, uWebSockets.js', (name) => uwsMissing() ?? startEngine(name, data, 'uws', 'static', target)],
      ['nginx', (name) => absent('nginx', '-v') ?? startNginx(name, folder, site)],
      ['Caddy', (name) => absent('caddy', 'version') ?? startCaddy(name, folder, site)],
      ['workerd', (name) => startWorkerd(name, folder, site)],
    ];
    process.stdout.write(`CPU time of the server per request; medians of ${rounds} rounds of ${seconds} s, in turn\n`);
    for (const [name, start] of starts) {
      const started = await Promise.resolve(start(name)).catch((error: Error) => error.message);
      if (typeof started === 'string') {
        process.stdout.write(`${name} is left out: ${started}\n`);
        continue;
      }
      servers.push(started);
      await checkFile(started);
    }
    const readings = await loadInTurn(servers, CONNECTIONS);
    const rows = [...readings].map(([name, { cpuUs, perSecond, p50Ms, p99Ms, bad }]) => [
      name,
      cpuUs,
      perSecond,
      p50Ms,
      p99Ms,
      bad,
    ]);
    const cpu = new Map([...readings].map(([name, { cpuUs }]) => [name, cpuUs]));
    const ratios = ['nginx', 'workerd', 'Caddy'].flatMap((other) =>
      ['ours, node:http', 'ours, uWebSockets.js'].flatMap((ours) => ratio(cpu, ours, other) ?? []),
    );
    const head = [`${CONNECTIONS} connections`, 'CPU us', 'requests/s', 'p50 ms', 'p99 ms', 'non-2xx'];
    process.stdout.write(`\n${formatTable(head, rows)}\n${ratios.map((line) => `  ${line}`).join('\n')}\n`);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    for (const made of [folder, data]) rmSync(made, { recursive: true, force: true });
  }
}

/** Why a system's program cannot take part; null when it can. */
function absent(program: string, versionWord: string): string | null {
  return spawnSync(program, [versionWord]).error === undefined
    ? null
    : `it is not installed: \`apt-get install ${program}\``;
}

/** One process without a master, as the CPU time of one process is read; no access log, like ours. */
function startNginx(name: string, folder: string, site: string): Promise<Server> {
  const file = path.join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return startServer(name, host, target, (port) => {
    const http = [
      'types { text/plain txt; }',
      'access_log off;',
      'sendfile on;',
      'tcp_nopush on;',
      'open_file_cache max=1000;',
      'keepalive_requests 100000000;',
      ...temporary,
      `server { listen 127.0.0.1:${port}; root ${site}; }`,
    ];
    const lines = ['daemon off;', 'master_process off;', `pid ${folder}/nginx.pid;`, 'error_log stderr;', 'events {}'];
    writeFileSync(file, `${lines.join('\n')}\nhttp {\n${http.join('\n')}\n}\n`);
    return { words: ['nginx', '-e', 'stderr', '-p', folder, '-c', file] };
  });
}

function startCaddy(name: string, folder: string, site: string): Promise<Server> {
  const file = path.join(folder, 'Caddyfile');
  return startServer(name, host, target, (port) => {
    const server = `http://:${port} {\n\tbind 127.0.0.1\n\troot * ${site}\n\tfile_server\n}`;
    writeFileSync(file, `{\n\tadmin off\n\tauto_https off\n}\n${server}\n`);
    const environment = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    return { words: ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'], environment };
  });
}

/** The disk service answers by itself: no worker, the least that a file can cost there. */
function startWorkerd(name: string, folder: string, site: string): Promise<Server> | string {
  const binary = workerdBinary();
  if (binary === null) return notInstalled;
  const file = path.join(folder, 'static.capnp');
  return startServer(name, host, target, (port) => {
    const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "files", disk = (path = "${site}"))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "files")],
);
`;
    writeFileSync(file, config);
    return { words: [binary, 'serve', file] };
  });
}

/** @throws {Error} when a server gives another body than the file: the rows would not compare. */
async function checkFile(server: Server): Promise<void> {
  const { byteLength } = (await get(server.url, server.host)).body;
  if (byteLength !== FILE_BYTES) throw new Error(`${server.name} answers ${byteLength} bytes instead of ${FILE_BYTES}`);
}
