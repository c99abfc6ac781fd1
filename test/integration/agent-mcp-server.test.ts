// An agent as a server of the Model Context Protocol: the clients of both eras, and who is let in.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startAgent, type TestAgent } from '#test/setup/agent.ts';
import { loadPackage } from '#test/setup/mcp-servers.ts';
import { skipPackages } from '#test/setup/packages.ts';

const token = 'a-token-of-a-test-0123456789';
const options = { skip: skipPackages };
const headers = { authorization: `Bearer ${token}` };
let agent: TestAgent;
let url: URL;

before(async () => {
  const tools = `
    tools: [
      defineTool({ name: 'add', description: 'Adds', parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
        execute: ({ a, b }, ctx) => a + b + ' for ' + ctx.userId }),
      { name: 'pay', description: 'Pays', parameters: { type: 'object' }, approval: true, execute: () => 'paid' },
      { name: 'fails', description: 'Throws', parameters: { type: 'object' }, execute: () => { throw new Error('no such thing'); } },
      { name: 'hangs', description: 'Never returns', parameters: { type: 'object' }, timeoutMs: 50, execute: () => new Promise(() => {}) },
    ],
    mcpServer: true,
  `;
  agent = await startAgent(tools, { AGENT_MCP_TOKEN: token });
  url = new URL(`http://127.0.0.1:${agent.dev.port}/mcp`);
});
after(() => agent.close());

interface Client {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: object): Promise<{ content: { text: string }[]; isError?: boolean }>;
  close(): Promise<void>;
}

/** A client of the package of each era, connected. */
async function connect(kind: 'sdk' | 'client' | 'auto'): Promise<Client> {
  const [sdk, transport] =
    kind === 'sdk'
      ? ['@modelcontextprotocol/sdk/client/index.js', '@modelcontextprotocol/sdk/client/streamableHttp.js']
      : ['@modelcontextprotocol/client', '@modelcontextprotocol/client'];
  const { Client } = await loadPackage(sdk);
  const { StreamableHTTPClientTransport } = await loadPackage(transport);
  const made = new Client(
    { name: 'test', version: '1' },
    kind === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {},
  );
  await made.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return made;
}

for (const kind of ['sdk', 'client', 'auto'] as const)
  test(`a client (${kind}) lists and calls tools, and talks with the agent`, options, async () => {
    const client = await connect(kind);
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['ask_agent', 'get_answer', 'add', 'fails', 'hangs'],
    );
    const call = async (name: string, args: object): Promise<[string, boolean | undefined]> => {
      const { content, isError } = await client.callTool({ name, arguments: args });
      return [content[0]!.text, isError];
    };
    assert.deepEqual(await call('add', { a: 1, b: 2 }), ['3 for mcp', undefined]);
    assert.deepEqual(await call('add', { a: 'x', b: 2 }), ['Invalid arguments: a is not a number', true]);
    assert.deepEqual(await call('fails', {}), ['no such thing', true]);
    assert.deepEqual(await call('hangs', {}), ['The tool hangs did not end within 50 ms', true]);
    agent.script('mcp', ({ messages }) => `to ${messages.at(-1)!.content}`);
    assert.deepEqual(await call('ask_agent', { message: `hello ${kind}` }), [`to hello ${kind}`, undefined]);
    await assert.rejects(client.callTool({ name: 'pay', arguments: {} }), /There is no tool "pay"/);
    await client.close();
  });

test('two messages at once are answered each by its own answer', options, async () => {
  agent.script('mcp', ({ messages }) => `to ${messages.at(-1)!.content}`);
  const client = await connect('auto');
  const said = await Promise.all(
    ['one', 'two', 'three'].map((message) => client.callTool({ name: 'ask_agent', arguments: { message } })),
  );
  assert.deepEqual(
    said.map(({ content }) => content[0]!.text),
    ['to one', 'to two', 'to three'],
  );
  const nothing = await client.callTool({ name: 'get_answer', arguments: { messageId: 'x' } });
  assert.deepEqual([nothing.content[0]!.text, nothing.isError], ['There is no reply to the message x', true]);
  await client.close();
});

test('a call of a tool that waits for approval is told to whoever waits for the answer', options, async () => {
  const client = await connect('auto');
  await agent.command('reset', 'mcp', 'mcp');
  const before = agent.requests('mcp').length;
  agent.script('mcp', (_request, count) => (count === before ? { calls: [['pay', {}]] } : 'paid it'));
  const { content } = await client.callTool({ name: 'ask_agent', arguments: { message: 'pay' } });
  assert.match(content[0]!.text, /^The user has to approve a call of pay first\. Call get_answer with messageId "/);
  const [, messageId] = /messageId "([^"]+)"/.exec(content[0]!.text)!;
  assert.equal(await agent.command('approve', 'mcp'), 'Approved: pay.');
  let last = content[0]!.text;
  // The word of the user and the run that goes on are two things: the question may stand a moment longer.
  while (last.startsWith('The user has to')) {
    const answered = await client.callTool({ name: 'get_answer', arguments: { messageId } });
    last = answered.content[0]!.text;
  }
  assert.equal(last, 'paid it');
  await client.close();
});

test('an agent installs itself as a server', async () => {
  const reply = await agent.command('installMcp', 'self', 'self', url.href, { headers });
  assert.equal(reply, 'Installed agent with tools: ask_agent, get_answer, add, fails, hangs');
});

const post = (body: unknown, more: Record<string, string> = {}): ReturnType<TestAgent['dev']['fetch']> =>
  agent.dev.fetch('/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers, ...more },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

test('nobody without the token is let in, and what is no request is refused', async () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  for (const authorization of ['', 'Bearer', 'Bearer wrong', `Basic ${token}`, `Bearer ${token}x`]) {
    const refused = await post(list, { authorization });
    assert.deepEqual([refused.status, refused.headers['www-authenticate']], [401, 'Bearer'], authorization);
  }
  const envelope = (version: unknown): object => ({ _meta: { 'io.modelcontextprotocol/protocolVersion': version } });
  const stateless = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  for (const [status, code, body, more] of [
    [400, -32700, '{', {}],
    [400, -32600, '[]', {}],
    [400, -32600, { jsonrpc: '2.0', id: {}, method: 'x' }, {}],
    [413, -32600, `"${'x'.repeat(1_000_001)}"`, {}],
    [415, -32600, list, { 'content-type': 'text/plain' }],
    [200, -32601, { jsonrpc: '2.0', id: 1, method: 'x' }, {}],
    [400, -32022, list, { 'mcp-protocol-version': '1999-01-01' }],
    [400, -32602, list, { 'mcp-protocol-version': '2026-07-28' }],
    [400, -32022, { ...list, params: envelope('2030-01-01') }, stateless],
    [400, -32020, { ...list, params: envelope('2026-07-28') }, { ...stateless, 'mcp-method': 'tools/call' }],
    [404, -32601, { ...list, method: 'x', params: envelope('2026-07-28') }, { ...stateless, 'mcp-method': 'x' }],
  ] as const) {
    const refused = await post(body, more as Record<string, string>);
    const { error } = refused.json() as { error: { code: number } };
    assert.deepEqual([refused.status, error.code], [status, code], JSON.stringify([body, more]).slice(0, 200));
  }
  assert.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202);
  assert.equal((await agent.dev.fetch('/mcp', { headers })).status, 405);
});
