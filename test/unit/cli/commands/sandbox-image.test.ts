// `platform sandbox image`: what the engine of the machine is asked, and that an installed program has the Dockerfiles.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from 'citty';
import { command } from '#cli/commands/sandbox/image.ts';
import { stageProgram } from '#cli/tasks/pack.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { recordingShell } from '../recording-shell.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'sandbox-image-'));
for (const name of ['docker', 'podman'])
  writeFileSync(
    path.join(folder, name),
    `#!/bin/sh\nprintf '%s ' "$@" > "${folder}/${name}.words"\ncat > "${folder}/${name}.file"\n[ "$3" != fails ]\n`,
    { mode: 0o755 },
  );
test.after(() => rmSync(folder, { recursive: true }));

/** @returns what was said. */
async function run(rawArgs: string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const shell = recordingShell(folder, { PATH: `${folder}:/usr/bin:/bin`, ...env });
  await runCommand(command, { rawArgs, data: shell });
  return shell.output.join('\n');
}
const asked = (name: string): string => readFileSync(path.join(folder, `${name}.words`), 'utf8').trim();
const dockerfile = (name: string): string => readFileSync(path.join(root, name), 'utf8');

test('the image of sandboxes, and that of builds, are made from the Dockerfile alone', async () => {
  assert.match(await run([]), /^Built platform-sandbox: SANDBOX_DEFAULT_IMAGE=platform-sandbox$/m);
  assert.equal(asked('docker'), 'build -t platform-sandbox -');
  assert.equal(readFileSync(path.join(folder, 'docker.file'), 'utf8'), dockerfile('containers/Dockerfile.sandbox'));
  const words = ['build', '--engine', 'podman', '-t', 'tools:3', '--base', 'debian:trixie'];
  assert.match(
    await run(words, { npm_config_registry: 'https://npm.example.com/' }),
    /^Built tools:3: BUILD_SANDBOX_IMAGE=tools:3$/m,
  );
  assert.equal(
    asked('podman'),
    'build -t tools:3 --build-arg BASE=debian:trixie --build-arg REGISTRY=https://npm.example.com -',
  );
  assert.equal(
    readFileSync(path.join(folder, 'podman.file'), 'utf8'),
    dockerfile('containers/Dockerfile.sandbox-build'),
  );
  // The password would stay in the image's history.
  await run(['build'], { npm_config_registry: 'https://ada:secret@npm.example.com/' });
  assert.equal(asked('docker'), 'build -t platform-sandbox-build -');
});

test('what cannot be is refused with what to do', async () => {
  await assert.rejects(run(['worker']), { message: 'Unknown image "worker"' });
  await assert.rejects(run(['-t', '-x']), { message: '--tag: invalid image name "-x"' });
  await assert.rejects(run(['--base', 'a b']), { message: '--base: invalid image name "a b"' });
  await assert.rejects(run(['--engine', 'lxc']), { message: 'Unknown engine "lxc"' });
  await assert.rejects(run(['-t', 'fails']), { message: 'docker exited with 1: could not build the image fails' });
});

test('an installed program has both Dockerfiles where the command looks for them', () => {
  const names = ['containers/Dockerfile.sandbox', 'containers/Dockerfile.sandbox-build'];
  const program = stageProgram(path.join(folder, 'program'), (name) => names.includes(name));
  for (const name of names) assert.ok(existsSync(path.join(program, name)), name);
});
