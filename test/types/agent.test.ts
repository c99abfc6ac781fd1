// packages/agent as a user's project sees it, to the type checker: what arguments of tools are, what is refused.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { checkProject, linesOf, strictSettings, type Said } from './users-project.ts';

const environment = `
import type { AgentEnv } from '@platform-run/agent';
import type { QueueBinding } from '@platform-run/types';
declare global {
  interface PlatformEnv extends AgentEnv { OUTBOX: QueueBinding; vars: Record<string, string> }
}
`;

const head = `
import { createAgent, defineTool, type Messenger, type Workspace } from '@platform-run/agent';
import type { PlatformWorker } from '@platform-run/types';
import { z } from 'zod';
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

let said: Said;
before(async () => {
  const readme = await readFile(path.join(root, 'packages/agent/README.md'), 'utf8');
  const [, example] = /```ts\n([^]*?)```/.exec(readme)!;
  const files = {
    'tsconfig.json': strictSettings,
    'env.ts': environment,
    'content.ts': content,
    'mistakes.ts': `${head}${mistakes.join('\n')}\n`,
    'readme.ts': example!,
  };
  said = await checkProject(files, ['agent', 'worker', 'types'], ['zod']);
});

test('arguments of tools have the types of their schema', () => {
  assert.equal(said('content.ts'), '');
});

test('mistakes are type errors', () => {
  const found = said('mistakes.ts');
  const first = head.split('\n').length;
  assert.deepEqual(
    linesOf(found, 'mistakes.ts').map((line) => mistakes[line - first] ?? `line ${line}`),
    mistakes,
    found,
  );
});

test('the example of the README type-checks', () => {
  assert.equal(said('env.ts'), '');
  assert.equal(said('readme.ts'), '');
});
