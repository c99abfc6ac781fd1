// Each case of test/fixtures/node-modules runs in Node and in an isolate, where Node's modules are the builder's.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

type Cases = Readonly<Record<string, () => unknown>>;

const groups = ['cryptoCases', 'zlibCases', 'moduleCases'] as const;
const fixtures = join(import.meta.dirname, '../fixtures/node-modules');
const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

let handler: TestHandler;
let folder: string;
let inNode: Record<(typeof groups)[number], Cases>;

before(async () => {
  const filled = async (name: string): Promise<string> =>
    (await readFile(join(fixtures, name), 'utf8'))
      .replace("'RSA_PRIVATE'", JSON.stringify(privateKey))
      .replace("'RSA_PUBLIC'", JSON.stringify(publicKey));
  const files = { 'src/cases.ts': await filled('cases.ts'), 'src/modules.ts': await filled('modules.ts') };
  folder = await mkdtemp(join(tmpdir(), 'platform-cases-'));
  await writeFile(join(folder, 'cases.ts'), files['src/cases.ts']);
  await writeFile(join(folder, 'modules.ts'), files['src/modules.ts']);
  inNode = {
    ...(await import(pathToFileURL(join(folder, 'cases.ts')).href)),
    ...(await import(pathToFileURL(join(folder, 'modules.ts')).href)),
  } as typeof inNode;
  handler = await startHandler({
    cases: {
      files: {
        ...files,
        'src/index.ts': `import { cryptoCases, zlibCases } from './cases.ts';
          import { moduleCases } from './modules.ts';
          const groups = { cryptoCases, zlibCases, moduleCases };
          export default { async fetch(request) {
            const [group, name] = await request.json();
            try { return Response.json({ value: await groups[group][name]() }); } catch (error) { return Response.json({ error: String(error?.stack ?? error) }); }
          } };`,
      },
      plan: 'enterprise',
    },
  });
});
after(async () => {
  await rm(folder, { recursive: true, force: true });
  await handler.close();
});

for (const group of groups) {
  test(`an isolate answers as Node does: ${group}`, async (t) => {
    for (const [name, run] of Object.entries(inNode[group])) {
      await t.test(name, async () => {
        const expected = JSON.parse(JSON.stringify({ value: (await run()) ?? null })) as unknown;
        const response = await handler.fetch('cases', '/', { method: 'POST', body: JSON.stringify([group, name]) });
        assert.deepEqual(response.json(), expected);
      });
    }
  });
}
