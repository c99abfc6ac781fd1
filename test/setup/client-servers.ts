// Real servers for clients in workers, on TCP ports of this machine: the embedded Postgres behind a proxy that adds
// TLS as Postgres does, MariaDB, Redis; and whether this machine has them. Used by test/clients/.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { startEmbeddedPostgres } from '#postgres/embedded.ts';
import { freePort } from './free-port.ts';
import type { makeCertificate } from './smtp-server.ts';

/** False, or why a test that needs MariaDB cannot run. */
export const noMariaDb =
  spawnSync('mariadbd', ['--version']).status === 0 ? false : 'there is no mariadbd on this machine; CI installs it';

/** False, or why a test of clients from test/clients/packages cannot run. */
export const noClients: string | false = existsSync(join(import.meta.dirname, '../clients/packages/node_modules'))
  ? false
  : 'run: npm ci --prefix test/clients/packages';

/** A server on a port. */
export interface TestServer {
  readonly port: number;
  close(): Promise<void>;
}

/** A Postgres on TCP. */
export interface TestPostgres extends TestServer {
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Cuts all connections, as a server does that restarts. */
  cut(): void;
  /** Connections that are open. */
  readonly connections: number;
}

const SSL_REQUEST = 80_877_103;

/** Starts the embedded Postgres behind a TCP port. @param certificate with one, clients may ask for TLS. */
export async function startPostgresOnTcp(certificate?: ReturnType<typeof makeCertificate>): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-pg-tcp-'));
  const postgres = await startEmbeddedPostgres({ folder, durable: false });
  const url = new URL(postgres.url);
  const socketFolder = url.searchParams.get('host') ?? decodeURIComponent(url.hostname);
  const path = join(socketFolder, `.s.PGSQL.${url.port || '5432'}`);
  const open = new Set<Socket>();
  const server = createServer((client) => {
    open.add(client);
    client.on('close', () => open.delete(client)).on('error', () => {});
    client.once('data', (first) => {
      const asksForTls = first.length === 8 && first.readInt32BE(4) === SSL_REQUEST;
      if (!asksForTls) return passOn(client, first);
      client.write(certificate === undefined ? 'N' : 'S');
      if (certificate === undefined) return void client.once('data', (begin) => passOn(client, begin));
      const secure = new TLSSocket(client, { isServer: true, ...certificate }).on('error', () => {});
      secure.once('data', (begin) => passOn(secure, begin));
    });
  });
  function passOn(client: Socket, begin: Buffer): void {
    client.pause();
    const inside = connect(path, () => {
      inside.write(begin);
      client.pipe(inside).pipe(client);
    });
    inside.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('close', () => inside.destroy());
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: url.pathname.slice(1),
    cut: () => open.forEach((client) => client.destroy()),
    get connections() {
      return open.size;
    },
    async close() {
      for (const client of open) client.destroy();
      server.close();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts MariaDB with the user `worker`, the password `secret word` and the database `shop`. */
export async function startMariaDb(certificate: ReturnType<typeof makeCertificate>): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-mariadb-'));
  chmodSync(folder, 0o700);
  for (const name of ['cert', 'key'] as const) writeFileSync(join(folder, `${name}.pem`), certificate[name]);
  writeFileSync(
    join(folder, 'init.sql'),
    `CREATE DATABASE shop;\nCREATE USER 'worker'@'localhost' IDENTIFIED BY 'secret word';\nGRANT ALL ON shop.* TO 'worker'@'localhost';\n`,
  );
  const data = join(folder, 'data');
  const port = await freePort();
  const common = ['--no-defaults', '--user=root', `--datadir=${data}`];
  const installed = spawnSync(
    'mariadb-install-db',
    [...common, '--skip-test-db', '--auth-root-authentication-method=normal'],
    {
      encoding: 'utf8',
    },
  );
  if (installed.status !== 0) throw new Error(installed.stderr);
  const server = spawn(
    'mariadbd',
    [
      ...common,
      `--socket=${join(folder, 'socket')}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--init-file=${join(folder, 'init.sql')}`,
      `--ssl-cert=${join(folder, 'cert.pem')}`,
      `--ssl-key=${join(folder, 'key.pem')}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  await new Promise<void>((resolve, reject) => {
    server.stderr.on('data', (text: Buffer) => {
      said += String(text);
      if (/ready for connections/.test(said)) resolve();
    });
    server.once('exit', () => reject(new Error(said)));
  });
  // It is ready for connections a moment before its port is.
  for (let left = 100; left > 0; left--) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const probe = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      probe.once('connect', () => probe.destroy());
    });
    if (isOpen) break;
    await wait(100);
  }
  return {
    port,
    async close() {
      const exited = once(server, 'exit');
      server.kill();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
