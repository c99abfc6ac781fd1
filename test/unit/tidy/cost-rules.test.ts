// The rules about what tests cost, on costs written down here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costFindings } from '#test/tidy/cost-rules.ts';
import { formatFinding } from '#test/tidy/findings.ts';

const cheap = 'test/unit/cheap.test.ts';
const dear = 'test/integration/dear.test.ts';
const slow = 'test/edge/slow.test.ts';
const files = { [cheap]: '', [dear]: '', [slow]: '' };

function found(costs: Readonly<Record<string, number>>, list: Readonly<Record<string, string>> = {}): string[] {
  return costFindings({ ...files, 'test/costs.json': JSON.stringify(costs) }, list).map(formatFinding);
}

test('a file of the quick rung costs at most 6 CPU seconds, unless it is listed', () => {
  const costs = { [cheap]: 6, [dear]: 6.1, [slow]: 300 };
  assert.deepEqual(found(costs), [`${dear} costs 6.1 CPU s; a file of the quick rung costs at most 6`]);
  assert.deepEqual(found(costs, { [dear]: 'a reason' }), []);
});

test('a listed file that became cheap leaves the list', () => {
  assert.deepEqual(found({ [dear]: 2 }, { [dear]: 'a reason' }), [
    `test/suites.ts lists ${dear} as dear, which it is not: remove the row, the list may only shrink`,
  ]);
});

test('a cost is of a file or a suite that exists, and a test file is in a folder that a command runs', () => {
  assert.deepEqual(found({ 'test/unit/gone.test.ts': 1, 'hostile cpu': 9, nothing: 1 }), [
    'test/costs.json has a cost of test/unit/gone.test.ts, which does not exist',
    'test/costs.json has a cost of nothing: there is no such suite',
  ]);
  assert.deepEqual(costFindings({ 'test/nowhere/a.test.ts': '' }, {}).map(formatFinding), [
    'test/nowhere/a.test.ts is in a folder that test/suites.ts does not know: no command runs it',
  ]);
});
