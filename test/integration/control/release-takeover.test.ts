// A process that releases is killed at each step in turn: the next one ends the release rightly, with one retry that
// its log shows.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { canonicalJson, hashOf } from '#core/artifact-id.ts';
import { openSql } from '#postgres/sql.ts';
import { runReleases } from '#control/releases/release-jobs.ts';
import { addRelease } from '#control/releases/uploads.ts';
import type { Dependencies } from '#control/process/dependencies.ts';
import type { PrivatePort } from '#control/process/private-port.ts';
import { createKeyedMutex } from '#control/process/keyed-mutex.ts';
import { newDeploymentId } from '#control/records/ids.ts';
import { readRoute } from '#artifacts/route-records.ts';
import { staticArtifact } from '#test/setup/archives.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { until } from '#test/setup/until.ts';

let control: TestControl;
before(async () => {
  control = await startControl();
});
after(() => control.close());

/** An artifact with a database, so that each step has something to do. */
function storeArtifact(): string {
  const { manifest, files } = staticArtifact();
  const migrations = JSON.stringify([{ resource: 'main', files: [['1.sql', 'CREATE TABLE t (a)']] }]);
  const own = canonicalJson({
    ...manifest,
    bindings: { db: { DB: 'main' } },
    migrations: { hash: hashOf(migrations) },
  });
  const folder = path.join(control.deps.folder, 'artifacts', hashOf(own));
  mkdirSync(path.join(folder, 'assets'), { recursive: true });
  writeFileSync(path.join(folder, 'manifest.json'), own);
  writeFileSync(path.join(folder, 'migrations.json'), migrations);
  writeFileSync(path.join(folder, 'assets/index.html'), files['assets/index.html']!);
  return hashOf(own);
}

/** Engines as a release sees them; the names of steps that were asked for are kept. */
function engines(applied: Set<string>, asked: string[], hangsAt: string | null, onHang: () => void): PrivatePort {
  return {
    ask<Body>(at: string, given?: unknown) {
      const { dryRun, record } = given as { dryRun?: boolean; record?: string };
      const step = at.slice('/_platform/'.length) + (dryRun === true ? ' dry' : record === undefined ? '' : ' routed');
      asked.push(step);
      if (step === hangsAt) {
        onHang();
        return new Promise(() => {});
      }
      const pending = applied.has('1.sql') ? [] : ['1.sql'];
      const database = { resource: 'main', copied: false, present: [...applied], error: null };
      if (step === 'migrate') applied.add('1.sql');
      const databases = [
        step === 'migrate' ? { ...database, applied: pending, pending: [] } : { ...database, applied: [], pending },
      ];
      const body = { warmed: true, error: null, lines: [], databases, routed: true };
      return Promise.resolve({ status: 200, body: body as Body });
    },
  };
}

/** A process of its own, as far as the database can tell. */
function process_(privatePort: PrivatePort): { deps: Dependencies; kill(): Promise<void>; stop(): Promise<void> } {
  const sql = openSql({ url: control.databaseUrl, name: 'test release', connectionsMax: 4 });
  const stopping = new AbortController();
  const deps: Dependencies = {
    ...control.deps,
    sql,
    privatePort,
    mutex: createKeyedMutex(),
    stopping: stopping.signal,
    onNotify: async (channel, heard) => (await sql.listen(channel, heard)).unlisten,
  };
  const running = runReleases(deps);
  running.catch(() => {});
  return {
    deps,
    // Its connections break, and it does nothing more; what it waits for never comes.
    async kill() {
      await sql.end({ timeout: 0 });
      stopping.abort();
    },
    async stop() {
      stopping.abort();
      await running;
      await sql.end({ timeout: 1 });
    },
  };
}

for (const step of ['warm', 'migrate dry', 'migrate', 'check routed'])
  test(`a release whose process is killed in the step "${step}" is ended by the next one`, async () => {
    const { sql, organizationId, deps } = control;
    const name = `killed-${step.replace(' ', '-')}`;
    const { body } = await control.call('POST', '/projects', { name, organizationId });
    const id = newDeploymentId();
    await sql.begin(async (tx) => {
      await tx`
        INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact)
        VALUES (${id}, ${body.id}, ${organizationId}, 'uploading', 'production', 'main', 'upload', ${storeArtifact()})`;
      await addRelease(tx, id);
    });
    const applied = new Set<string>();
    const hung = Promise.withResolvers<void>();
    const first = process_(engines(applied, [], step, hung.resolve));
    await hung.promise;
    await first.kill();
    const asked: string[] = [];
    const second = process_(engines(applied, asked, null, () => {}));
    await until(async () => {
      const [row] = await sql`SELECT FROM control.deployment WHERE id = ${id} AND status = 'success'`;
      return row !== undefined;
    });
    await second.stop();
    assert.equal(readRoute(deps.folder, name)?.production, id);
    const [row] = await sql<{ migrations: { files: string[]; on: string }[]; jobs: number }[]>`
      SELECT migrations, (SELECT count(*) FROM control.job WHERE deployment_id = ${id}) AS jobs
      FROM control.deployment WHERE id = ${id}`;
    assert.equal(row!.jobs, 0);
    assert.deepEqual(
      new Set(row!.migrations.map(({ files, on }) => `${on} ${files.join()}`)),
      new Set(['production 1.sql']),
    );
    // What moved already is not done again.
    if (step === 'check routed') assert.deepEqual(asked, ['check routed']);
    const lines = await sql<{ text: string }[]>`
      SELECT text FROM control.build_log WHERE deployment_id = ${id} AND text LIKE 'The release restarts%'`;
    assert.equal(lines.length, 1);
  });
