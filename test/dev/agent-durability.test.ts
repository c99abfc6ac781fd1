// packages/agent through kills of the whole process: each run goes on where it was.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startAgentProcess, type KilledAgent } from '#test/setup/agent.ts';

let agent: KilledAgent;

before(async () => {
  agent = await startAgentProcess(`
    tools: [
      { name: 'pay', description: 'Pays', approval: ({ euros }) => euros > 10, parameters: { type: 'object', properties: { euros: { type: 'number' } } }, execute: async ({ euros }, ctx) => { await effect(ctx.chatId, 'paid ' + euros, ctx.idempotencyKey); return 'paid'; } },
      { name: 'work', description: 'Works', parameters: { type: 'object' }, execute: async ({ n }, ctx) => { await effect(ctx.chatId, 'work ' + n, ctx.idempotencyKey); return 'worked ' + n; } },
    ],
  `);
});
after(() => agent.close());

const texts = (userId: string, kind?: 'message' | 'effect'): string[] =>
  agent.posted(userId, kind).map(({ text }) => text);

test('after kill -9 in a tool, calls that were done are not made again, and the one that ran has the same key', async () => {
  agent.hold('work 2');
  agent.script('killed', (_request, count) =>
    count === 0
      ? {
          calls: [
            ['work', { n: 1 }],
            ['work', { n: 2 }],
            ['work', { n: 3 }],
          ],
        }
      : 'all done',
  );
  const { runId } = await agent.say('killed', 'go');
  await agent.came(() => texts('killed', 'effect').includes('work 2'));
  await agent.say('killed', 'and then?');
  await agent.killAndStart();
  await agent.came(() => agent.posted('killed').length === 2);
  const workspace = await agent.idle('killed');
  assert.deepEqual(
    agent.posted('killed', 'effect').map(({ text, key }) => [text, key]),
    [
      ['work 1', `${runId}:1:0`],
      ['work 2', `${runId}:1:1`],
      ['work 2', `${runId}:1:1`],
      ['work 3', `${runId}:1:2`],
    ],
  );
  assert.deepEqual(texts('killed'), ['all done', 'all done']);
  assert.deepEqual(
    workspace.messages.map(({ role }) => role).join(),
    'user,assistant,tool,tool,tool,assistant,user,assistant',
  );
});

test('after kill -9 while the model answers, it is asked again, and the user gets one answer', async () => {
  agent.script('asked', (_request, count) => (count === 0 ? new Promise<never>(() => {}) : 'here I am'));
  await agent.say('asked', 'go');
  await agent.came(() => agent.requests('asked').length === 1);
  await agent.killAndStart();
  await agent.idle('asked');
  assert.deepEqual([texts('asked'), agent.requests('asked').length], [['here I am'], 2]);
});

test('a call waits for approval across kill -9, and is made once', async () => {
  agent.script('payer', (_request, count) =>
    count === 0
      ? {
          calls: [
            ['pay', { euros: 5 }],
            ['pay', { euros: 50 }],
            ['pay', { euros: 70 }],
          ],
        }
      : 'ok',
  );
  await agent.say('payer', 'pay');
  await agent.came(() => texts('payer').some((text) => text.includes('"euros":50')));
  assert.deepEqual(texts('payer', 'effect'), ['paid 5']);
  await agent.killAndStart();
  assert.equal((await agent.workspace('payer'))!.approvals[0]!.id, '1.2');
  assert.equal(await agent.command('approve', 'payer', '9.9'), 'There is no pending approval "9.9".');
  assert.equal(await agent.command('approve', 'payer', '1.2'), 'Approved: pay.');
  await agent.came(() => texts('payer').some((text) => text.includes('"euros":70')));
  assert.equal(await agent.command('deny', 'payer'), 'Denied: pay.');
  const { messages, approvals } = await agent.idle('payer');
  assert.deepEqual(texts('payer', 'effect'), ['paid 5', 'paid 50']);
  assert.deepEqual(
    messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
    ['paid', 'paid', 'Error: The user did not approve this call.'],
  );
  assert.deepEqual(approvals, []);
});
