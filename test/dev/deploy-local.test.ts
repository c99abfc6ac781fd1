// What a command changes on a platform of this machine is served by each of its engines when the command returns.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { run } from '#cli/main.ts';
import { startPlatform } from '#test/setup/platform.ts';
import { recordingShell } from '../unit/cli/recording-shell.ts';

/** Connections spread over the engines. */
const VISITS = 12;

test('a deployment, a variable and a rollback are served by both engines as soon as the command returns', async (t) => {
  const home = mkdtempSync(path.join(tmpdir(), 'home-'));
  const record = path.join(home, 'local/0123456789abcdef.json');
  const platform = await startPlatform({}, { HANDLER_PROCESSES: '2', PLATFORM_LOCAL_RECORD: record });
  t.after(async () => {
    await platform.close();
    rmSync(home, { recursive: true });
  });
  const project = path.join(home, 'project');
  mkdirSync(path.join(project, 'src'), { recursive: true });
  writeFileSync(path.join(project, 'platform.yaml'), 'kind: worker\nname: shop\n');
  const call = async (...words: string[]): Promise<void> => {
    const shell = recordingShell(project, { PLATFORM_HOME: home });
    assert.equal(await run(words, shell), 0, [...shell.output, ...shell.errors].join('\n'));
  };
  const deploy = async (version: string): Promise<void> => {
    const code = `export default { fetch: (request, env) => new Response('${version} ' + JSON.stringify(env.vars)) };\n`;
    writeFileSync(path.join(project, 'src/index.ts'), code);
    await call('deploy');
  };
  const says = async (text: string): Promise<void> => {
    for (let visit = 0; visit < VISITS; visit++) assert.equal((await platform.fetch('shop')).text, text);
  };
  await deploy('one');
  await says('one {}');
  await deploy('two');
  await says('two {}');
  await call('env', 'set', 'KEY=value');
  await says('two {"KEY":"value"}');
  await call('rollback');
  await says('one {"KEY":"value"}');
});
