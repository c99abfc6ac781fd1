import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import type { RequestScope } from '#runtime/engine/resources/request-scope.ts';
import { fileOperations } from '#runtime/engine/resources/storage.ts';

/** Puts a file of the data folder into a store that refuses it. @returns what the store was given. */
async function refused(t: TestContext, content: string | null): Promise<Readable> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-put-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'sent.upload');
  if (content !== null) writeFileSync(file, content);
  let given: Readable | undefined;
  const put = async (_place: unknown, _key: string, body: Readable): Promise<never> => {
    given = body;
    throw new Error('The store is full');
  };
  const scope = {
    deps: { folder, stores: { files: { put } }, namespaceOf: (project: string) => project },
    route: { project: 'shop', preview: null },
    artifact: { manifest: { bindings: { fs: { FILES: 'files' } } } },
    binding: 'FILES',
    args: { key: 'a', file },
  } as unknown as RequestScope;
  await assert.rejects(fileOperations['fs.put'](scope), /The store is full/);
  return given!;
}

test('a file that a store refuses is closed', async (t) => {
  assert.ok((await refused(t, 'content')).destroyed);
});

test('a file that is gone when a store refuses it does not end the process', async (t) => {
  const source = await refused(t, null);
  if (!source.closed) await new Promise((resolve) => void source.once('close', resolve));
  assert.ok(source.errored === null || /ENOENT/.test(source.errored.message));
});
