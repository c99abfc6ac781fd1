// What the dashboard reads from a build log: the line with the cause of a failure, and the names of its steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failingLine, quoteOf, stepsOf } from '#dashboard/src/pages/deployments/log-lines.ts';

/** A log: `step level text` each. */
const log = (...texts: readonly string[]) =>
  texts.map((given, at) => {
    const [, step, level, text] = /^(\w+) (\w+) (.*)$/.exec(given)!;
    return { seq: at + 1, at: '2026-01-01T00:00:00Z', step: step!, level: level!, text: text! };
  });
const causeOf = (...texts: readonly string[]): string | undefined => failingLine(log(...texts))?.text;

test('the cause is the first error of the step that failed', () => {
  assert.equal(
    causeOf(
      'clone error retried',
      'artifact info Bundling',
      "artifact error Cannot resolve './a.ts'",
      'artifact error 1 error',
    ),
    "Cannot resolve './a.ts'",
  );
  assert.equal(causeOf('build info all good'), undefined);
});

test('the cause of a command that failed is the first line of its output with an error and a place', () => {
  assert.equal(
    causeOf(
      'build info vite v8.1.0 building for production...',
      'build info error during build:',
      'build info [vite:esbuild] Transform failed with 1 error:',
      'build info /src/app.ts:3:1: ERROR: Expected ";" but found "}"',
      'build info 1  |  const a = 1',
      'build error The build command "vite build" ended with exit code 1',
    ),
    '/src/app.ts:3:1: ERROR: Expected ";" but found "}"',
  );
});

test('without a place, it is the line that begins as an error, and without one, the end of the command', () => {
  assert.equal(
    causeOf(
      'install info 3 packages could not be checked',
      'install info npm error code E404',
      'install info npm error 404 Not Found - GET https://registry.example.com/nope',
      'install error The install command "npm ci" ended with exit code 1: a package was not found in the registry',
    ),
    'npm error code E404',
  );
  assert.equal(
    causeOf('build info ok', 'build error The build command "make" ended with exit code 2'),
    'The build command "make" ended with exit code 2',
  );
});

test('a long message is cut to the lines around the cause; without the cause, the log around it is shown', () => {
  const command = 'The build command "vite build" ended with exit code 1:';
  const output = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`);
  const shown = (said: readonly string[], lines: ReturnType<typeof log>) => {
    const quote = quoteOf(
      [command, ...said].map((text) => ({ text })),
      failingLine(lines),
      lines,
    )!;
    return [quote.lines.map(({ text }) => text), quote.lines[quote.marked]?.text];
  };
  const cause = 'src/app.ts:3:1: error: no such file';
  const before = output.slice(0, 5);
  const after = output.slice(5);
  const texts = (all: readonly string[]) => log(...all.map((text) => `build info ${text}`), `build error ${command}`);
  const excerpt = ['line 4', 'line 5', cause, ...output.slice(5, 13)];
  assert.deepEqual(shown([...before, cause, ...after], texts([...before, cause, ...after])), [excerpt, cause]);
  assert.deepEqual(shown(after, texts([...before, cause, ...after])), [excerpt, cause]);
  assert.deepEqual(shown(['a', 'b'], texts(['a', 'b'])), [[command, 'a', 'b'], command]);
});

test('no two steps of a log have the same name', () => {
  const names = (...texts: readonly string[]): string[] => stepsOf(log(...texts), true).map(({ name }) => name);
  assert.deepEqual(
    names('build info ok', 'release info The worker has started', 'migrate info 1 migration', 'release info Live'),
    ['Build', 'Start', 'Migrate', 'Release'],
  );
  assert.deepEqual(names('build info ok', 'release info The worker has started', 'release info Live'), [
    'Build',
    'Release',
  ]);
  // A preview that was promoted.
  assert.deepEqual(names('release info 1', 'migrate info 1', 'release info 2', 'migrate info 2', 'release info 3'), [
    'Start',
    'Migrate',
    'Release',
    'Migrate (2)',
    'Release (2)',
  ]);
  assert.deepEqual(names('clone info 1', 'queue warn The builder stopped', 'clone info 2', 'build info ok'), [
    'Clone',
    'Queue',
    'Clone (2)',
    'Build',
  ]);
});
