// The inspector of the Model Context Protocol, as its users start it, with an agent that is a server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startAgentProcess, type TestAgent } from '#test/setup/agent.ts';
import { skipPackages } from '#test/setup/packages.ts';

const token = 'a-token-of-a-test-0123456789';
const options = { skip: skipPackages };
let agent: TestAgent;
let url: URL;

before(async () => {
  const tools = `
    tools: [
      defineTool({ name: 'add', description: 'Adds', parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
        execute: ({ a, b }, ctx) => a + b + ' for ' + ctx.userId }),
    ],
    mcpServer: true,
  `;
  agent = await startAgentProcess(tools, { AGENT_MCP_TOKEN: token });
  url = new URL(`http://127.0.0.1:${agent.dev.port}/mcp`);
});
after(() => agent.close());

test('the inspector lists tools and calls one', options, async () => {
  const inspector = join(import.meta.dirname, '../packages/node_modules/.bin/mcp-inspector');
  const run = async (...args: string[]): Promise<any> => {
    const flags = ['--cli', url.href, '--transport', 'http', '--header', `authorization: Bearer ${token}`, ...args];
    const { stdout } = await promisify(execFile)(process.execPath, [inspector, ...flags]);
    return JSON.parse(stdout);
  };
  const { tools } = await run('--method', 'tools/list');
  assert.ok(tools.some(({ name }: { name: string }) => name === 'add'));
  const called = await run('--method', 'tools/call', '--tool-name', 'add', '--tool-arg', 'a=2', 'b=3');
  assert.equal(called.content[0].text, '5 for mcp');
});
