// Files, servers and clones in a sandbox: part of the contract of backends (sandbox.ts).
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { buffer, text } from 'node:stream/consumers';
import { RESPONSE_HEADER } from '#core/sandbox/operations.ts';
import { freePort } from '#test/setup/free-port.ts';
import type { Asker, Fields } from './sandbox-asker.ts';

/** Sandboxes that are processes of this machine share its ports with other tests. */
const [HTTP_PORT, GIT_PORT] = [await freePort(), await freePort()];

/** Answers git's first question with what it sees of git, and with no. */
const LOOKING_SERVER = `const fs = require('fs');
const secrets = ['s3cret-in-git', Buffer.from('me:s3cret-in-git').toString('base64').replaceAll('=', '')];
require('http').createServer((asked, answer) => {
  const seenIn = [];
  let file = '';
  for (const pid of fs.readdirSync('/proc')) for (const name of ['cmdline', 'environ']) {
    if (!(Number(pid) > 0) || Number(pid) === process.pid) continue;
    let text = '';
    try { text = fs.readFileSync('/proc/' + pid + '/' + name, 'latin1'); } catch {}
    if (secrets.some((secret) => text.includes(secret))) seenIn.push(name + ' ' + text);
    file = /include\\.path=([^\\0]+)/.exec(text)?.[1] ?? file;
  }
  const mode = (fs.statSync(file).mode & 0o777).toString(8);
  fs.writeFileSync('looked.json', JSON.stringify({ header: asked.headers.authorization, seenIn, file, mode }));
  answer.writeHead(404).end();
}).listen(${GIT_PORT}, '127.0.0.1');`;

