// The embedded Postgres as the supervisor starts it, with a server of its own each.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { canEnter } from '#postgres/embedded-binaries.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#postgres/embedded.ts';
import { until } from '#test/setup/until.ts';

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-pg-'));
  try {
    await run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Data that were made once: making them takes a second of CPU. */
const made = mkdtempSync(path.join(tmpdir(), 'platform-pg-'));
before(async () => {
  const first = await startEmbeddedPostgres({ folder: made, durable: false });
  await first.stop();
});
after(() => rmSync(made, { recursive: true, force: true }));

/** In a folder that has data, as after a first start. */
const withData = (run: (folder: string) => Promise<void>): Promise<void> =>
  withFolder((folder) => {
    execFileSync('cp', ['-a', `${made}/.`, folder]);
    return run(folder);
  });

async function use<T>(postgres: EmbeddedPostgres, run: (sql: Postgres) => Promise<T>): Promise<T> {
  const sql = openPostgres({ url: postgres.url, name: 'test', connectionsMax: 1 });
  try {
    return await run(sql);
  } finally {
    await sql.close();
  }
}

test('where the disk is nearly full, no data are made, and it says why', async () => {
  await withFolder(async (folder) => {
    await assert.rejects(
      startEmbeddedPostgres({
        folder: path.join(folder, 'postgres'),
        durable: false,
        keepsFreeBytes: 900_000_000_000_000,
      }),
      {
        message:
          /bytes free: an embedded Postgres needs 67108864, and 900000000000000 stay free \(DISK_FREE_BYTES_MIN\)$/,
      },
    );
    assert.equal(existsSync(path.join(folder, 'postgres/data-18')), false);
  });
});

test('what was written is there after a stop and a start, under the same address', async () => {
  await withData(async (folder) => {
    const first = await startEmbeddedPostgres({ folder });
    await use(first, (sql) => sql.all('CREATE TABLE kept AS SELECT 7::int8 AS n'));
    await first.stop();
    const second = await startEmbeddedPostgres({ folder });
    assert.equal(second.url, first.url);
    assert.deepEqual(await use(second, (sql) => sql.all('SELECT n FROM kept')), [{ n: 7 }]);
    await second.stop();
  });
});

test('it listens on no port, refuses a wrong password, and keeps its password to itself', async () => {
  await withData(async (folder) => {
    const postgres = await startEmbeddedPostgres({ folder, durable: false });
    const [row] = await use(postgres, (sql) => sql.all(`SELECT current_setting('listen_addresses') AS addresses`));
    assert.equal(row!['addresses'], '');
    const url = new URL(postgres.url);
    url.password = 'wrong';
    await assert.rejects(
      use({ ...postgres, url: url.href }, (sql) => sql.all('SELECT 1')),
      { code: '28P01' },
    );
    assert.equal(statSync(path.join(folder, 'password')).mode & 0o777, 0o600);
    const log = readFileSync(path.join(folder, 'postgres.log'), 'utf8');
    assert.equal(log.includes(new URL(postgres.url).password), false);
    await postgres.stop();
  });
});

test('a server that dies is started again under the same address, with all that was acknowledged', async () => {
  await withData(async (folder) => {
    const troubles: string[] = [];
    const postgres = await startEmbeddedPostgres({ folder, onTrouble: (message) => troubles.push(message) });
    const sql = openPostgres({ url: postgres.url, name: 'test', connectionsMax: 2 });
    await sql.all('CREATE TABLE ledger (n int)');
    const acknowledged: number[] = [];
    const first = postgres.pid;
    for (let n = 0; n < 200; n++) {
      if (n === 100) process.kill(first, 'SIGKILL');
      try {
        await sql.all('INSERT INTO ledger VALUES ($1)', n);
        acknowledged.push(n);
      } catch {
        // Not acknowledged: may be there or not.
      }
    }
    // Connections of the killed server answer for a while, whether or not it has been replaced.
    await until(() => postgres.pid !== first);
    const rows = await until(() => sql.all<{ n: number }>('SELECT n FROM ledger').catch(() => null));
    const found = rows.map(({ n }) => n);
    assert.ok(acknowledged.length >= 100);
    assert.deepEqual(
      acknowledged.filter((n) => !found.includes(n)),
      [],
    );
    assert.notEqual(postgres.pid, first);
    assert.deepEqual(troubles.slice(0, 1), ['Embedded Postgres exited: restarting']);
    await sql.close();
    await postgres.stop();
  });
});

test('a server whose starter was killed is stopped by the next one, and nothing is lost', async () => {
  await withData(async (folder) => {
    const script = `
      import { startEmbeddedPostgres } from '#postgres/embedded.ts';
      const postgres = await startEmbeddedPostgres({ folder: process.argv[1] });
      console.log(postgres.pid);
      setInterval(() => {}, 1000);`;
    const starter = spawn(process.execPath, ['--input-type=module-typescript', '-e', script, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(starter.stdout, 'data')) as [Buffer];
    const orphan = Number(line.toString());
    starter.kill('SIGKILL');
    await once(starter, 'exit');
    process.kill(orphan, 0);
    const postgres = await startEmbeddedPostgres({ folder });
    assert.notEqual(postgres.pid, orphan);
    assert.equal((await use(postgres, (sql) => sql.all('SELECT 1 AS one')))[0]!['one'], 1);
    await postgres.stop();
  });
});

test('data of another major version is refused, not touched', async () => {
  await withFolder(async (folder) => {
    mkdirSync(path.join(folder, 'data-9'));
    await assert.rejects(
      startEmbeddedPostgres({ folder }),
      /holds data of Postgres 9, but this version of the platform includes Postgres 18/,
    );
  });
});

test('a folder that only its owner may enter is out of reach for another user', async () => {
  await withFolder(async (folder) => {
    const inner = path.join(folder, 'inner');
    mkdirSync(inner);
    chmodSync(folder, 0o700);
    assert.equal(canEnter(inner, { uid: 12_345, gid: 12_345 }), false);
    chmodSync(folder, 0o711);
    chmodSync(inner, 0o755);
    assert.equal(canEnter(inner, { uid: 12_345, gid: 12_345 }), true);
    assert.equal(canEnter(inner, null), true);
  });
});

for (const [what, mode, name, isFirst] of [
  ['that all may enter', 0o755, 'data', false],
  ['that only its owner may enter', 0o700, 'data', true],
  ['whose path is too long for a socket, and which only its owner may enter', 0o700, 'd'.repeat(120), false],
] as const) {
  test(`data of a folder ${what} lies in it, for ${process.getuid?.() === 0 ? 'root' : 'a user'}, and is there again`, async () => {
    await withFolder(async (parent) => {
      chmodSync(parent, mode);
      const folder = path.join(parent, name, 'postgres');
      if (!isFirst) {
        mkdirSync(path.join(parent, name));
        execFileSync('cp', ['-a', made, folder]);
      }
      const first = await startEmbeddedPostgres({ folder, durable: false });
      await use(first, (sql) => sql.all('CREATE TABLE kept AS SELECT 7::int8 AS n'));
      await first.stop();
      const second = await startEmbeddedPostgres({ folder, durable: false });
      assert.deepEqual(await use(second, (sql) => sql.all('SELECT n FROM kept')), [{ n: 7 }]);
      await second.stop();
      assert.ok(existsSync(path.join(folder, 'data-18/PG_VERSION')));
      const sockets = new URL(second.url).searchParams.get('host')!;
      assert.equal(sockets.startsWith(folder), name === 'data');
      assert.deepEqual(readdirSync(sockets), []);
      rmSync(sockets, { recursive: true });
    });
  });
}

test('data that an earlier version put elsewhere comes back into the folder', async () => {
  await withFolder(async (parent) => {
    chmodSync(parent, 0o755);
    const folder = path.join(parent, 'postgres');
    execFileSync('cp', ['-a', made, folder]);
    const first = await startEmbeddedPostgres({ folder, durable: false });
    await use(first, (sql) => sql.all('CREATE TABLE kept AS SELECT 7::int8 AS n'));
    await first.stop();
    mkdirSync(path.join(parent, 'elsewhere'));
    renameSync(path.join(folder, 'data-18'), path.join(parent, 'elsewhere/data-18'));
    writeFileSync(path.join(folder, 'LOCATION'), `${parent}/elsewhere\n`);
    const second = await startEmbeddedPostgres({ folder, durable: false });
    assert.deepEqual(await use(second, (sql) => sql.all('SELECT n FROM kept')), [{ n: 7 }]);
    await second.stop();
    assert.equal(existsSync(path.join(folder, 'LOCATION')), false);
  });
});
