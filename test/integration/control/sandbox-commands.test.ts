// What commands do with the sandboxes of a deployment over the API: commands and terminals in them, files, snapshots,
// ports.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { run } from '#cli/main.ts';
import { findProcess } from '#test/contract/sandbox-asker.ts';
import { until } from '#test/setup/until.ts';
import { startUser, type TestUser } from '#test/setup/user.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

let user: TestUser;
before(async () => {
  user = await startUser(
    {
      'platform.yaml': 'name: shop\nsandbox: { BOX: boxes }\n',
      'src/index.ts': 'export default { fetch: () => new Response() };\n',
    },
    { stores: false },
  );
});
after(() => user.close());

const file: TestUser['file'] = (...given) => user.file(...given);
const call: TestUser['call'] = (...given) => user.call(...given);
const ok: TestUser['ok'] = (...words) => user.ok(...words);

test('a command runs in a sandbox, is heard while it runs, and gives its exit code on', async () => {
  assert.deepEqual(await ok('sandbox'), []);
  const run = await call(['sandbox', 'exec', 'user-1', 'echo out; echo err >&2; exit 3']);
  const text = (parts: readonly Uint8Array[]): string => Buffer.concat(parts).toString();
  assert.deepEqual([run.code, text(run.written), text(run.writtenErrors)], [3, 'out\n', 'err\n']);
  const list = await call(['sandbox', 'exec', 'user-1', '--', 'printf', '%s', '$HOME;', '--flag']);
  assert.equal(text(list.written), '$HOME;--flag');
  file('box.env', 'GREETING=hello there\n');
  const given = ['sandbox', 'exec', 'user-1', '--stdin', '--env-file', 'box.env', '--json', 'echo "$GREETING"; cat'];
  const { durationMs, ...result } = JSON.parse((await call(given, { input: 'typed' })).output[0]!);
  assert.ok(durationMs >= 0);
  assert.deepEqual(result, { stdout: 'hello there\ntyped', stderr: '', exitCode: 0, success: true, timedOut: false });
  const late = await call(['sandbox', 'exec', 'user-1', '--timeout', '1', 'sleep 30']);
  assert.deepEqual([late.code, late.errors], [124, ['The command timed out after 1 s (--timeout)']]);
  for (const words of [
    ['exec', '../x', 'true'],
    ['exec', 'user-1'],
    ['exec', 'user-1', '--timeout', '601', 'true'],
    ['exec', 'user-1', '--env-file', 'none', 'true'],
    ['exec', 'user-1', '--binding', 'BOKS', 'true'],
    ['write', 'user-1', 'a', 'box.env', '--mode', '999'],
  ])
    assert.equal((await call(['sandbox', ...words])).code, 2, words.join(' '));
});

test('a command in a sandbox ends with Ctrl-C', async () => {
  const shell = recordingShell(user.folder, user.environment);
  const running = run(['sandbox', 'exec', 'user-1', 'echo $$ > pid; echo here; sleep 60'], shell);
  await until(() => shell.written.length > 0);
  shell.stop();
  assert.equal(await running, 130);
  const isGone = async (): Promise<boolean> =>
    (await call(['sandbox', 'exec', 'user-1', 'kill -0 "$(cat pid)" 2> /dev/null'])).code === 1;
  await until(isGone);
});

