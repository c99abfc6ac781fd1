// Who may call the MCP endpoint of an agent, by its configuration.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

/** Not by its types: they bring the globals of workers into all of the repository. */
const { createAgent } = (await import(
  pathToFileURL(join(import.meta.dirname, '../../../../../packages/agent/index.ts')).href
)) as { createAgent(config: object): { fetch(request: Request, env: object): Promise<Response> } };

const bindings = {
  AI: {},
  PLATFORM_AGENT_STATE: {},
  PLATFORM_AGENT_FILES: {},
  PLATFORM_AGENT_WORKFLOW: {},
  PLATFORM_AGENT_SCHEDULER: {},
};

async function statusOf(
  mcpServer: object | boolean | undefined,
  vars: Record<string, string>,
  authorization: string,
  path = '/mcp',
): Promise<number> {
  const { fetch } = createAgent({
    systemPrompt: '',
    handle: () => new Response(null, { status: 204 }),
    ...(mcpServer !== undefined && { mcpServer }),
  });
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  };
  return (await fetch(new Request(`http://x${path}`, init), { ...bindings, vars })).status;
}

test('without a token of 16 characters nobody is let in, and without mcpServer the path is the author’s', async () => {
  assert.equal(await statusOf(true, {}, 'Bearer '), 401);
  assert.equal(await statusOf(true, { AGENT_MCP_TOKEN: 'short' }, 'Bearer short'), 401);
  assert.equal(await statusOf(true, { AGENT_MCP_TOKEN: '0123456789abcdef' }, 'Bearer 0123456789abcdef'), 200);
  assert.equal(await statusOf(undefined, {}, ''), 204);
  assert.equal(await statusOf(false, {}, ''), 204);
});

test('a function of the author says who calls, at a path of its own', async () => {
  const mcpServer = {
    path: '/tools',
    authenticate: (request: Request) => (request.headers.get('authorization') === 'mine' ? 'ada' : null),
  };
  assert.equal(await statusOf(mcpServer, {}, 'mine', '/tools'), 200);
  assert.equal(await statusOf(mcpServer, {}, 'yours', '/tools'), 401);
  assert.equal(
    await statusOf(mcpServer, { AGENT_MCP_TOKEN: '0123456789abcdef' }, 'Bearer 0123456789abcdef', '/tools'),
    401,
  );
  assert.equal(await statusOf(mcpServer, {}, 'mine', '/mcp'), 204);
});

test('a tool that is named and cannot be served fails the deployment', () => {
  const pay = { name: 'pay', description: '', parameters: { type: 'object' }, approval: true, execute: () => '' };
  const make = (tools: string[]) => () =>
    createAgent({ systemPrompt: '', handle: () => new Response(), tools: [pay], mcpServer: { tools } });
  assert.throws(make(['pay']), /^TypeError: mcpServer\.tools: pay is not one of your tools without approval$/);
  assert.throws(make(['none']), /none is not one of your tools/);
});
