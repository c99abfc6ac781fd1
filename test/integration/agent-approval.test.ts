// packages/agent in `platform dev`: approval of calls across a restart, streams of partials, compression, servers with
// a manifest.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { startAgent, type TestAgent } from '#test/setup/agent.ts';

let agent: TestAgent;

before(async () => {
  agent = await startAgent(`
    streaming: { enabled: true, throttleMs: 0 },
    contextCompression: { enabled: true, maxTokens: 400, preserveRecentMessages: 2 },
    tools: [
      defineTool({
        name: 'pay', description: 'Pays',
        parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
        approval: ({ euros }) => euros > 10,
        execute: async ({ euros }, ctx) => { await effect(ctx.chatId, 'paid ' + euros, ctx.idempotencyKey); return 'paid'; },
      }),
    ],
  `);
});
after(() => agent.close());

const texts = (userId: string, kind?: 'message' | 'effect'): string[] =>
  agent.posted(userId, kind).map(({ text }) => text);

test('a call waits for approval across a restart, and is made once', async () => {
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
  await agent.dev.close();
  await agent.start();
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

test('partials grow to the answer, and the last one says so', async () => {
  agent.script('stream', () => 'one two three');
  const { runId } = await agent.say('stream', 'go');
  await agent.idle('stream');
  const partials = agent.posted('stream', 'partial').map(({ text }) => JSON.parse(text) as Record<string, unknown>);
  assert.deepEqual(partials.at(-1), { key: `${runId}:1`, text: 'one two three', delta: '', step: 1, isFinal: true });
  assert.equal(partials.map(({ delta }) => delta).join(''), 'one two three');
  assert.deepEqual(texts('stream'), ['one two three']);
});

test('a long conversation is summarised, and the summary goes with the next prompts', async () => {
  agent.script('summary', () => 'they like long words');
  agent.script('talker', () => 'words'.repeat(100));
  for (const text of ['a', 'b', 'c', 'd', 'e']) {
    await agent.say('talker', text);
    await agent.idle('talker');
  }
  const workspace = await agent.idle('talker');
  assert.equal(workspace.conversationSummary, 'they like long words');
  assert.ok(workspace.messages.length < 10 && workspace.messages[0]!.role === 'user');
  assert.match(agent.requests('talker').at(-1)!.messages[0]!.content!, /they like long words$/);
});

test('tools of a server with a manifest are there by two names', async () => {
  const calls: string[] = [];
  const manifest = { name: 'maths', tools: [{ name: 'sum', description: 'Adds', parameters: { type: 'object' } }] };
  const server = createServer(async (request, response) => {
    calls.push(`${request.method} ${request.url} ${await textOf(request)}`);
    if (request.url === '/away/manifest') response.writeHead(302, { location: 'http://localhost:1/manifest' }).end();
    else if (request.url === '/none/manifest') response.writeHead(404).end();
    else if (request.method === 'GET') response.end(JSON.stringify(manifest));
    else response.end(JSON.stringify({ content: [{ type: 'text', text: '3' }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    assert.equal(await agent.command('installMcp', 'mcp', 'mcp', `${url}/`), 'Installed maths with tools: sum');
    assert.match(
      await agent.command('installMcp', 'mcp', 'mcp', `${url}/away`),
      /no server of the Model|neither a manifest/,
    );
    assert.match(await agent.command('installMcp', 'mcp', 'mcp', `${url}/none`), /neither a manifest/);
    assert.match(await agent.command('listTools', 'mcp'), /\nMCP \(maths\): sum$/);
    agent.script('mcp', (_request, count) =>
      count === 0
        ? {
            calls: [
              ['mcp__maths__sum', { a: 1 }],
              ['mcp_call_tool', { server: 'maths', tool: 'sum', arguments: { a: 2 } }],
              ['mcp_call_tool', { server: 'maths', tool: 'no' }],
            ],
          }
        : 'ok',
    );
    await agent.say('mcp', 'go');
    const { messages } = await agent.idle('mcp');
    assert.deepEqual(
      messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
      ['3', '3', 'Error: The MCP server "maths" has no tool "no"'],
    );
    assert.deepEqual(calls.slice(-2), [
      'POST /tools/sum {"arguments":{"a":1}}',
      'POST /tools/sum {"arguments":{"a":2}}',
    ]);
    const offered = agent.requests('mcp')[0]!.tools!.map((tool) => tool.function.name);
    assert.ok(offered.includes('mcp__maths__sum') && offered.includes('mcp_call_tool'));
    assert.equal(await agent.command('uninstallMcp', 'mcp', 'maths'), 'Uninstalled maths.');
  } finally {
    server.close();
  }
});
