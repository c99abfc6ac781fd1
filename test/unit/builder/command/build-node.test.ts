// Which Node a build command finds: the shell's, and this one where a project's Vite would not run on that.
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runBuildCommand } from '#builder/command/build-command.ts';
import { projectFolder } from '../project-folder.ts';

/** What `node --version` says in the build of a project, where the shell's Node has this version. */
async function nodeIn(t: TestContext, manifest: object, shellVersion: string): Promise<string> {
  const root = projectFolder(t, {
    'package.json': JSON.stringify(manifest),
    'shell/node': `#!/bin/sh\necho ${shellVersion}\n`,
  });
  chmodSync(join(root, 'shell/node'), 0o755);
  let output = '';
  await runBuildCommand('node --version', root, {
    inherited: { PATH: `${join(root, 'shell')}:/usr/bin:/bin` },
    onOutput: (text) => (output += text),
  });
  return output.trim();
}

const withPlugin = { devDependencies: { '@platform-run/vite': '*', vite: '8' } };

test('a project with the Vite plugin is built by the Node of the platform where the shell has an older one', async (t) => {
  assert.equal(await nodeIn(t, withPlugin, 'v20.20.2'), process.version);
});

test('any other project, and a Node that is new enough, stay as the shell has them', async (t) => {
  assert.equal(await nodeIn(t, { devDependencies: { vite: '8' } }, 'v20.20.2'), 'v20.20.2');
  assert.equal(await nodeIn(t, withPlugin, 'v99.0.0'), 'v99.0.0');
});
