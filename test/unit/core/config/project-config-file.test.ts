// platform.yaml as a file: places of problems, several problems at once, syntax errors, hostile files, and the printed
// form of a problem. What each key refuses: project-config-problems.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatProblem, type Problem } from '#core/problem.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';

const parse = (text: string) => parseProjectConfig(text, { file: 'platform.yaml' });
const placed = ({ line, column, message }: Problem): string => `${line}:${column} ${message}`;

test('CRLF line ends and a byte order mark do not move the place of a problem', () => {
  const { problems } = parse('\ufeffkind: ssr\r\nout: /x\r\n');
  assert.deepEqual(problems.map(placed), ['2:6 Out path must be relative, not absolute']);
  assert.deepEqual(parse('\ufeffout: /x').problems.map(placed), ['1:6 Out path must be relative, not absolute']);
});

test('every problem of a file is reported, in one go', () => {
  const { problems } = parse('kind: static\nout: /x\nbase: ../y\nports: 1\ndb:\n  DB: A\n');
  assert.deepEqual(
    problems.map((problem) => problem.path),
    ['ports', 'db.DB', 'base', 'out', 'build', 'kind'],
  );
});

test('a YAML syntax error has a place and hides what would follow from it', () => {
  const { config, problems } = parse('kind: [ssr\nout: /x\n');
  assert.equal(config, null);
  assert.equal(problems[0]?.line, 2);
  assert.match(problems[0]?.message ?? '', /^Invalid YAML: /);
  assert.ok(problems.every((problem) => problem.message.startsWith('Invalid YAML: ')));
});

test('hostile files end in problems: nesting, aliases in aliases, many aliases, many keys', () => {
  const messages = (text: string) => parse(text).problems.map((problem) => problem.message);
  assert.deepEqual(messages('['.repeat(20_000)), ['Values are nested too deeply']);
  const bomb = `kind: &a [x, x]\nbuild: &b [*a, *a]\nout: &c [*b, *b]\nmain: [*c, *c]\n`;
  assert.equal(messages(bomb).length, 4);
  assert.deepEqual(messages('kind: &a [*a]'), ['kind must be one of static, ssr, dynamic, worker, not a list']);
  const many = `db:\n  A: &a users\n${Array.from({ length: 150 }, (_, index) => `  B${index}: *a\n`).join('')}`;
  assert.equal(messages(many)[0], 'More than 100 aliases');
  const keys = Array.from({ length: 2000 }, (_, index) => `key${index}: 1\n`).join('');
  const problems = messages(keys);
  assert.equal(problems.length, 101);
  assert.equal(problems[100], 'More than 100 problems; the others are left out');
});

test('a problem prints as file, line, column and message, with its hint below', () => {
  const [problem] = parseProjectConfig('kind: ssr\nout: ../x\n', { file: 'apps/shop/platform.yaml' }).problems;
  assert.ok(problem);
  assert.equal(formatProblem(problem), "apps/shop/platform.yaml:2:6: Out path cannot contain '..'");
  assert.equal(
    formatProblem({ ...problem, severity: 'warning', hint: 'Do this.' }),
    "apps/shop/platform.yaml:2:6: warning: Out path cannot contain '..'\n  Do this.",
  );
});
