// Arguments that go into headers of MCP requests as well.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paramHeaders } from '#packages/agent/mcp/param-headers.ts';

const schema = {
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    inner: { properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
    bad: { type: 'string', 'x-mcp-header': 'a b' },
    other: { type: 'string' },
  },
};

test('arguments of declared headers are sent, whatever is in them', () => {
  const args = { region: 'eu', inner: { count: 3 }, bad: 'x', other: 'y' };
  assert.deepEqual(paramHeaders(schema, args), { 'mcp-param-region': 'eu', 'mcp-param-count': '3' });
  assert.deepEqual(paramHeaders(schema, { region: 'Zürich\r\nx: y' }), {
    'mcp-param-region': `=?base64?${Buffer.from('Zürich\r\nx: y').toString('base64')}?=`,
  });
  assert.deepEqual(paramHeaders(schema, { region: null, inner: 'x' }), {});
  assert.deepEqual(paramHeaders(undefined, { region: 'eu' }), {});
});
