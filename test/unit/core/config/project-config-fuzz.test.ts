// Random and mutated YAML against the parser of platform.yaml: whatever the text, it returns, and every problem has a
// place inside the text. The seed is printed; FUZZ_SEED repeats a run, FUZZ_TIMES lengthens it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { setAgentSdk } from '#core/config/project-config-edit.ts';
import { tsconfigLinks } from '#core/config/tsconfig.ts';
import { parseWorkspaceFile } from '#core/config/workspace.ts';
import { fuzzRounds } from '#test/setup/seeded-random.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const runs = fuzzRounds(300);

/** mulberry32: small, seeded, good enough to pick mutations. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const files = [
  'kind: worker\nmain: src/index.ts\ndb:\n  DB: users\nqueue:\n  MAIL: mail\nai: true\nagentSDK: true\n',
  'kind: static # site\r\nbuild: npm run build\r\nout: dist/\r\nbase: apps/web\r\nassets:\r\n  run_worker_first: [/api/*, "!/api/x"]\r\n',
  '\ufeffcompatibility_date: "2025-01-01"\ncompatibility_flags:\n  - nodejs_compat\ndev: {port: 3000, host: localhost}\n',
  'cron:\n  A: "*/5 * * * *"\n  B: { schedule: 0 0 1 * *, timezone: UTC, overlap: skip }\nauth: { binding: PLATFORM_AUTH }\n',
  '{ "extends": ["../base.json", "/x"],\n "references": [{ "path": "lib" }] }\n',
  'state: &s\n  KV: settings\nfs: *s\nexclude: [a/*, "**/b"]\n',
];
const pieces = [
  'kind',
  'db',
  'out',
  'exclude',
  'cron',
  ': ',
  ':',
  '\n',
  '\r\n',
  '\r',
  '- ',
  '  ',
  '\t',
  '{',
  '}',
  '[',
  ']',
  ',',
  '"',
  "'",
  '|',
  '>',
  '&a',
  '*a',
  '<<: ',
  '!!binary ',
  '!x ',
  '%YAML 1.1\n',
  '---\n',
  '...\n',
  '? ',
  '#',
  '@',
  '`',
  '~',
  'null',
  'true',
  '1e999',
  '.nan',
  '-0',
  '0x1F',
  '..',
  '/',
  '\0',
  '\u0007',
  '\ufeff',
  '\u2028',
  '\ud800',
  '💥',
  '__proto__',
  'PLATFORM_X',
  'AI',
  '2025-02-30',
  '* * * * *',
  '\\',
  '"\\x',
  '"\\u12',
];

function mutated(random: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  let text = random() < 0.15 ? '' : pick(files);
  // A ninth is left as it is, so that some are accepted.
  for (let count = Math.floor(random() * 9); count > 0; count--) {
    const at = Math.floor(random() * (text.length + 1));
    const length = Math.floor(random() * 12);
    const kind = random();
    if (kind < 0.5) text = text.slice(0, at) + pick(pieces) + text.slice(at);
    else if (kind < 0.65) text = text.slice(0, at) + text.slice(at + length);
    else if (kind < 0.8)
      text = text.slice(0, at) + pick(pieces).repeat(1 + Math.floor(random() * 40)) + text.slice(at + length);
    else if (kind < 0.9) text = text.slice(0, at) + String.fromCharCode(Math.floor(random() * 65_536)) + text.slice(at);
    else text += pick(files).slice(Math.floor(random() * 20));
  }
  return text;
}

test(`${runs} mutated files give problems inside their text and never an exception (FUZZ_SEED=${seed})`, (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  const random = randomFrom(seed);
  const now = new Date('2026-11-21T00:00:00Z');
  let accepted = 0;
  for (let run = 0; run < runs; run++) {
    const text = mutated(random);
    const lines = text.replace(/^\ufeff/, '').split('\n');
    const told = `seed ${seed}, run ${run}: ${JSON.stringify(text)}`;
    const parsed = parseProjectConfig(text, { file: 'platform.yaml', now });
    if (parsed.config !== null) {
      accepted++;
      const { config, problems } = parseProjectConfig(setAgentSdk(text), { file: 'platform.yaml', now });
      const nameClash = problems.some((problem) => problem.message.startsWith('The binding name AI is used twice'));
      if (!nameClash)
        assert.deepEqual({ ...config, bindings: 0 }, { ...parsed.config, bindings: 0, agentSdk: true, ai: true }, told);
    }
    assert.equal(
      parsed.config === null,
      parsed.problems.some((problem) => problem.severity === 'error'),
      told,
    );
    for (const { line, column } of tsconfigLinks(text))
      assert.ok(column <= (text.split('\n')[line - 1] ?? '').length, told);
    for (const problem of [
      ...parsed.problems,
      ...parseWorkspaceFile(text, { file: 'platform-workspace.yaml' }).problems,
    ]) {
      assert.ok(problem.line >= 1 && problem.line <= lines.length, told);
      assert.ok(
        problem.column >= 1 && problem.column <= lines[problem.line - 1]!.length + 1,
        `${JSON.stringify(problem)} ${told}`,
      );
      assert.doesNotMatch(problem.message, /\p{Cc}|undefined|\[object/u, told);
    }
  }
  assert.ok(accepted > 0 && accepted < runs);
});
