// A whole platform replicates its databases to a bucket, and its commands restore them to a moment: into a copy, and in
// place, with an entry in the audit log.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startS3Server, variablesOf, type S3Server } from '#test/setup/s3-server.ts';
import { until } from '#test/setup/until.ts';
import { startWholePlatform, type Json, type WholePlatform } from '#test/setup/whole-platform.ts';

let s3: S3Server;
let platform: WholePlatform;
let folder: string;
before(async () => {
  s3 = await startS3Server();
  platform = await startWholePlatform({ ...variablesOf(s3, 'DB_REPLICA_S3'), DB_REPLICA_S3_BUCKET: s3.bucket });
  folder = path.join(platform.folder, 'shop');
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), 'name: shop\nkind: worker\nmain: src/index.js\ndb: { DB: main }\n');
  writeFileSync(path.join(folder, 'src/index.js'), 'export default { fetch: () => new Response("shop") };\n');
  await platform.cli(folder, 'deploy');
});
after(async () => {
  await platform.close();
  await s3.close();
});

const cli = async (...words: string[]): Promise<Json> => {
  const { stdout } = await platform.cli(folder, ...words, '--json');
  return JSON.parse(stdout) as Json;
};
const refused = async (...words: string[]): Promise<string> => {
  const error = await platform.cli(folder, ...words).then(
    () => assert.fail('it was not refused'),
    (failed: { stderr: string; code: number }) => failed,
  );
  return `${error.code} ${error.stderr.trim()}`;
};
const entries = async (): Promise<string[]> =>
  (await cli('db', 'query', 'SELECT text FROM entry ORDER BY text')).rows.map(({ text }: Json) => text);

test('`platform db restore` restores a moment into a copy and in place', async () => {
  await cli('db', 'query', 'CREATE TABLE entry (text TEXT)');
  await cli('db', 'query', "INSERT INTO entry VALUES ('first')");
  const oldest = await until(async () => (await cli('db', 'restore')).oldest as string | null);
  await sleep(2000);
  const moment = new Date().toISOString();
  await sleep(2000);
  await cli('db', 'query', "INSERT INTO entry VALUES ('second')");

  assert.match(
    await refused('db', 'restore', '--at', 'yesterday'),
    /^2 .*--at must be a time such as 2026-11-28T12:00:00Z/,
  );
  assert.match(
    await refused('db', 'restore', '--at', '2999-01-01T00:00:00Z'),
    /2999-01-01T00:00:00.000Z is in the future/,
  );
  const early = await refused('db', 'restore', '--at', '2020-01-01T00:00:00Z');
  assert.ok(early.includes(`does not reach back to 2020-01-01T00:00:00.000Z: its oldest moment is ${oldest}`), early);
  assert.match(await refused('db', 'restore', '--at', moment, '--in-place'), /pass --yes/);

  const copied = await cli('db', 'restore', '--at', moment);
  assert.equal(copied.before, null);
  assert.deepEqual(await entries(), ['first', 'second']);

  const placed = await cli('db', 'restore', '--at', moment, '--in-place', '-y');
  assert.deepEqual(await entries(), ['first']);
  const [organization] = (await platform.call('GET', '/user')).organizations as Json[];
  const [project] = (await platform.call('GET', `/orgs/${organization.id}/projects`)).items as Json[];
  const at = `/projects/${project.id}/databases/DB`;
  const { items } = await platform.call('GET', `${at}/copies`);
  assert.deepEqual(
    new Set(items.map(({ name }: Json) => name)),
    new Set([copied.copy.name, placed.copy.name, placed.before]),
  );
  // The way back.
  await platform.call('POST', `${at}/copies/${placed.before}/restore`);
  assert.deepEqual(await entries(), ['first', 'second']);

  const audit = (await platform.call('GET', `/orgs/${organization.id}/audit`)).items as Json[];
  const noted = audit.filter(({ action }) => action === 'data.db.restore-at').map(({ details }) => details);
  assert.deepEqual(
    noted
      .map(({ at: of, inPlace }: Json) => [of, inPlace ?? false])
      .toSorted((one: Json, other: Json) => one[1] - other[1]),
    [
      [moment, false],
      [moment, true],
    ],
  );
});
