// packages/worker as it is packed: JavaScript and declarations alone, read by Node and by a strict type checker, and
// small.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, globSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { rolldown } from 'rolldown';
import { emitPackage } from '#cli/tasks/pack.ts';

const root = path.resolve(import.meta.dirname, '../..');
let folder: string;
let installed: string;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'worker-packed-'));
  installed = path.join(folder, 'node_modules/@platform-run/worker');
  await mkdir(installed, { recursive: true });
  cpSync(path.join(root, 'packages/worker'), installed, {
    recursive: true,
    filter: (from) => !from.endsWith('node_modules'),
  });
  await emitPackage(installed);
  for (const name of ['zod', 'drizzle-orm', 'jose'])
    await symlink(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name));
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}');
});
after(() => rm(folder, { recursive: true }));

function run(...words: string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, words, { cwd: folder }, (error, stdout, stderr) =>
      resolve(error === null ? stdout : stdout + stderr),
    );
  });
}

test('there is no TypeScript left but declarations, and no configuration', () => {
  const files = globSync('**/*', { cwd: installed, exclude: ['middleware'] });
  assert.deepEqual(
    files.filter((file) => (file.endsWith('.ts') && !file.endsWith('.d.ts')) || file.startsWith('tsconfig')),
    [],
  );
  assert.ok(files.includes('index.js') && files.includes('index.d.ts') && files.includes('client.js'));
});

test('Node runs it as it is', async () => {
  const text = `import { platform } from '@platform-run/worker';
import { createClient } from '@platform-run/worker/client';
import { withOrm } from '@platform-run/worker/drizzle';
const app = platform().get('/:a', (ctx) => ({ a: ctx.params.a })).build();
const api = createClient('http://x', { fetch: (request) => app.fetch(request, {}) });
console.log(JSON.stringify((await api.get('/:a', { params: { a: 1 } })).data), typeof withOrm);`;
  await writeFile(path.join(folder, 'main.mjs'), text);
  assert.equal(await run('main.mjs'), '{"a":"1"} function\n');
});

test('its declarations check under nodenext without skipLibCheck', async () => {
  const text = `import { platform } from '@platform-run/worker';
import { createClient } from '@platform-run/worker/client';
import { z } from 'zod';
const app = platform().get('/:a', { response: z.object({ a: z.string() }) }, (ctx) => ({ a: ctx.params.a })).build();
export async function use(): Promise<string | undefined> {
  const answer = await createClient<typeof app>('').get('/:a', { params: { a: 1 } });
  return answer.ok ? answer.data.a : answer.data.error;
}
// @ts-expect-error there is no such parameter
platform().get('/:a', (ctx) => ctx.params.b);
`;
  await writeFile(path.join(folder, 'use.ts'), text);
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'webworker', 'webworker.iterable', 'webworker.asynciterable'],
    module: 'nodenext',
    types: [],
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
  };
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
  assert.equal(await run(path.join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'), '');
});

test('minified, an app without auth is below 50 KB, and all of it, with jose, below 76 KB', async () => {
  const sizeOf = async (code: string): Promise<number> => {
    await writeFile(path.join(folder, 'entry.js'), code);
    const bundle = await rolldown({ input: path.join(folder, 'entry.js'), cwd: folder });
    const { output } = await bundle.generate({ minify: true, format: 'esm' });
    await bundle.close();
    return output[0].code.length;
  };
  const all = await sizeOf("export * from '@platform-run/worker';");
  const part = await sizeOf("export { platform } from '@platform-run/worker';");
  assert.ok(all < 76_000 && part < 50_000, `${all} and ${part} bytes`);
});
