// docs/limits.md says every bound with the default that it has, and none that is not there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { databaseLimitVariables, defaultDatabaseLimits } from '#core/database-limits.ts';
import { defaultDeliveryLimits, deliveryLimitVariables } from '#core/delivery-limits.ts';
import { defaultLimits, limitVariables } from '#core/limits.ts';
import { hostCalls } from '#runtime/engine/bridge/protocol.ts';
import { cpuLimitVariable, defaultCpuLimits, invocationKinds, plans } from '#core/plans.ts';

/** Rows of tables that begin with a variable: it, and the cells behind it. */
const rows = readFileSync(join(import.meta.dirname, '../../../docs/limits.md'), 'utf8')
  .split('\n')
  .map((line) => /^\| `([A-Z0-9_<>]+)` +\|(.*)\|$/.exec(line))
  .filter((found) => found !== null)
  .map(([, name, cells]) => [name as string, (cells as string).split('|').map((cell) => cell.trim())] as const);

function entries(variables: Readonly<Record<string, string>>, defaults: object): [string, number][] {
  return Object.entries(variables).map(([key, variable]) => [
    variable,
    (defaults as Readonly<Record<string, number>>)[key] as number,
  ]);
}

test('each bound is there once, with what it bounds and its default', () => {
  const expected = [
    ...entries(limitVariables, defaultLimits),
    ...entries(databaseLimitVariables, defaultDatabaseLimits),
    ...entries(deliveryLimitVariables, defaultDeliveryLimits),
  ];
  const found = rows
    .filter(([name]) => !name.endsWith('<PLAN>'))
    .map(([name, cells]) => [name, Number(cells.at(-1))] as [string, number]);
  const sorted = (list: [string, number][]): [string, number][] =>
    list.toSorted(([one], [other]) => (one < other ? -1 : 1));
  assert.deepEqual(sorted(found), sorted(expected));
  for (const [name, cells] of rows)
    if (!name.endsWith('<PLAN>')) assert.ok((cells[0] as string).length > 4, `${name} does not say what it bounds`);
});

test('the CPU of each kind and plan is there', () => {
  const found = rows.filter(([name]) => name.endsWith('<PLAN>'));
  assert.deepEqual(
    found.flatMap(([name, cells]) =>
      plans.map((plan, index) => [name.replace('<PLAN>', plan.toUpperCase()), Number(cells[index])]),
    ),
    invocationKinds.flatMap((kind) =>
      plans.map((plan) => [cpuLimitVariable(kind, plan), defaultCpuLimits[kind][plan]]),
    ),
  );
});

test('each call of the host is in one table of what runs on the main thread, synchronous ones with a row of their own', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/limits.md'), 'utf8');
  const section = text.slice(text.indexOf("## What runs on an engine's main thread"));
  const split = section.indexOf('Others:');
  const named = (part: string): string[] =>
    part
      .split('\n')
      .flatMap((line) =>
        [...(/^\| (`[^|]+?) +\|/.exec(line)?.[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name as string),
      );
  const synchronous = named(section.slice(0, split));
  const others = named(section.slice(split));
  const kindOf = hostCalls as Readonly<Record<string, string>>;
  const names = Object.keys(hostCalls);
  assert.deepEqual(synchronous.toSorted(), names.filter((name) => kindOf[name] === 'sync').toSorted());
  const covers = (row: string, name: string): boolean =>
    row === name || (row.endsWith('.*') && name.startsWith(row.slice(0, -1)));
  for (const name of names.filter((one) => kindOf[one] !== 'sync'))
    assert.equal(others.filter((row) => covers(row, name)).length, 1, `${name} is in no row, or in several`);
  for (const row of others)
    assert.ok(
      names.some((name) => covers(row, name)),
      `${row} is no call`,
    );
});
