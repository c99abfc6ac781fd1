// packages/agent as a user's project sees it, to the type checker: what arguments of tools are, what is refused.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');

const head = `
import { createAgent, defineTool, type AgentEnv, type Messenger, type Workspace } from '@platform-run/agent';
import type { PlatformWorker, QueueBinding } from '@platform-run/types';
import { z } from 'zod';
declare global {
  interface PlatformEnv extends AgentEnv { OUTBOX: QueueBinding; vars: Record<string, string> }
}
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
export function same<A, B>(_: Equal<A, B>): void {}
export type Kept = [PlatformWorker, Messenger, Workspace, z.ZodType];
const handle = (): Response => new Response('');
export { defineTool, createAgent, handle };
`;

const content = `${head}
const typed = defineTool({
  name: 'typed',
  description: '',
  parameters: {
    type: 'object',
    properties: { s: { type: 'string' }, n: { type: 'number' }, i: { type: 'integer' }, b: { type: 'boolean' }, o: { type: 'object' }, a: { type: 'array' } },
    required: ['s', 'n'],
  },
  approval: ({ s }) => s.length > 3,
  execute(args, ctx) {
    same<typeof args, { s: string; n: number; i?: number; b?: boolean; o?: Record<string, unknown>; a?: unknown[] }>(true);
    same<typeof ctx.idempotencyKey, string>(true);
    return args.s;
  },
});
const standard = defineTool({
  name: 'standard',
  description: '',
  parameters: z.object({ at: z.coerce.date() }),
  execute: async ({ at }) => at.toISOString(),
});
export default createAgent<PlatformEnv>({
  systemPrompt: async (userId) => userId,
  tools: [typed, standard, { name: 'plain', description: '', parameters: { type: 'object' }, execute: (_args, ctx) => ctx.env.vars['A'] ?? '' }],
  hooks: { onTaskScheduled: (ctx, task) => void ctx.env.OUTBOX.send(task.scheduledTime) },
  async handle(_request, env, agent) {
    same<typeof env.vars, Record<string, string>>(true);
    const { queued, runId } = await agent.handleMessage({ userId: 'a', chatId: 'a', platform: 'web', text: 'x' });
    return Response.json([queued, runId, await agent.commands.debug('a', 'a')]);
  },
}) satisfies PlatformWorker<PlatformEnv>;
`;

const mistakes = [
  'createAgent({ handle });',
  'createAgent({ systemPrompt: 5, handle });',
  "createAgent({ systemPrompt: '', handle, maxStep: 3 });",
  "createAgent({ systemPrompt: '', handle: () => 'text' });",
  "createAgent({ systemPrompt: '', handle, tools: [{ name: 'a' }] });",
  "defineTool({ name: 'a', description: '', parameters: { type: 'object', properties: {} }, execute: () => 5 });",
  "defineTool({ name: 'a', description: '', parameters: z.object({ a: z.string() }), execute: ({ b }) => b });",
];

async function project(t: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-types-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(path.join(folder, 'node_modules/@platform-run'), { recursive: true });
  for (const name of ['agent', 'worker', 'types'])
    await symlink(path.join(root, 'packages', name), path.join(folder, 'node_modules/@platform-run', name));
  await symlink(path.join(root, 'node_modules/zod'), path.join(folder, 'node_modules/zod'));
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: ['@platform-run/types'],
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  };
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await writeFile(path.join(folder, 'app.ts'), text);
  return folder;
}

/** What TypeScript says about a project; empty when it is content. */
function check(folder: string): Promise<string> {
  return new Promise((resolve) => {
    const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
    execFile(process.execPath, [compiler, '-p', folder], { cwd: folder }, (error, stdout, stderr) =>
      resolve(error === null ? '' : stdout + stderr || error.message),
    );
  });
}

test('arguments of tools have the types of their schema', async (t) => {
  assert.equal(await check(await project(t, content)), '');
});

test('mistakes are type errors', async (t) => {
  const found = await check(await project(t, `${head}${mistakes.join('\n')}\n`));
  const first = head.split('\n').length;
  const lines = [...found.matchAll(/^app\.ts\((\d+),/gm)].map(
    (match) => mistakes[Number(match[1]) - first] ?? `line ${match[1]}`,
  );
  assert.deepEqual([...new Set(lines)], mistakes, found);
});

test('the example of the README type-checks', async (t) => {
  const readme = await readFile(path.join(root, 'packages/agent/README.md'), 'utf8');
  const [, example] = /```ts\n([^]*?)```/.exec(readme)!;
  const folder = await project(t, example!);
  await writeFile(
    path.join(folder, 'env.ts'),
    `import type { AgentEnv } from '@platform-run/agent';
import type { QueueBinding } from '@platform-run/types';
declare global { interface PlatformEnv extends AgentEnv { OUTBOX: QueueBinding } }`,
  );
  assert.equal(await check(folder), '');
});
