// The line of a build log that the dashboard shows as the cause of a failure.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failingLine, quoteOf } from '#dashboard/src/pages/deployments/log-lines.ts';

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
