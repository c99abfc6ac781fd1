import assert from 'node:assert/strict';
import { openHostileServer } from '#test/setup/hostile-server.ts';
import { serverFenceMissing, testsUnless } from '#test/setup/needs.ts';

const { test } = testsUnless(await serverFenceMissing());

const CALL = `
const call = (body, headers) => new Promise((resolve, reject) => {
  const asked = http.request({ socketPath: process.env.PLATFORM_MOCK_SERVER_URL.slice(5), path: '/rpc', method: 'POST', headers }, (answer) => {
    let text = '';
    answer.on('data', (chunk) => (text += chunk)).on('end', () => resolve(answer.statusCode + ' ' + text));
  });
  asked.on('error', reject);
  asked.end(JSON.stringify(body));
});
const authorization = 'Bearer ' + process.env.PLATFORM_MOCK_SERVER_TOKEN;
`;
const GET = `{ binding: 'KV', method: 'get', args: ['key'] }`;

test('a server with a token of another, or a claim to be it, has its own bindings alone', async (t) => {
  const { run } = await openHostileServer(t);
  const set = `${CALL} return call({ binding: 'KV', method: 'set', args: ['key', 'of good'] }, { authorization });`;
  assert.match(String(await run(set, 'good')), /^200/);
  const [token, place] = (await run(
    'return [process.env.PLATFORM_MOCK_SERVER_TOKEN, process.env.PLATFORM_MOCK_SERVER_URL];',
    'good',
  )) as [string, string];
  assert.match(token, /^[0-9a-f]{64}$/);
  // Its own socket does not take another's token, and the other's socket is not there.
  assert.match(String(await run(`${CALL} return call(${GET}, { authorization: 'Bearer ${token}' });`)), /^401/);
  const elsewhere = `process.env.PLATFORM_MOCK_SERVER_URL = ${JSON.stringify(place)};`;
  assert.deepEqual(await run(`${elsewhere} ${CALL} return call(${GET}, { authorization: 'Bearer ${token}' });`), {
    error: 'ENOENT',
  });
});

test('a server that says it is another one is believed only in what it is', async (t) => {
  const { run } = await openHostileServer(t);
  const set = `${CALL} return call({ binding: 'KV', method: 'set', args: ['key', 'of good'] }, { authorization });`;
  assert.match(String(await run(set, 'good')), /^200/);
  const claims = `{ authorization, 'x-platform-server': 'good/anything/0' }`;
  assert.equal(await run(`${CALL} return call(${GET}, ${claims});`), '200 {"result":null}');
  assert.equal(await run(`${CALL} return call(${GET}, { authorization });`, 'good'), '200 {"result":"of good"}');
});
