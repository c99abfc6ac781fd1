// Completion scripts: made from the tree of commands, and loaded by the shells that are there.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { run } from '#cli/main.ts';
import { recordingShell } from '../recording-shell.ts';

async function script(name: string): Promise<string> {
  const shell = recordingShell('/');
  assert.equal(await run(['completion', name], shell), 0, shell.errors.join('\n'));
  return shell.output[0]!;
}

const isThere = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

test('bash completes commands, their commands and their flags', { skip: !isThere('bash') }, async () => {
  const text = await script('bash');
  const complete = (...words: string[]): string[] => {
    const asked = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _platform; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', `${text}\n${asked}`], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return stdout.split('\n').filter((line) => line !== '');
  };
  assert.deepEqual(complete('platform', 'depl'), ['deploy', 'deployments']);
  assert.deepEqual(complete('platform', 'env', ''), ['list', 'set', 'unset', 'pull', 'push']);
  assert.deepEqual(complete('platform', 'env', 'set', '--sec'), ['--secret']);
  assert.deepEqual(complete('platform', 'db', 'mig'), ['migrate']);
  assert.deepEqual(complete('platform', 'login', '--no'), ['--no-browser']);
});

test('every script is one that its shell takes, and other shells are refused', async () => {
  for (const name of ['bash', 'zsh', 'fish']) {
    const text = await script(name);
    if (!isThere(name)) continue;
    const words = name === 'fish' ? ['--no-execute'] : ['-n'];
    const { status, stderr } = spawnSync(name, words, { input: text, encoding: 'utf8' });
    assert.equal(status, 0, `${name}: ${stderr}`);
  }
  const shell = recordingShell('/');
  assert.equal(await run(['completion', 'tcsh'], shell), 2);
  assert.equal(shell.errors[0]!.split('\n')[0], 'error No completion for "tcsh"');
});