test('a terminal in a sandbox takes what is typed, shows what is printed, and gives the exit code on', async () => {
  const text = (parts: readonly Uint8Array[]): string => Buffer.concat(parts).toString();
  const piped = await call(['sandbox', 'shell', 'user-1', 'cat; stty size; exit 5'], { input: 'typed\n' });
  assert.deepEqual([piped.code, text(piped.written), piped.errors], [5, 'typed\r\ntyped\r\n24 80\r\n', []]);
  const shown = await call(['sandbox', 'shell', 'user-1'], { isTerminal: true, input: 'stty size; exit 3\r' });
  assert.equal(shown.code, 3);
  assert.match(text(shown.written), /30 100\r\n/);
  const program = ['--cwd', '.', '--', 'sh', '-c', 'echo "$0"; kill -9 $$', 'a b'];
  const words = await call(['sandbox', 'shell', 'user-1', ...program]);
  assert.deepEqual([words.code, text(words.written)], [137, 'a b\r\n']);
  assert.match((await call(['sandbox', 'shell', 'user-1', '--cwd', 'none'])).errors[0]!, /none \(file_not_found/);
  assert.equal((await call(['sandbox', 'shell', '../x'])).code, 2);
  const read = await user.all.control.account('sid', { [user.all.control.organizationId]: 'member' }, 'read');
  assert.match((await call(['sandbox', 'shell', 'user-1'], {}, read.token)).errors[0]!, /data:write \(forbidden/);
});

test('what is no message of a terminal ends its socket with the reason, and its program', async () => {
  const { body } = await user.all.control.call('GET', `/orgs/${user.all.control.organizationId}/projects`);
  const [project] = (body as { items: { id: string }[] }).items;
  const at = `/projects/${project!.id}/sandboxes/BOX/user-1/terminal`;
  const headers = { authorization: `Bearer ${user.all.control.owner.token}` };
  const said = (messages: readonly (string | Buffer)[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${user.port}${at}`, { headers });
      let last = '';
      socket.on('message', (data, isBinary) => void (isBinary || (last = (data as Buffer).toString())));
      socket.on('open', () => messages.forEach((message) => socket.send(message))).on('error', reject);
      socket.on('close', (code) => resolve(`${code} ${last}`));
    });
  const start = JSON.stringify({ start: { command: 'exec sleep 4811' } });
  assert.match(await said(['no']), /^1008 \{"error":\{"code":"bad_request","message":"A text must be a JSON object/);
  assert.match(await said([Buffer.from('ls\r')]), /^1008 .*A text must be a JSON object/);
  assert.match(await said(['{"start":{"cols":0}}']), /^1008 .*cols must be a whole number from 1 to 1000/);
  assert.match(await said(['{"start":{"command":[]}}']), /^1008 .*must not be an empty list/);
  assert.match(await said([start, '{"resize":[1,1001]}']), /^1008 .*rows must be a whole number from 1 to 1000/);
  assert.match(await said([start, '{"resize":"wide"}']), /^1008 .*A text must be \{\\"resize\\": \[cols, rows\]\}/);
  const isGone = async (): Promise<boolean> =>
    (await call(['sandbox', 'exec', 'user-1', findProcess('sleep 4811')])).code === 1;
  await until(isGone);
  const plain = await fetch(`http://127.0.0.1:${user.port}${at}`, { headers });
  assert.deepEqual([plain.status, ((await plain.json()) as { code: string }).code], [400, 'bad_request']);
});

test('files of a sandbox are written, listed and read; it is shown, suspended and destroyed', async () => {
  file('tool.sh', '#!/bin/sh\necho ran\n');
  assert.deepEqual(await ok('sandbox', 'write', 'user-1', 'bin/tool', 'tool.sh', '--mode', '755'), [
    'Wrote bin/tool of user-1: 19 B',
  ]);
  assert.equal(Buffer.concat((await call(['sandbox', 'exec', 'user-1', 'bin/tool'])).written).toString(), 'ran\n');
  assert.deepEqual(await ok('sandbox', 'ls', 'user-1', 'bin'), ['/workspace/bin/tool\tfile\t19 B']);
  assert.match((await ok('sandbox', 'read', 'user-1', 'bin/tool', '-o', 'back.sh'))[0]!, /^Wrote back\.sh: 19 B$/);
  assert.equal(readFileSync(path.join(user.folder, 'back.sh'), 'utf8'), '#!/bin/sh\necho ran\n');
  const missing = await call(['sandbox', 'read', 'user-1', 'none']);
  assert.match(missing.errors[0]!, /^error user-1 has no file none \(file_not_found\)/);
  assert.deepEqual(await ok('sandbox', 'resume', 'user-1', '--machine', 'large'), ['Resumed user-1']);
  assert.deepEqual(await ok('sandbox', 'suspend', 'user-1'), ['Suspended user-1']);
  const [row] = await ok('sandbox', 'list', '--prefix', 'user');
  assert.deepEqual(row!.split('\t').slice(0, 5), ['user-1', 'BOX', 'suspended', 'large', 'local']);
  assert.equal(JSON.parse((await ok('sandbox', 'info', 'user-1', '--json'))[0]!).state, 'suspended');
  assert.equal((await call(['sandbox', 'destroy', 'user-1'])).code, 2);
  assert.deepEqual(await ok('sandbox', 'destroy', 'user-1', '--yes'), ['Destroyed user-1']);
  const gone = await call(['sandbox', 'info', 'user-1']);
  assert.match(gone.errors[0]!, /^error BOX has no sandbox user-1 /);
});

test('a sandbox is made of what flags say, and says it; an error of the service is shown as it is', async () => {
  const of = async (id: string): Promise<unknown[]> => {
    const { machine, image, egress } = JSON.parse((await ok('sandbox', 'info', id, '--json'))[0]!);
    return [machine, image, egress];
  };
  assert.deepEqual(await ok('sandbox', 'create', 'silent', '--ai', 'off'), ['Running silent']);
  assert.ok((await ok('sandbox', 'info', 'silent')).includes('ai\toff'));
  const asked = await call(['sandbox', 'create', 'silent', '--ai', 'maybe']);
  assert.match(asked.errors[0]!, /^error ai must be true or false, but is "maybe" \(bad_request,/);
  const none = await call(['sandbox', 'create', 'silent', '--ai', 'on']);
  assert.match(
    none.errors[0]!,
    /^error Sandboxes do not support these options: no AI gateway is configured for sandboxes/,
  );
  const flags = ['--machine', 'small', '--image', 'tools:3', '--egress', 'api.example.com, *.npmjs.org'];
  assert.deepEqual(await ok('sandbox', 'create', 'made', ...flags), ['Running made']);
  const allow = ['api.example.com', '*.npmjs.org'];
  assert.deepEqual(await of('made'), ['small', 'tools:3', { mode: 'allow', allow }]);
  const rows = await ok('sandbox', 'info', 'made');
  assert.deepEqual(
    rows.filter((row) => /^(?:machine|image|egress)/.test(row)),
    ['machine\tsmall', 'image\ttools:3', 'egress\tapi.example.com,*.npmjs.org'],
  );
  const ran = await call(['sandbox', 'exec', 'made', '--image', 'operator', '--egress', 'none', 'echo ran']);
  assert.equal(Buffer.concat(ran.written).toString(), 'ran\n');
  assert.deepEqual(await of('made'), ['small', null, { mode: 'none', allow: [] }]);
  assert.deepEqual(await ok('sandbox', 'resume', 'made', '--egress', 'operator'), ['Resumed made']);
  assert.deepEqual(await of('made'), ['small', null, null]);
  const refused = await call(['sandbox', 'create', 'made', '--machine', 'huge']);
  assert.match(
    refused.errors[0]!,
    /^error machine must be one of small, default, large, xlarge, but is "huge" \(bad_request,/,
  );
});

test('a snapshot is taken, listed, begun from and deleted, and a sandbox is forked', async () => {
  file('kept.txt', 'kept');
  await ok('sandbox', 'write', 'base', 'kept.txt', 'kept.txt');
  assert.deepEqual(await ok('sandbox', 'snapshots'), []);
  const [taken] = await ok('sandbox', 'snapshot', 'base', 'one');
  assert.match(taken!, /^Created the snapshot one of base: \d+ B$/);
  assert.match((await call(['sandbox', 'snapshot', 'base', 'one'])).errors[0]!, /already exists \(sandbox_exists,/);
  const [row] = await ok('sandbox', 'snapshots');
  assert.deepEqual(row!.split('\t').slice(0, 2), ['one', 'base']);
  const read = async (id: string): Promise<string> =>
    Buffer.concat((await call(['sandbox', 'exec', id, 'cat kept.txt'])).written).toString();
  assert.deepEqual(await ok('sandbox', 'create', 'begun', '--snapshot', 'one'), ['Running begun']);
  assert.equal(await read('begun'), 'kept');
  assert.deepEqual(await ok('sandbox', 'fork', 'base', 'forked'), ['Forked base as forked']);
  assert.equal(await read('forked'), 'kept');
  assert.equal((await call(['sandbox', 'snapshots', 'rm', 'one'])).code, 2);
  assert.equal((await call(['sandbox', 'snapshots', 'rm', '../x', '--yes'])).code, 2);
  assert.deepEqual(await ok('sandbox', 'snapshots', 'rm', 'one', '--yes'), ['Removed one']);
  assert.deepEqual(await ok('sandbox', 'snapshots', 'list'), []);
});

test('a port of a sandbox is exposed with a token or without, listed, and taken back', async () => {
  const [address] = await ok('sandbox', 'expose', 'base', '8080', '--label', 'preview');
  assert.match(address!, /^https:\/\/port---[a-z2-7]{16}\.apps\.example\.net\/\?token=[\w-]{43}$/);
  assert.deepEqual(await ok('sandbox', 'expose', 'base', '8080', '--label', 'preview'), [address]);
  const [open] = await ok('sandbox', 'expose', 'base', '9090', '--public');
  assert.match(open!, /^https:\/\/port---[a-z2-7]{16}\.apps\.example\.net\/$/);
  assert.deepEqual(await ok('sandbox', 'ports', 'base'), [
    `8080\tpreview\ttoken\t${address!.split('?')[0]}`,
    `9090\t-\tpublic\t${open}`,
  ]);
  for (const port of ['0', '65536', 'x']) assert.equal((await call(['sandbox', 'expose', 'base', port])).code, 2);
  assert.deepEqual(await ok('sandbox', 'unexpose', 'base', '8080'), ['Unexposed 8080 of base']);
  assert.deepEqual(await ok('sandbox', 'ports', 'base'), [`9090\t-\tpublic\t${open}`]);
});
