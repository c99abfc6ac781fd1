import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digits, formatTable, median, percentile, ratio, slope } from '#bench/statistics.ts';

test('the median is the middle reading, or the mean of the two middle ones', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.ok(Number.isNaN(median([])));
});

test('a percentile is the nearest reading that the share does not exceed', () => {
  const readings = Array.from({ length: 100 }, (_, i) => 100 - i);
  assert.equal(percentile(readings, 0.99), 99);
  assert.equal(percentile(readings, 0.5), 50);
  assert.equal(percentile([7], 0.99), 7);
  assert.equal(percentile([10, 20], 0), 10);
  assert.ok(Number.isNaN(percentile([], 0.5)));
});

test('the slope is that of the straight line nearest to the points', () => {
  assert.equal(
    slope([
      [0, 10],
      [1, 12],
      [2, 14],
    ]),
    2,
  );
  assert.equal(
    slope([
      [0, 1],
      [1, 2],
      [2, 0],
    ]),
    -0.5,
  );
  assert.ok(Number.isNaN(slope([[1, 1]])));
});

test('numbers show three digits that count', () => {
  assert.deepEqual([0, 7, 0.4217, 9.999, 12.34, 123.4, 45_678.9, Number.NaN].map(digits), [
    '0',
    '7',
    '0.42',
    '10.00',
    '12.3',
    '123',
    '45679',
    '-',
  ]);
});

test('a table is aligned: names to the left, figures to the right', () => {
  assert.equal(
    formatTable(
      ['8 connections', 'CPU us', 'non-2xx'],
      [
        ['ours', 12.25, 0],
        ['bare node:http', 8, 1200],
      ],
    ),
    ['8 connections   CPU us  non-2xx', 'ours              12.3        0', 'bare node:http       8     1200'].join(
      '\n',
    ),
  );
});

test('a ratio names both sides, and there is none without both figures', () => {
  const figures = new Map([
    ['ours', 12],
    ['workerd', 48],
  ]);
  assert.equal(ratio(figures, 'ours', 'workerd'), 'ours / workerd = 0.25');
  assert.equal(ratio(figures, 'ours', 'Deno'), null);
});
