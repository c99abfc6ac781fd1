// What every store of artifacts keeps to. Each store runs it from a test file of its own.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openArtifact } from '#artifacts/artifact-source.ts';
import type { ArtifactStore } from '#artifacts/store/artifact-store.ts';
import { deployInto } from '#test/setup/deployed-sources.ts';

const ABSENT = 'ab'.repeat(32);

/** A machine: its data folder, and the store as it has it. */
interface Machine {
  readonly folder: string;
  readonly store: ArtifactStore;
}

/**
 * Registers the suite's tests.
 *
 * @param open two machines, which have one folder where the store is not shared by a bucket.
 */
export function artifactStoreContract(
  open: (folders: string[]) => Promise<{ machines: Machine[]; close(): unknown }>,
): void {
  let one: Machine;
  let other: Machine;
  let close: () => unknown;
  let folders: string[];
  before(async () => {
    folders = await Promise.all([1, 2].map(() => mkdtemp(join(tmpdir(), 'platform-artifacts-'))));
    const opened = await open(folders);
    [one, other] = opened.machines as [Machine, Machine];
    ({ close } = opened);
  });
  after(async () => {
    await close();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  const make = async (text: string): Promise<string> => {
    const files = { 'public/a b/ü.txt': text };
    const code = `export default { fetch: () => new Response(${JSON.stringify(text)}) };`;
    return (await deployInto(one.folder).make('shop', code, 'assets: {}\n', files)).id;
  };
  const isMissing = { name: 'Failure', kind: 'artifact_store', reason: 'missing' };
  const leftovers = (machine: Machine): string[] =>
    readdirSync(join(machine.folder, 'artifacts')).filter((name) => name.startsWith('.'));

  test('what one machine stores, another one has after a fetch, with the same bytes', async () => {
    const id = await make('one');
    await one.store.upload(id);
    await other.store.fetch(id);
    const found = openArtifact(other.folder, id);
    assert.deepEqual(found.manifest, openArtifact(one.folder, id).manifest);
    assert.ok(found.workerText() !== null);
    assert.ok(existsSync(found.assetFile('a b/ü.txt')));
    assert.deepEqual([leftovers(one), leftovers(other)], [[], []]);
  });

  test('each call may be repeated, and made by several at a time', async () => {
    const id = await make('two');
    await Promise.all([one.store.upload(id), one.store.upload(id)]);
    await one.store.upload(id);
    await Promise.all([other.store.fetch(id), other.store.fetch(id)]);
    await other.store.fetch(id);
    assert.equal(openArtifact(other.folder, id).manifest.kind, 'dynamic');
    assert.deepEqual([leftovers(one), leftovers(other)], [[], []]);
  });

  test('an artifact that nobody stored is missing, as is what is no id', async () => {
    for (const id of [ABSENT, '../routes', '']) {
      await assert.rejects(other.store.fetch(id), isMissing);
      await assert.rejects(one.store.upload(id), isMissing);
    }
  });

  test('artifacts are listed with the time of their storage, until they are removed', async () => {
    const id = await make('three');
    await one.store.upload(id);
    const at = (await other.store.list()).get(id);
    assert.ok(at !== undefined && Math.abs(Date.now() - at) < 3_600_000, String(at));
    await one.store.remove(id);
    await one.store.remove(id);
    assert.equal((await other.store.list()).has(id), false);
    rmSync(join(other.folder, 'artifacts', id), { recursive: true, force: true });
    await assert.rejects(other.store.fetch(id), isMissing);
  });
}
