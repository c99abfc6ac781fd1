// `platform listener install` with the real binary, from the package of bench/: it is stored, and the next engine
// opens it. Skipped where uWebSockets.js does not load; `npm test -- uws` runs it with a C library that is new enough.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { installedUws, uwsName, uwsProblem, uwsSystem } from '#core/process/uws.ts';
import { installListener } from '#cli/start/install-listener.ts';
import { chooseListener } from '#runtime/engine/http/choose-listener.ts';
import { recordingShell } from '../unit/cli/recording-shell.ts';

const system = uwsSystem();
const name = uwsName(system);
const source = path.join(import.meta.dirname, '../../bench/node_modules/uWebSockets.js');
const problem = uwsProblem(system) ?? (existsSync(path.join(source, name)) ? null : 'bench/ is not installed');
if (problem !== null && process.env['UWS_REQUIRED'] === '1') throw new Error(problem);

test('the installed binary is what the next engine listens with', { skip: problem ?? false }, async (t) => {
  const cwd = mkdtempSync(path.join(tmpdir(), 'uws-install-'));
  t.after(() => rmSync(cwd, { recursive: true }));
  const folder = path.join(cwd, 'data');
  const shell = recordingShell(cwd, { PATH: process.env['PATH'] ?? '' });
  await installListener(shell, { folder, from: path.join(source, name), system });
  const file = path.join(folder, 'listener', name);
  assert.deepEqual(shell.output.slice(1), [`Installed ${file}`, 'Takes effect at the next start of the platform']);
  assert.deepEqual(installedUws(folder), { file });
  assert.equal(statSync(file).mode & 0o777, 0o600);

  // The same from an archive, as `npm pack` makes it; an archive of the author has another folder in it.
  assert.equal(
    spawnSync('tar', ['-czf', path.join(cwd, 'a.tgz'), '-C', path.dirname(source), `uWebSockets.js/${name}`]).status,
    0,
  );
  rmSync(path.join(folder, 'listener'), { recursive: true });
  await installListener(shell, { folder, from: 'a.tgz', system });
  assert.deepEqual(readdirSync(path.join(folder, 'listener')), [name]);

  const { open, reason } = await chooseListener('auto', folder);
  assert.equal(reason, null);
  const listener = await open({
    port: 0,
    host: '127.0.0.1',
    limits: { ...defaultLimits, idleMs: 1000 },
    onExchange: (exchange) => exchange.send(200, '', exchange.host),
  });
  t.after(() => listener.close());
  assert.equal(listener.technology, 'uws');
  const body = await new Promise<string>((resolve, reject) => {
    request({ port: listener.port, host: '127.0.0.1', headers: { host: 'shop.localhost' } }, (response) => {
      response.setEncoding('utf8').on('data', resolve);
    })
      .on('error', reject)
      .end();
  });
  assert.equal(body, 'shop.localhost');

  // A file that was replaced after it was installed is not loaded. This process has the old one mapped.
  rmSync(file);
  writeFileSync(file, 'changed');
  assert.match((await chooseListener('auto', folder)).reason!, /has another hash than this version pins/);
});
