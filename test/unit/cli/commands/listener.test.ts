// `platform listener`: only the pinned binary is installed, and a line says which listener serves and why.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from 'citty';
import { command as remove } from '#cli/commands/listener/remove.ts';
import { command as show } from '#cli/commands/listener/show.ts';
import { installListener } from '#cli/start/install-listener.ts';
import { listenerText } from '#cli/start/listener-text.ts';
import { recordingShell, type RecordingShell } from '../recording-shell.ts';

const BYTES = 7_307_432;
const system = { platform: 'linux', arch: 'x64', abi: '137', glibc: '2.41' };
const cwd = mkdtempSync(path.join(tmpdir(), 'listener-'));
const folder = path.join(cwd, 'data');
test.after(() => rmSync(cwd, { recursive: true }));

function install(from: string | null, env: Record<string, string> = {}): Promise<RecordingShell> {
  const shell = recordingShell(cwd, { PATH: '/usr/bin:/bin', ...env });
  return installListener(shell, { folder, from, system }).then(() => shell);
}

test('a binary of another size or with another hash is refused, and nothing is installed', async () => {
  const pinned = '3b549c14e01d9d1faf234cdf4b6f0fb08158605e3692cd0eb1b905e327bd3449';
  writeFileSync(path.join(cwd, 'short.node'), 'x');
  await assert.rejects(install('short.node'), {
    message: 'short.node has another uws_linux_x64_137.node than the pinned one',
    advice: `Nothing was installed. Its SHA-256 is not computed, since its size differs, the pinned hash is ${pinned} (uwebsockets@3.0.6).`,
  });
  writeFileSync(path.join(cwd, 'long.node'), new Uint8Array(BYTES));
  await assert.rejects(install('long.node'), {
    advice: `Nothing was installed. Its SHA-256 is 693c641002ee7be739dc09b965785d30e028f88fc94b86a42c4c1348fd4d822e, the pinned hash is ${pinned} (uwebsockets@3.0.6).`,
  });
  await assert.rejects(install('none.tgz'), { message: `There is no file ${path.join(cwd, 'none.tgz')}` });
  assert.equal(existsSync(folder), false);
});

test('of an archive the one binary is read, and checked the same way', async () => {
  const packed = (name: string, inside: string, content: Uint8Array): void => {
    mkdirSync(path.join(cwd, 'package'), { recursive: true });
    writeFileSync(path.join(cwd, 'package', inside), content);
    assert.equal(spawnSync('tar', ['-czf', name, `package/${inside}`], { cwd }).status, 0);
  };
  packed('other.tgz', 'readme.md', Buffer.from('nothing'));
  await assert.rejects(install('other.tgz'), /^CliError: other\.tgz has no uws_linux_x64_137\.node: /);
  for (const bytes of [3, BYTES, BYTES + 1]) {
    packed('changed.tar.gz', 'uws_linux_x64_137.node', new Uint8Array(bytes));
    await assert.rejects(install('changed.tar.gz'), {
      message: 'changed.tar.gz has another uws_linux_x64_137.node than the pinned one',
    });
  }
  assert.equal(existsSync(folder), false);
});

test('npm fetches the package, whose archive has a pinned hash too', async () => {
  const bin = path.join(cwd, 'bin');
  mkdirSync(bin);
  const npm = (script: string): void => writeFileSync(path.join(bin, 'npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  npm('echo "npm error code E404" >&2; exit 1');
  await assert.rejects(install(null, { PATH: `${bin}:/usr/bin:/bin` }), {
    message: 'npm could not fetch uwebsockets@3.0.6: npm error code E404',
  });
  npm('[ "$1 $2" = "pack uwebsockets@3.0.6" ] && echo changed > uwebsockets-3.0.6.tgz');
  await assert.rejects(install(null, { PATH: `${bin}:/usr/bin:/bin` }), {
    message: 'The registry sent another uwebsockets@3.0.6 than the pinned one',
  });
  assert.equal(existsSync(folder), false);
});

test('a line says which listener serves, and why', () => {
  const text = (reason: string | null, env: Record<string, string> = {}, isActivated = false, glibc = '2.41'): string =>
    listenerText({ technology: reason === null ? 'uws' : 'node', reason }, recordingShell(cwd, env), isActivated, {
      ...system,
      glibc,
    });
  assert.equal(text(null), 'HTTP listener: uWebSockets.js');
  const missing = 'uWebSockets.js is not installed';
  assert.equal(
    text(missing),
    'HTTP listener: node:http, since uWebSockets.js is not installed: run `platform listener install`',
  );
  assert.equal(
    text(missing, {}, false, '2.36'),
    'HTTP listener: node:http, since uWebSockets.js requires glibc 2.38, and this system has 2.36',
  );
  assert.equal(
    text('HANDLER_LISTENER is node', { HANDLER_LISTENER: 'node' }),
    'HTTP listener: node:http, since HANDLER_LISTENER is node',
  );
  assert.equal(
    text('HANDLER_LISTENER is node', {}, true),
    'HTTP listener: node:http, since platform.socket hands over its socket',
  );
});

test('what is not installed is shown, and cannot be removed', async () => {
  const shell = recordingShell(cwd, { FS_PATH: folder, HANDLER_LISTENER: 'node' });
  await runCommand(show, { rawArgs: [], data: shell });
  await runCommand(show, { rawArgs: ['--json'], data: shell });
  await runCommand(remove, { rawArgs: [], data: shell });
  assert.deepEqual(shell.output, [
    'HTTP listener: node:http, since HANDLER_LISTENER is node',
    '{"technology":"node","reason":"HANDLER_LISTENER is node","file":null}',
    'uWebSockets.js is not installed',
  ]);
  mkdirSync(path.join(folder, 'listener'), { recursive: true });
  await runCommand(remove, { rawArgs: [], data: shell });
  assert.equal(existsSync(path.join(folder, 'listener')), false);
});
