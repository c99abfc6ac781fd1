// How failures of every origin become text and data.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BuildError } from '#builder/project/build-error.ts';
import { CliError, exitCodeOf, failuresOf, formatFailure } from '#cli/terminal/failure.ts';

test('a failure reads: where, what, the code frame, what to do', () => {
  const error = new CliError('The port is not a number', {
    file: 'platform.yaml',
    line: 3,
    column: 9,
    frame: '> 3 |   port: x',
    advice: 'Write a number.',
  });
  assert.equal(
    failuresOf(error).map(formatFailure).join('\n'),
    'platform.yaml:3:9: The port is not a number\n> 3 |   port: x\nWrite a number.',
  );
});

test('a build error keeps its place, its frame and the errors that came with it', () => {
  const error = new BuildError('syntax', 'Expected `;`', {
    place: { file: 'src/index.ts', line: 1, column: 5 },
    frame: '> 1 | a b',
    others: [new BuildError('syntax', 'And this', { place: { file: 'src/b.ts', line: 2, column: 1 } })],
  });
  assert.deepEqual(failuresOf(error), [
    { message: 'Expected `;`', file: 'src/index.ts', line: 1, column: 5, frame: '> 1 | a b' },
    { message: 'And this', file: 'src/b.ts', line: 2, column: 1 },
  ]);
});

test('an error that carries a list stands for each of them', () => {
  assert.deepEqual(
    failuresOf(new AggregateError([new Error('one'), new CliError('two', { file: 'a.yaml', line: 1 })], 'both')),
    [{ message: 'one' }, { message: 'two', file: 'a.yaml', line: 1 }],
  );
});

test('anything thrown has a message', () => {
  assert.deepEqual(failuresOf('text'), [{ message: 'text' }]);
  assert.deepEqual(failuresOf(null), [{ message: 'null' }]);
});

test('a wrong call exits with 2, every other failure with 1', () => {
  assert.equal(exitCodeOf(new CliError('x', { exitCode: 2 })), 2);
  assert.equal(exitCodeOf(new CliError('x')), 1);
  assert.equal(exitCodeOf(new Error('x')), 1);
});
