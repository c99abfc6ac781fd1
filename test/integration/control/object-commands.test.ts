// What the commands of `platform objects` show and change, over the API with real stores.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startUser, type TestUser } from '#test/setup/user.ts';

let user: TestUser;
before(async () => {
  user = await startUser({
    'platform.yaml': 'name: shop\nobject: { ROOM: Room }\n',
    'src/index.ts': `
export class Room {
  constructor(ctx) {
    this.ctx = ctx;
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS line (id INTEGER PRIMARY KEY, text TEXT)');
  }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  async say(text) {
    this.ctx.storage.sql.exec('INSERT INTO line (text) VALUES (?)', text);
    this.ctx.storage.put('last', text);
  }
}
export default {
  async fetch(request, env) {
    const name = new URL(request.url).pathname.slice(1);
    if (request.headers.get('upgrade') === 'websocket') return env.ROOM.getByName(name).fetch(request);
    await env.ROOM.getByName(name).say('hello');
    return new Response('said');
  },
};
`,
  });
});
after(() => user.close());

test('objects are listed, shown, asked with SQL, reset and deleted', async () => {
  assert.deepEqual(await user.ok('objects'), []);
  await user.all.platform.fetch('shop', '/lobby');
  const [line] = await user.ok('objects', 'list', 'ROOM');
  assert.match(line!, /^[0-9a-f]{64}\tlobby\t\d+\t\d{4}-\d\d-\d\dT[\d:.]+Z\t-\tyes\t0$/);
  const [listed] = await user.ok('objects', 'list', '--json');
  assert.equal((JSON.parse(listed!) as { objects: { name: string }[] }).objects[0]!.name, 'lobby');
  const shown = await user.ok('objects', 'get', 'lobby');
  assert.match(shown[0]!, /^lobby {2}[0-9a-f]{64}$/);
  assert.equal(shown[2], 'last\t"hello"\t7');
  const [json] = await user.ok('objects', 'get', line!.slice(0, 64), '--json');
  assert.deepEqual(
    (JSON.parse(json!) as { values: { key: string }[] }).values.map(({ key }) => key),
    ['last'],
  );
  assert.deepEqual(await user.ok('objects', 'sql', 'lobby', 'SELECT text FROM line'), ['hello']);
  const refused = await user.call(['objects', 'sql', 'lobby', 'DELETE FROM line']);
  assert.deepEqual([refused.code, /writes/.test(refused.errors[0]!)], [1, true]);
  assert.deepEqual(await user.ok('objects', 'sql', 'lobby', 'DELETE FROM line RETURNING text', '--write'), ['hello']);
  assert.deepEqual(await user.ok('objects', 'reset', 'lobby'), ['Reset lobby: its next event makes a new instance']);
  assert.deepEqual(await user.ok('objects', 'reset', 'lobby', '-c', 'Room'), ['lobby is not in memory']);
  assert.equal((await user.call(['objects', 'delete', 'lobby'])).code, 2);
  assert.deepEqual(await user.ok('objects', 'rm', 'lobby', '-y'), ['Deleted lobby']);
  const gone = await user.call(['objects', 'get', 'lobby']);
  assert.deepEqual(
    [gone.code, gone.errors[0]],
    [1, 'error ROOM has no object lobby\n`platform objects list` lists the objects.'],
  );
  const unknown = await user.call(['objects', 'list', 'ROMO']);
  assert.deepEqual(
    [unknown.code, unknown.errors[0]],
    [2, 'error shop has no object binding "ROMO". Did you mean ROOM?\nChoose one of ROOM.'],
  );
});

test('members of other organizations see nothing, and changes are in the audit log', async () => {
  await user.all.platform.fetch('shop', '/hall');
  const stranger = await user.all.control.account('eve', {});
  const denied = await user.call(['objects', 'list'], {}, stranger.token);
  assert.match(denied.errors[0]!, /not_found|no project|No project|access/);
  await user.ok('objects', 'sql', 'hall', "UPDATE line SET text = 'hunter2'", '-w');
  await user.ok('objects', 'delete', 'hall', '-y');
  const rows = await user.all.control.sql<{ action: string; subject_id: string; details: Record<string, unknown> }[]>`
    SELECT action, subject_id, details FROM control.audit_event WHERE action LIKE 'data.object.%'
    ORDER BY seq DESC LIMIT 2`;
  assert.deepEqual(
    rows.map(({ action, subject_id: binding, details: { accountId: _by, ...details } }) => [action, binding, details]),
    [
      ['data.object.delete', 'ROOM', { target: 'production', name: 'hall' }],
      ['data.object.sql', 'ROOM', { target: 'production', statement: 'UPDATE line SET text = ?', name: 'hall' }],
    ],
  );
});
