// A primary and a standby by streaming replication, over the embedded binaries: each on a TCP port of this machine,
// with a commit that waits for the standby.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { startEmbeddedPostgres } from '#postgres/embedded.ts';
import { placeBinaries, sharedFolder, unprivileged } from '#postgres/embedded-binaries.ts';
import { ready } from '#postgres/embedded-processes.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const user = unprivileged();

/** Two servers with the same data. */
export interface ReplicatedPostgres {
  /** Both hosts, the primary first. */
  readonly url: string;
  /** The second one only. */
  readonly standbyUrl: string;
  /** SIGKILL to the primary and its processes. */
  killPrimary(): Promise<void>;
  /** Starts the killed one again, as the primary it was. */
  restartPrimary(): Promise<void>;
  killStandby(): Promise<void>;
  /** Makes the standby the primary. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts them, in a folder that the user of the servers can enter. */
export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-standby-'));
  chmodSync(folder, 0o711);
  const made = await startEmbeddedPostgres({ folder: path.join(folder, 'a') });
  const { password } = new URL(made.url);
  await made.stop();
  const name = readdirSync(path.join(folder, 'a')).find((one) => one.startsWith('data-'))!;
  const [dataA, dataB] = [path.join(folder, 'a', name), path.join(folder, 'b')];
  const [portA, portB] = [await freePort(), await freePort()];
  const urlOf = (hosts: string, more = ''): string => `postgres://platform:${password}@${hosts}/platform${more}`;
  const only = (port: number): Postgres => openPostgres({ url: urlOf(`127.0.0.1:${port}`), name: 'test standby' });

  let primary = await startServer(dataA, portA, {});
  const sql = only(portA);
  await copyData(sql, dataA, dataB);
  const from = `host=127.0.0.1 port=${portA} user=platform password=${password} application_name=b`;
  const standby = await startServer(dataB, portB, { primary_conninfo: from });
  await until(async () => (await sql.all(`SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'`)).length === 1);
  await sql.all(`ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (b)'`);
  await sql.all('SELECT pg_reload_conf()');
  await until(async () => (await sql.all(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).length === 1);
  await sql.close();

  return {
    url: urlOf(`127.0.0.1:${portA},127.0.0.1:${portB}`, '?target_session_attrs=read-write'),
    standbyUrl: urlOf(`127.0.0.1:${portB}`),
    killStandby: () => end(standby, 'SIGKILL'),
    killPrimary: () => end(primary, 'SIGKILL'),
    async restartPrimary() {
      rmSync(path.join(dataA, 'postmaster.pid'), { force: true });
      // It waits for no standby, as the worst one would not.
      primary = await startServer(dataA, portA, { synchronous_standby_names: '' });
    },
    async promote() {
      const on = only(portB);
      await on.all('SELECT pg_promote()');
      await on.close();
    },
    async stop() {
      await Promise.all([end(primary, 'SIGQUIT'), end(standby, 'SIGQUIT')]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill(signal);
  await ended;
}

async function startServer(data: string, port: number, more: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const { bin } = placeBinaries(sharedFolder, user);
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    wal_keep_size: '256MB',
    ...more,
  };
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(path.join(bin, 'postgres'), ['-D', data, ...words], {
    cwd: '/',
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'ignore', process.env['TEST_SHOW_LOG'] === undefined ? 'ignore' : 'inherit'],
    ...user,
  });
  await ready(child, data, path.join(data, 'no-log'));
  return child;
}

/** A base backup by hand: the embedded server comes without pg_basebackup. */
async function copyData(sql: Postgres, from: string, to: string): Promise<void> {
  await sql.session(async (session) => {
    await session.all(`SELECT pg_backup_start('standby', true)`);
    cpSync(from, to, { recursive: true, filter: (file) => !/\/postmaster\.(?:pid|opts)$|\/pg_wal\/.+/.test(file) });
    const [row] = await session.all<{ label: string }>('SELECT labelfile AS label FROM pg_backup_stop(false)');
    writeFileSync(path.join(to, 'backup_label'), row!.label);
  });
  for (const folder of ['archive_status', 'summaries']) mkdirSync(path.join(to, 'pg_wal', folder), { recursive: true });
  writeFileSync(path.join(to, 'standby.signal'), '');
  chmodSync(to, 0o700);
  if (user === null) return;
  for (const file of ['', ...readdirSync(to, { recursive: true, encoding: 'utf8' })])
    chownSync(path.join(to, file), user.uid, user.gid);
}
