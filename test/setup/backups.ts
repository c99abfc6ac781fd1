// A platform's data folder with something of everything in it, and a digest of all that, for tests of backups.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSql, type Sql } from '#postgres/sql.ts';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { ownSchemas } from '#postgres/dump.ts';

const write = {
  headers: { contentType: 'text/plain' },
  metadata: { by: 'ada' },
  onlyIf: null,
  digests: {},
  bytesMax: 1e9,
};

/** Makes a data folder. @returns its path; `extra`: bytes of one more file. */
export async function makeDataFolder(extra = 'hello'): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-backup-'));
  const put = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  put('routes/shop.json', '{"version":1,"vars":{"KEY":"v"}}');
  put(`artifacts/${'a'.repeat(64)}/manifest.json`, '{}');
  put(`artifacts/${'a'.repeat(64)}/assets/empty.txt`, '');
  put(`artifacts/${'a'.repeat(64)}/assets/ü ${'x'.repeat(120)}/large.bin`, 'z'.repeat(9_000_000));
  put('repositories/rep_1.git/HEAD', 'ref: refs/heads/main\n');
  put('repositories/rep_1.git/refs/heads/main', `${'0'.repeat(40)}\n`);
  put('repositories/rep_1.git/hooks/post-receive', '#!/bin/sh\n');
  put('secrets/encryption-key', `${'0123456789abcdef'.repeat(4)}\n`);
  put('secrets/auth-secret', `${'fedcba9876543210'.repeat(4)}\n`);
  mkdirSync(path.join(folder, 'databases', 'shop'), { recursive: true });
  const db = new DatabaseSync(path.join(folder, 'databases', 'shop', 'main.sqlite'));
  db.exec(
    `PRAGMA journal_mode = WAL; CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'one'), (2, '${'two'.repeat(5000)}')`,
  );
  db.close();
  // Storage of a durable object, with its fence and its alarm.
  mkdirSync(path.join(folder, 'databases', 'shop~~~objects'), { recursive: true });
  const object = new DatabaseSync(path.join(folder, 'databases', 'shop~~~objects', `${'0a'.repeat(32)}.sqlite`));
  object.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE platform_internal_object (id INTEGER PRIMARY KEY, fence INTEGER, alarm INTEGER, name TEXT);
    INSERT INTO platform_internal_object VALUES (1, 1800000000000000, 1900000000000, 'lobby')`);
  object.close();
  const files = openFilesDisk(path.join(folder, 'files'));
  await files.put({ namespace: 'shop', resource: 'uploads' }, 'a/b.txt', Buffer.from(extra), write);
  await files.put({ namespace: 'shop', resource: 'uploads' }, 'empty', Buffer.from(''), write);
  files.close();
  return folder;
}

/** Rows in tables of both schemas, with what is hard to write down: bytes, line breaks, JSON, nothing. */
export async function fillDatabase(url: string): Promise<void> {
  const sql = openSql({ url, name: 'test', connectionsMax: 1 });
  await sql`INSERT INTO control.organization (id, slug, name) VALUES ('org_1', 'ada', ${'A\n\t\\N "d"'})`;
  await sql`INSERT INTO control.project (id, organization_id, name, default_branch) VALUES ('prj_1', 'org_1', 'shop', 'main')`;
  await sql`INSERT INTO control.audit_event (organization_id, actor_kind, action, subject_kind, details)
    SELECT 'org_1', 'account', 'a' || n, 'project', ${sql.json({ a: [1, null, 'ü'] })} FROM generate_series(1, 500) n`;
  await sql`CREATE TABLE control.log_line_20261123 PARTITION OF control.log_line FOR VALUES FROM ('2026-11-23') TO ('2026-11-24')`;
  await sql`INSERT INTO control.log_line (at, project_id, deployment_id, branch, level, route, text)
    SELECT '2026-11-23 10:00Z', 'prj_1', 'd1', 'main', 1, '/', 'line ' || n FROM generate_series(1, 20) n`;
  await sql`DELETE FROM control.audit_event WHERE action = 'a500'`;
  await sql.end();
}

/** A digest of every row of every table that is backed up, and of where sequences stand. */
export async function digestOfDatabase(url: string): Promise<Record<string, string>> {
  const sql = openSql({ url, name: 'test', connectionsMax: 1 });
  const digests: Record<string, string> = {};
  const tables = await sql<{ name: string }[]>`
    SELECT schemaname || '.' || tablename AS name FROM pg_tables JOIN pg_class ON oid = (schemaname || '.' || tablename)::regclass
    WHERE schemaname = ANY (${ownSchemas()}) AND relpersistence = 'p' ORDER BY 1`;
  for (const { name } of tables) digests[name] = await digestOfTable(sql, name);
  for (const { name, last } of await sql<{ name: string; last: string | null }[]>`
    SELECT schemaname || '.' || sequencename AS name, last_value::text AS last FROM pg_sequences ORDER BY 1`)
    digests[name] = last ?? '';
  await sql.end();
  return digests;
}

async function digestOfTable(sql: Sql, name: string): Promise<string> {
  const rows = await sql.unsafe<{ row: string }[]>(`SELECT t::text AS row FROM ${name} t ORDER BY 1`);
  return `${rows.length} ${createHash('sha256')
    .update(rows.map(({ row }) => row).join('\n'))
    .digest('hex')}`;
}

/** Every file below some folders, by path: its SHA-256. Databases by what a dump of their pages says. */
export function digestOfFolder(folder: string, names: readonly string[]): Record<string, string> {
  const digests: Record<string, string> = {};
  for (const name of names) {
    for (const entry of readdirSync(path.join(folder, name), { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      const shown = path.relative(folder, file);
      if (!entry.isFile() || /\.sqlite-(?:wal|shm)$|\/hooks\//.test(shown)) continue;
      digests[shown] = file.endsWith('.sqlite')
        ? digestOfSqlite(file)
        : createHash('sha256').update(readFileSync(file)).digest('hex');
    }
  }
  return digests;
}

function digestOfSqlite(file: string): string {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const hash = createHash('sha256');
    for (const { name } of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1").all())
      for (const row of db.prepare(`SELECT * FROM "${String(name)}"`).all())
        hash.update(`${String(name)} ${JSON.stringify(row)}\n`);
    return hash.digest('hex');
  } finally {
    db.close();
  }
}
