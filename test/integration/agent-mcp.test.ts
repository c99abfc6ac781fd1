// MCP servers that an agent installs, in `platform dev`: real ones of both eras of the protocol, and such as vanish,
// redirect, or offer 10,000 tools.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startAgent, type TestAgent } from '#test/setup/agent.ts';
import { startMcpServers, type McpServers } from '#test/setup/mcp-servers.ts';
import { skipPackages } from '#test/setup/packages.ts';

const options = { skip: skipPackages };
let agent: TestAgent;
let servers: McpServers;

before(async () => {
  if (skipPackages !== false) return;
  servers = await startMcpServers();
  agent = await startAgent();
});
after(async () => {
  await agent?.close();
  await servers?.close();
});

const install = (userId: string, path: string, more: object = {}): Promise<string> =>
  agent.command('installMcp', userId, userId, `${servers.url}${path}`, more);

/** What the tools return to a user's model, in the order of the calls. */
async function resultsOf(userId: string, calls: [string, unknown][]): Promise<string[]> {
  agent.script(userId, (_request, count) => (count % 2 === 0 ? { calls } : 'ok'));
  await agent.say(userId, 'go');
  const { messages } = await agent.idle(userId);
  const { tool_calls: last } = messages.findLast((one) => one.role === 'assistant' && one.tool_calls) as never;
  return messages
    .filter(({ role }) => role === 'tool')
    .slice(-(last as unknown[]).length)
    .map(({ content }) => content!);
}

const installed = async (userId: string): Promise<Record<string, unknown>> =>
  (await agent.workspace(userId))!.mcpServers[0] as never;

for (const [path, name, version] of [
  ['/sdk', 'the-first', '2025-11-25'],
  ['/stateless', 'two', '2026-07-28'],
  ['/both', 'two', '2026-07-28'],
] as const)
  test(`the tools of ${path} are called in version ${version}`, options, async () => {
    const user = `user${path}`;
    assert.equal(await install(user, path), `Installed ${name} with tools: add, fails, picture`);
    const { transport, protocolVersion, sessionId } = await installed(user);
    assert.deepEqual([transport, protocolVersion], ['streamable-http', version]);
    assert.equal(typeof sessionId, path === '/sdk' ? 'string' : 'undefined');
    const results = await resultsOf(user, [
      [`mcp__${name}__add`, { a: 2, b: 3 }],
      ['mcp_call_tool', { server: name, tool: 'add', arguments: { a: 4, b: 5 } }],
      [`mcp__${name}__fails`, {}],
      [`mcp__${name}__picture`, {}],
    ]);
    assert.deepEqual(results, ['5', '9', 'Error: no such thing', '[image image/png]']);
    const wrong = await resultsOf(user, [[`mcp__${name}__add`, { a: 'x' }]]);
    assert.match(wrong[0]!, /^Error: .*[Ii]nvalid/s);
    const offered = agent.requests(user)[0]!.tools!.find((tool) => tool.function.name === `mcp__${name}__add`);
    assert.deepEqual((offered!.function.parameters as { required: unknown }).required, ['a', 'b']);
  });

test(
  'requests of the stateless era carry their headers, and the headers of the user go with all',
  options,
  async () => {
    const headers = { authorization: 'Bearer very-secret' };
    const before = servers.asked.length;
    await install('headers', '/stateless', { headers });
    assert.deepEqual(await resultsOf('headers', [['mcp__two__add', { a: 1, b: 1 }]]), ['2']);
    const asked = servers.asked.slice(before);
    assert.deepEqual(
      asked.map((one) => [one.path, one.headers.get('mcp-method'), one.headers.get('mcp-name')]),
      [
        ['/stateless/manifest', null, null],
        ['/stateless', 'server/discover', null],
        ['/stateless', 'tools/list', null],
        ['/stateless', 'tools/call', 'add'],
      ],
    );
    assert.deepEqual([...new Set(asked.map((one) => one.headers.get('authorization')))], ['Bearer very-secret']);
    const shown = await agent.dev.fetch('/masked', { method: 'POST', body: '{"userId":"headers"}' });
    assert.match(shown.text, /"authorization":"\[SECRET\]"/);
    assert.equal(shown.text.includes('very-secret'), false);
    assert.equal(
      await install('headers', '/stateless', { headers: { 'Mcp-Name': 'x' } }),
      'Not installed: The header Mcp-Name cannot be set',
    );
  },
);

