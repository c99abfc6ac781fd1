import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CompiledForms, type CompiledForm, type FormSource } from '#runtime/engine/isolates/compiled-forms.ts';

const folder = mkdtempSync(join(tmpdir(), 'platform-forms-'));
after(() => rmSync(folder, { recursive: true }));
const limits = { compiledFormsMemoryBytesMax: 1000, compiledFormsDiskBytesMax: 100_000 };
const files = (): string[] => readdirSync(join(folder, 'compiled')).toSorted();
const form = (bytes: number, value: number): FormSource => ({
  compiledForm: async () => new Uint8Array(bytes).fill(value).buffer,
});
const contentOf = (found: CompiledForm | null): unknown[] | null =>
  found === null ? null : [found.stage, found.bytes.byteLength, new Uint8Array(found.bytes)[0]!];

/** Resolves when there are so many files. */
async function filesWritten(count: number): Promise<void> {
  const watcher = watch(join(folder, 'compiled'));
  while (files().filter((name) => !name.includes('.')).length < count) await once(watcher, 'change');
  watcher.close();
}

test('a form is found by its project and the hash of its code, in memory and by the next engine', async () => {
  const forms = new CompiledForms({ folder, key: 'one', limits, quietMs: 0 });
  assert.equal(forms.find('shop/d1', 'hash', 9000), null);
  forms.offer('shop/d1', 'hash', 9000, 'first', form(600, 1));
  await filesWritten(1);
  assert.deepEqual(contentOf(forms.find('shop/d2', 'hash', 9000)), ['first', 600, 1]);
  assert.equal(forms.find('other/d1', 'hash', 9000), null);
  assert.equal(forms.find('shop/d1', 'other', 9000), null);
  await forms.close();
  const next = new CompiledForms({ folder, key: 'one', limits, quietMs: 0 });
  assert.deepEqual(contentOf(next.find('shop/d1', 'hash', 9000)), ['first', 600, 1]);
  await next.close();
  const upgraded = new CompiledForms({ folder, key: 'two', limits, quietMs: 0 });
  assert.equal(upgraded.find('shop/d1', 'hash', 9000), null);
  await upgraded.close();
});

test('a file that was changed is no form', async () => {
  const file = join(folder, 'compiled', files()[0]!);
  const content = readFileSync(file);
  for (const changed of [
    content.subarray(0, -1),
    content.subarray(0, 20),
    Buffer.alloc(0),
    Buffer.concat([content, Buffer.alloc(1)]),
  ]) {
    writeFileSync(file, changed);
    const forms = new CompiledForms({ folder, key: 'one', limits, quietMs: 0 });
    assert.equal(forms.find('shop/d1', 'hash', 9000), null);
    await forms.close();
  }
  rmSync(file);
});

test('files beyond the bound go, those that were used last stay', async () => {
  const forms = new CompiledForms({
    folder,
    key: 'three',
    limits: { ...limits, compiledFormsDiskBytesMax: 1500 },
    quietMs: 0,
  });
  for (const name of ['a', 'b', 'c']) {
    forms.offer('shop/d1', name, 9000, 'first', form(600, 1));
    while (forms.find('shop/d1', name, 9000) === null) await new Promise((resolve) => setImmediate(resolve));
  }
  await forms.close();
  assert.ok(files().length <= 2, `${files().length} files`);
});

test('a form is replaced by one of a later stage, with the larger of the two where V8 has forgotten functions', async () => {
  const forms = new CompiledForms({ folder, key: 'four', limits, quietMs: 0 });
  const found = (): unknown[] | null => contentOf(forms.find('shop/d1', 'hash', 9000));
  const reaches = async (expected: unknown[]): Promise<void> => {
    while (JSON.stringify(found()) !== JSON.stringify(expected)) await new Promise((resolve) => setImmediate(resolve));
  };
  await forms.keep('shop/d1', 'hash', new Uint8Array(700).fill(1).buffer);
  assert.deepEqual(found(), ['ahead', 700, 1]);
  forms.offer('shop/d1', 'hash', 9000, 'first', form(300, 2));
  await reaches(['first', 300, 2]);
  forms.offer('shop/d1', 'hash', 9000, 'later', form(200, 3));
  await reaches(['later', 300, 2]);
  await forms.close();
  const next = new CompiledForms({ folder, key: 'four', limits, quietMs: 0 });
  assert.deepEqual(contentOf(next.find('shop/d1', 'hash', 9000)), ['later', 300, 2]);
  await next.close();
});
