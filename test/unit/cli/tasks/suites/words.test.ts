import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { refusalOf } from '#cli/tasks/suites/words.ts';
import { root } from '#cli/tasks/tools/processes.ts';

test('a word that picks nothing is refused by its name, also beside words that pick something', () => {
  const parts = ['cpu', 'memory'];
  const picks = (word: string): boolean => parts.includes(word);
  assert.equal(refusalOf('npm test -- hostile', ['cpu', '--jobs=1'], picks, parts), null);
  assert.equal(
    refusalOf('npm test -- hostile', ['cpu', 'hostile-builds', 'ssr'], picks, parts),
    'npm test -- hostile: nothing is called hostile-builds or ssr; there are cpu, memory\n',
  );
});

test('suites whose parts are not their files refuse unknown words, and run nothing', () => {
  for (const suite of ['hostile', 'fuzz']) {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['cli/run.mjs', ':test', suite, 'no-such-part'], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(status, 2, `${suite}: ${stdout}${stderr}`);
    assert.ok(stderr.includes(`npm test -- ${suite}: nothing is called no-such-part; there are `), stderr);
    assert.equal(stdout, '');
  }
});