/** @param box the machine that all of them use. */
export function testFiles(box: () => Asker): void {
  it('writes, reads, moves and deletes files, texts and bytes', async () => {
    await box().write('/workspace/notes/a.txt', 'grüße');
    assert.equal(await box().read('notes/a.txt'), 'grüße');
    const bytes = randomBytes(3_000_000);
    await box().write('notes/b.bin', bytes);
    assert.deepEqual(await buffer(await box().raw('readFile', { path: 'notes/b.bin' })), bytes);
    await box().ask('moveFile', { from: 'notes/a.txt', to: 'other/c.txt' });
    assert.deepEqual(await box().ask('exists', { path: 'notes/a.txt' }), { exists: false });
    assert.deepEqual(await box().ask('exists', { path: 'other/c.txt' }), { exists: true });
    await box().ask('deleteFile', { path: 'other/c.txt' });
    await assert.rejects(box().read('other/c.txt'), {
      code: 'file_not_found',
      message: 'No such file or folder: /workspace/other/c.txt',
    });
    await assert.rejects(box().read('notes'), { code: 'file_type' });
    await assert.rejects(box().write('notes', new Uint8Array(5_000_000)), { code: 'file_type' });
    await assert.rejects(box().ask('deleteFile', { path: 'notes' }), { code: 'file_type' });
    await box().ask('deleteFile', { path: 'notes', recursive: true });
    assert.deepEqual(await box().ask('exists', { path: 'notes' }), { exists: false });
    await assert.rejects(box().ask('deleteFile', { path: '/workspace', recursive: true }), { code: 'file_forbidden' });
  });

  it('keeps the mode of a file that is written again, or sets the one it is told', async () => {
    await box().ask('writeFile', { path: 'run.sh', mode: 0o755 }, Buffer.from('#!/bin/sh\necho one\n'));
    assert.equal((await box().exec('./run.sh')).stdout, 'one\n');
    await box().write('run.sh', '#!/bin/sh\necho two\n');
    assert.equal((await box().exec('./run.sh')).stdout, 'two\n');
  });

  it('lists folders', async () => {
    await box().exec('mkdir -p list/in && echo 12345 > list/a && touch list/in/b list/.hidden && ln -s a list/link');
    assert.deepEqual(await box().ask('listFiles', { path: 'list' }), [
      { name: 'a', path: '/workspace/list/a', type: 'file', size: 6 },
      { name: 'in', path: '/workspace/list/in', type: 'directory' },
      { name: 'link', path: '/workspace/list/link', type: 'symlink' },
    ]);
    const all = await box().ask<{ path: string }[]>('listFiles', {
      path: 'list',
      recursive: true,
      includeHidden: true,
    });
    assert.deepEqual(
      all.map(({ path }) => path.slice('/workspace/list/'.length)),
      ['.hidden', 'a', 'in', 'in/b', 'link'],
    );
    await assert.rejects(box().ask('listFiles', { path: 'nowhere' }), { code: 'file_not_found' });
    await assert.rejects(box().ask('mkdir', { path: 'list' }), { code: 'file_exists' });
  });

  it('says what changes in a folder', async () => {
    await box().exec('mkdir -p seen && echo 1 > seen/old');
    const events = box().events('watch', { path: 'seen', recursive: true });
    const seen: Fields[] = [];
    for await (const event of events) {
      seen.push(event);
      if (event['type'] === 'watching') await box().exec('echo 2 > seen/new');
      else if (event['path'] === '/workspace/seen/new' && event['eventType'] === 'create')
        await box().exec('rm seen/new');
      else if (event['eventType'] === 'delete') break;
    }
    assert.deepEqual(seen[0], { type: 'watching', path: '/workspace/seen' });
    assert.deepEqual(seen.at(-1), {
      type: 'event',
      eventType: 'delete',
      path: '/workspace/seen/new',
      isDirectory: false,
    });
  });

  it('asks servers that listen in the sandbox', async () => {
    const source = `require('http').createServer((q, s) => { let n = 0; q.on('data', (c) => n += c.length).on('end', () => {
      s.writeHead(201, { 'x-seen': q.headers['x-mine'], 'set-cookie': ['a=1', 'b=2'] });
      s.end(q.method + ' ' + q.url + ' ' + n); }); }).listen(${HTTP_PORT}, '127.0.0.1');`;
    await box().write('server.cjs', source);
    const hasNode = (await box().exec('command -v node')).success;
    if (!hasNode) return;
    await box().ask('startProcess', { command: 'exec node server.cjs', processId: 'http' });
    await box().ask('waitForPort', { port: HTTP_PORT, timeoutMs: 60_000 });
    const answer = await box().raw(
      'fetch',
      { port: HTTP_PORT, method: 'POST', path: '/a?b=c', headers: [['x-mine', 'yes']] },
      Buffer.from('12345'),
    );
    const head = JSON.parse(decodeURIComponent(answer.headers[RESPONSE_HEADER] as string)) as {
      status: number;
      headers: [string, string][];
    };
    assert.equal(head.status, 201);
    assert.deepEqual(
      head.headers.filter(([name]) => name === 'x-seen' || name === 'set-cookie'),
      [
        ['x-seen', 'yes'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
    );
    assert.equal(await text(answer), 'POST /a?b=c 5');
    await box().ask('killProcess', { id: 'http' });
    await assert.rejects(box().ask('fetch', { port: HTTP_PORT, method: 'GET', path: '/', headers: [] }), {
      code: 'port_unreachable',
      message: `Port ${HTTP_PORT} of the sandbox cannot be reached: nothing listens there`,
    });
    await assert.rejects(box().ask('waitForPort', { port: HTTP_PORT, timeoutMs: 1 }), { code: 'port_unreachable' });
  });

  it('clones a repository, and keeps no credentials', async () => {
    const hasGit = (await box().exec('command -v git')).success;
    if (!hasGit) return;
    await box().exec(
      'mkdir origin && cd origin && git init -q -b main && echo hi > read.me && git add . && ' +
        'git -c user.name=a -c user.email=a@b commit -qm one',
    );
    const origin = (await box().exec('echo file://$PWD/origin')).stdout.trim();
    await box().ask('gitCheckout', { url: origin, targetDir: 'clone', branch: 'main', depth: 1 });
    assert.equal(await box().read('clone/read.me'), 'hi\n');
    await assert.rejects(box().ask('gitCheckout', { url: 'file:///nowhere/at/all.git' }), { code: 'git_failed' });
    await assert.rejects(box().ask('gitCheckout', { url: 'https://me:s3cret@localhost:1/r.git' }), (error: Error) => {
      assert.match(error.message, /^git could not check out https:\/\/localhost:1\/r.git/);
      assert.doesNotMatch(error.message, /s3cret/);
      return true;
    });
    await assert.rejects(box().ask('gitCheckout', { url: origin, branch: '--upload-pack=x' }), {
      code: 'invalid_argument',
    });
    await assert.rejects(box().ask('gitCheckout', { url: 'ext::sh -c true' }), { code: 'invalid_argument' });
  });

  it('gives git its credentials in a private file, which goes with git', async () => {
    if (!(await box().exec('command -v git')).success) return;
    // Looks at git while git waits for its answer.
    await box().write('looking.cjs', LOOKING_SERVER);
    const node = '$(command -v node || echo /opt/platform-sandbox/node)';
    await box().ask('startProcess', { command: `exec ${node} looking.cjs`, processId: 'looking' });
    await box().ask('waitForPort', { port: GIT_PORT, timeoutMs: 60_000 });
    const url = `http://me:s3cret-in-git@127.0.0.1:${GIT_PORT}/r.git`;
    await assert.rejects(box().ask('gitCheckout', { url }), { code: 'git_failed' });
    const { header, seenIn, file, mode } = JSON.parse(await box().read('looked.json')) as Record<string, unknown>;
    assert.equal(header, `Basic ${Buffer.from('me:s3cret-in-git').toString('base64')}`);
    assert.deepEqual(seenIn, []);
    assert.equal(mode, '600');
    assert.equal((await box().exec(['test', '-e', String(file)])).success, false);
    await box().ask('killProcess', { id: 'looking' });
  });

  it('keeps the token for the AI gateway in a private file, and puts another in its place', async () => {
    await box().ask('setAiAccess', { url: 'http://ai.example/ai', token: 'pk_ai_one' });
    const show =
      'cat "$PLATFORM_AI_TOKEN_FILE"; stat -c " %a %u" "$PLATFORM_AI_TOKEN_FILE"; id -u; echo $PLATFORM_AI_URL';
    const [line, user, url] = (await box().exec(show)).stdout.split('\n');
    assert.equal(line, `pk_ai_one 600 ${user}`);
    assert.equal(url, 'http://ai.example/ai');
    await box().ask('setAiAccess', { url: 'http://ai.example/ai', token: 'pk_ai_two' });
    assert.equal((await box().exec('cat "$PLATFORM_AI_TOKEN_FILE"')).stdout, 'pk_ai_two');
    assert.equal((await box().exec('env')).stdout.includes('pk_ai'), false);
    await box().ask('setAiAccess', {});
    const left = await box().exec('ls -A "$(dirname "$PLATFORM_AI_TOKEN_FILE")"');
    assert.equal(left.stdout, '');
  });
}
