// The programs in C that take no C library, as they are committed: of terminals in sandboxes, and of namespaces.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { fenceProgram } from '#core/process/confinement/fence/program.ts';
import { TERMINAL_ARCHITECTURES, terminalProgram } from '#sandbox/agent/terminal/program.ts';

const fence = 'core/process/confinement/fence';
const programs = [
  {
    name: 'terminal',
    folder: 'sandbox/agent/terminal',
    files: TERMINAL_ARCHITECTURES.map((each) => [each, terminalProgram(each)] as const),
  },
  {
    name: 'fence',
    folder: fence,
    files: (['x64', 'arm64'] as const).map((each) => [each, `${fence}/${fenceProgram(each)}`] as const),
  },
];
const MACHINES = { x64: 62, arm64: 183 };

for (const { name, folder, files } of programs) {
  test(`the programs of ${name}.c are built from the source beside them`, () => {
    assert.equal(
      readFileSync(path.join(root, folder, 'prebuilt/source.sha256'), 'utf8').trim(),
      createHash('sha256')
        .update(readFileSync(path.join(root, folder, `${name}.c`)))
        .digest('hex'),
      `run \`node ${folder}/build.ts\``,
    );
  });

  test(`those of ${name}.c can be executed, are each for its machine, and need no loader`, () => {
    for (const [architecture, place] of files) {
      const file = path.join(root, place);
      assert.equal(statSync(file).mode & 0o111, 0o111, file);
      const bytes = readFileSync(file);
      assert.equal(bytes.toString('latin1', 0, 4), '\x7fELF');
      assert.equal(bytes.readUInt16LE(18), MACHINES[architecture]);
      const parts = Array.from({ length: bytes.readUInt16LE(56) }, (_, at) =>
        bytes.readUInt32LE(Number(bytes.readBigUInt64LE(32)) + at * bytes.readUInt16LE(54)),
      );
      // 2: dynamic, 3: a loader.
      assert.deepEqual(
        parts.filter((type) => type === 2 || type === 3),
        [],
      );
    }
  });
}
