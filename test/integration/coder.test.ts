// examples/coder in `platform dev`: an agent that programs in a sandbox by its tools. The model is a server of the
// test.
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startFakeModel, type FakeModel } from '#test/setup/fake-model.ts';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';

const root = join(import.meta.dirname, '../..');

let fake: FakeModel;
let folder: string;
let dev: TestDev;

before(async () => {
  fake = await startFakeModel();
  // Below the checkout's own node_modules, where the packages' own packages are.
  folder = await mkdtemp(join(root, 'node_modules/.test-'));
  await cp(join(root, 'examples/coder'), folder, { recursive: true });
  // A repository of its own, or what it keeps would be the checkout's.
  await mkdir(join(folder, '.git'));
  await writeFile(join(folder, '.git/HEAD'), 'ref: refs/heads/main\n');
  await mkdir(join(folder, 'node_modules/@platform-run'), { recursive: true });
  await symlink(join(root, 'packages/agent'), join(folder, 'node_modules/@platform-run/agent'));
  await writeFile(join(folder, '.env'), `PLATFORM_DEV_AI_URL=${fake.url}\nPLATFORM_DEV_AI_TOKEN=of-the-test\n`);
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  fake.close();
  await rm(folder, { recursive: true, force: true });
});

interface Conversation {
  readonly isBusy: boolean;
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
}

/** Resolves with the conversation once no run is active. */
async function idle(user: string): Promise<Conversation> {
  for (;;) {
    const conversation = (await dev.fetch(`/conversation/${user}`)).json() as Conversation;
    if (!conversation.isBusy) return conversation;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('the agent writes a program, runs it, mends it by what it reads, and says what it did', async () => {
  const calls: readonly (readonly [string, unknown])[] = [
    ['write_file', { path: 'sum/sum.sh', content: 'echo $((40 + 2)' }],
    ['run_command', { command: 'sh sum/sum.sh' }],
    ['write_file', { path: 'sum/sum.sh', content: 'echo $((40 + 2))\n' }],
    ['run_command', { command: 'sh sum/sum.sh' }],
    ['read_file', { path: 'sum/sum.sh' }],
    ['list_files', {}],
    ['read_file', { path: 'no/such.file' }],
  ];
  fake.script('summary', (_request, count) => (count < calls.length ? { calls: [calls[count]!] } : 'It prints 42.'));
  assert.equal(
    (await dev.fetch('/ask/ada', { method: 'POST', body: 'Write a program that adds 40 and 2' })).status,
    202,
  );
  const { messages } = await idle('ada');
  const results = messages.flatMap(({ role, content }) => (role === 'tool' ? [content!] : []));
  assert.equal(results[0], 'Wrote sum/sum.sh.');
  assert.match(results[1]!, /^Exit code 2\.\n\nstderr:\n/);
  assert.equal(results[3], 'Exit code 0.\n42\n');
  assert.equal(results[4], 'echo $((40 + 2))\n');
  assert.equal(results[5], '/workspace/sum directory\n/workspace/sum/sum.sh 17');
  assert.match(results[6]!, /No such file or folder: \/workspace\/no\/such\.file/);
  assert.equal(messages.at(-1)!.content, 'It prints 42.');
  // The model was shown the tools and, each time, what came of the last one.
  const asked = fake.requests('summary');
  assert.deepEqual(
    asked[0]!.tools!.map(({ function: { name } }) => name).filter((name) => !name.startsWith('memory_')),
    ['run_command', 'write_file', 'read_file', 'list_files'],
  );
  assert.equal(asked.at(-1)!.messages.at(-1)!.role, 'tool');
});

test('a user has a sandbox of their own, until it is thrown away', async () => {
  fake.script('summary', ({ messages }) =>
    messages.at(-1)!.role === 'tool' ? 'Looked.' : { calls: [['list_files', {}]] },
  );
  const seen = async (user: string): Promise<string> => {
    await dev.fetch(`/ask/${user}`, { method: 'POST', body: 'Look' });
    return (await idle(user)).messages.findLast(({ role }) => role === 'tool')!.content!;
  };
  assert.equal(await seen('bob'), 'It is empty.');
  assert.match(await seen('ada'), /sum\.sh/);
  assert.equal((await dev.fetch('/sandbox/ada', { method: 'DELETE' })).status, 204);
  assert.equal(await seen('ada'), 'It is empty.');
});
