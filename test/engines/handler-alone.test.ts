// A handler without its control plane: it serves what its route records say, also after it was started again, and after
// the death of an engine.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hashPreviewPassword } from '#core/preview-access.ts';
import { changeRoute } from '#artifacts/route-records.ts';
import { rememberDatabase } from '#runtime/supervisor/services/known-database.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';

const worker = (name: string): string =>
  `export default { fetch: (request, env) => new Response('${name} ' + (env.vars.WORD ?? '')) };`;

let first: TestPlatform;
before(async () => {
  first = await startPlatform({ shop: worker('main') });
  await first.deploy('shop', worker('talk'), '', {}, 'talk');
  // As the control plane writes it.
  const passwordHash = await hashPreviewPassword('open sesame');
  changeRoute(first.folder, 'shop', (record) => ({
    ...record,
    protection: { passwordHash },
    deployments: Object.fromEntries(
      Object.entries(record.deployments).map(([id, deployment]) => [id, { ...deployment, vars: { WORD: 'kept' } }]),
    ),
  }));
  await first.answers('shop', 'main kept');
});
after(() => first.close());

test('a handler that is started again serves what it knew, with no control plane and no database', async (t) => {
  process.kill(first.supervisorPid, 'SIGKILL');
  const again = await startPlatform({}, { FS_PATH: first.folder, DATABASE_URL: 'none', API_PORT: '' });
  t.after(() => again.close());
  await again.answers('shop', 'main kept');
  assert.equal((await again.fetch('shop--talk')).status, 401);
  process.kill(again.enginePid, 'SIGKILL');
  await again.restarted();
  await again.answers('shop', 'main kept');
  assert.equal((await again.fetch('shop--talk')).status, 401);
});

test('a database of the operator that is away when the platform starts keeps no site from being served', async (t) => {
  const project = await startPlatform({ shop: worker('main') });
  t.after(() => project.close());
  await project.answers('shop', 'main ');
  process.kill(project.supervisorPid, 'SIGKILL');
  const DATABASE_URL = 'postgres://platform:secret@127.0.0.1:1/platform';
  // One that it never worked with is an error of whoever wrote it.
  await assert.rejects(startPlatform({}, { FS_PATH: project.folder, DATABASE_URL }), /Service postgres ended/);
  rememberDatabase(project.folder, DATABASE_URL);
  const again = await startPlatform({}, { FS_PATH: project.folder, DATABASE_URL });
  t.after(() => again.close());
  await again.answers('shop', 'main ');
  await again.logged(({ msg }) => msg === 'Serving without the database, retrying to connect');
});
