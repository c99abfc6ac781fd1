// The program that has a terminal, as it is committed.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '#cli/tasks/processes.ts';
import { TERMINAL_ARCHITECTURES, terminalProgram } from '#runtime/sandbox/agent/terminal/program.ts';

const folder = path.join(root, 'runtime/sandbox/agent/terminal');

test('the programs for terminals are built from the source beside them', () => {
  assert.equal(
    readFileSync(path.join(folder, 'prebuilt/source.sha256'), 'utf8').trim(),
    createHash('sha256')
      .update(readFileSync(path.join(folder, 'terminal.c')))
      .digest('hex'),
    'run `node runtime/sandbox/agent/terminal/build.ts`',
  );
});

test('they can be executed, are each for its machine, and need no loader', () => {
  const machines = { x64: 62, arm64: 183 };
  for (const architecture of TERMINAL_ARCHITECTURES) {
    const file = path.join(root, terminalProgram(architecture));
    assert.equal(statSync(file).mode & 0o111, 0o111, file);
    const bytes = readFileSync(file);
    assert.equal(bytes.toString('latin1', 0, 4), '\x7fELF');
    assert.equal(bytes.readUInt16LE(18), machines[architecture]);
    const programs = Array.from({ length: bytes.readUInt16LE(56) }, (_, at) =>
      bytes.readUInt32LE(Number(bytes.readBigUInt64LE(32)) + at * bytes.readUInt16LE(54)),
    );
    // 2: dynamic, 3: a loader.
    assert.deepEqual(
      programs.filter((type) => type === 2 || type === 3),
      [],
    );
  }
});