test('a session that the server forgot is begun again, once', options, async () => {
  await install('forgotten', '/sdk');
  const { sessionId } = await installed('forgotten');
  servers.forgetSessions();
  assert.deepEqual(await resultsOf('forgotten', [['mcp__the-first__add', { a: 1, b: 2 }]]), ['3']);
  const { sessionId: next, lastError } = await installed('forgotten');
  assert.ok(typeof next === 'string' && next !== sessionId && lastError === undefined);
  const before = servers.asked.length;
  servers.serve('/forgets', (request) =>
    request.headers.has('mcp-session-id')
      ? new Response(null, { status: 404 })
      : Response.json({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no' } }, { status: 400 }),
  );
  await agent.dev.fetch('/move-mcp', {
    method: 'POST',
    body: JSON.stringify({ userId: 'forgotten', url: `${servers.url}/forgets` }),
  });
  assert.deepEqual(await resultsOf('forgotten', [['mcp__the-first__add', { a: 1, b: 2 }]]), [
    `Error: ${servers.url}/forgets: no`,
  ]);
  assert.deepEqual(
    servers.asked.slice(before).map(({ body }) => body!.method),
    ['tools/call', 'initialize'],
  );
});

test('a server that is gone is told to the model and remembered until it answers again', options, async () => {
  servers.serve('/leaves', (request) => answerOf('/stateless', request));
  await install('leaves', '/leaves');
  servers.serve('/leaves', null);
  const gone = `${servers.url}/leaves answered 404`;
  assert.deepEqual(await resultsOf('leaves', [['mcp__two__add', { a: 1, b: 2 }]]), [`Error: ${gone}`]);
  assert.equal((await installed('leaves'))['lastError'], gone);
  servers.serve('/leaves', (request) => answerOf('/stateless', request));
  assert.deepEqual(await resultsOf('leaves', [['mcp__two__add', { a: 1, b: 2 }]]), ['3']);
  assert.equal((await installed('leaves'))['lastError'], undefined);
});

test('redirects are not followed, and private addresses not reached', options, async () => {
  const before = servers.asked.length;
  const away = (): Response => new Response(null, { status: 307, headers: { location: `${servers.url}/stateless` } });
  servers.serve('/away', away);
  assert.match(
    await install('away', '/away'),
    /^Not installed: .*\/away answers with a redirect, which is not followed$/,
  );
  assert.deepEqual(
    servers.asked.slice(before).map(({ path }) => path),
    ['/away/manifest', '/away'],
  );
  servers.serve('/turns', (request) => answerOf('/stateless', request));
  await install('away', '/turns');
  servers.serve('/turns', () => new Response(null, { status: 302, headers: { location: 'http://169.254.169.254/' } }));
  const [result] = await resultsOf('away', [['mcp__two__add', { a: 1, b: 2 }]]);
  assert.match(result!, /^Error: .*\/turns answers with a redirect, which is not followed$/);
  for (const address of ['http://169.254.169.254/mcp', 'http://10.0.0.1/mcp'])
    assert.match(await agent.command('installMcp', 'away', 'away', address), /^Not installed: .* are not allowed$/);
});

test('of 10,000 tools 128 are used, with descriptions cut and names checked', options, async () => {
  const tool = (at: number): object => ({
    name: at === 3 ? 'a b' : `tool_${at}`,
    description: 'd'.repeat(at === 0 ? 5000 : 10),
    inputSchema: at === 5 ? { type: 'object', description: 's'.repeat(20_000) } : { type: 'object' },
  });
  const tools = Array.from({ length: 10_000 }, (_, at) => tool(at));
  servers.serve('/many', async (request) => {
    const { id, method } = (await request.json()) as { id: string; method: string };
    const result = method === 'tools/list' ? { tools } : { supportedVersions: ['2026-07-28'], capabilities: {} };
    return Response.json({ jsonrpc: '2.0', id, result });
  });
  const reply = await install('many', '/many');
  assert.match(reply, /^Installed 127\.0\.0\.1-\d+ with tools: tool_0, .*tool_129 \(9872 more are left out\)$/);
  const { tools: kept } = (await agent.workspace('many'))!.mcpServers[0]!;
  assert.equal(kept.length, 128);
  assert.equal(kept[0]!.description.length, 1024);
  assert.deepEqual(
    kept.filter(({ name }) => ['a b', 'tool_5'].includes(name)),
    [],
  );
});

test('what is no server of the protocol is refused by what it answered', options, async () => {
  servers.serve('/page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } }));
  assert.match(await install('page', '/page'), /is neither a manifest nor a server of the Model Context Protocol$/);
  assert.match(await install('page', '/nothing'), /\/nothing answered 404$/);
  servers.serve('/locked', () => new Response(null, { status: 401 }));
  assert.match(await install('page', '/locked'), /answered 401: it wants credentials, as headers of installMcp$/);
  assert.match(await agent.command('installMcp', 'page', 'page', 'http://127.0.0.1:1/'), /does not answer: /);
});

const answerOf = async (path: string, request: Request): Promise<Response> =>
  fetch(`${servers.url}${path}`, { method: request.method, headers: request.headers, body: await request.text() });
