// Clients of models as users use them, unmodified, inside an isolate of `platform dev`: openai and three majors of the
// AI SDK over PLATFORM_AI_URL, and the provider for Workers AI over env.AI.
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { aiModelAnswers, aiModelClients, askAiModels } from '#test/setup/ai-models.ts';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { skipPackages } from '#test/setup/packages.ts';

const packages = join(import.meta.dirname, '../packages');

let folder: string;
let dev: TestDev;

before(async () => {
  if (skipPackages !== false) return;
  // Below the packages that it imports.
  folder = await mkdtemp(join(packages, 'node_modules/.ai-'));
  await copyFile(join(packages, 'workers/ai-models.js'), join(folder, 'main.js'));
  await writeFile(join(folder, 'platform.yaml'), 'main: main.js\nai: true\n');
  dev = await startDevHere(folder);
});
after(async () => {
  if (skipPackages !== false) return;
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

for (const client of aiModelClients)
  test(`${client}: text, streams, tools, embeddings, errors`, { skip: skipPackages }, async () => {
    assert.deepEqual(await askAiModels(client, dev.fetch), aiModelAnswers);
  });
