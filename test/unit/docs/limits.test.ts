// docs/limits.md says every bound with the default that it has, and none that is not there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aiLimitVariables, aiSettingsFrom } from '#core/ai-settings.ts';
import { definedLimits, cpuLimitVariable, defaultLimits, limitRows } from '#core/limits.ts';
import { budgetKinds, plans } from '#core/plans.ts';
import { hostCalls } from '#runtime/engine/bridge/call-names.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/limits.md'), 'utf8');
/** Rows of tables that begin with a variable: it, and the cells behind it. */
const rows = page
  .split('\n')
  .map((line) => /^\| `([A-Z0-9_<>]+)` +\|(.*)\|$/.exec(line))
  .filter((found) => found !== null)
  .map(([, name, cells]) => [name as string, (cells as string).split('|').map((cell) => cell.trim())] as const);

test('each bound is there once, with what it bounds and its default', () => {
  const sorted = <Row extends readonly unknown[]>(list: readonly Row[]): Row[] =>
    list.toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1));
  const found = rows
    .filter(([name]) => !name.includes('<PLAN>'))
    .map(([name, cells]) => [name, Number(cells.at(-1)), cells[0]] as const);
  assert.deepEqual(sorted(found), sorted(limitRows));
});

test('each bound that nothing changes is there once, with its value and its unit', () => {
  const found = [...page.matchAll(/^\| fixed +\|.*\n\|[ |-]+\n((?:\|.*\n)+)/gm)].flatMap(([, body]) =>
    [...body!.matchAll(/^\| (.+?) +\| ([^|]+?) +\|$/gm)].map(([, what, value]) => `${what}: ${value}`),
  );
  const unitOf = (name: string): string => {
    if (name.includes('Bytes')) return ' bytes';
    if (name.includes('Ms')) return ' ms';
    if (name.includes('Mb')) return ' MB';
    return /Char/.test(name) ? ' characters' : '';
  };
  const fixed = definedLimits.filter(([variable]) => variable === null);
  assert.deepEqual(
    found.toSorted(),
    fixed.map(([, value, what, name]) => `${what}: ${value}${unitOf(name)}`).toSorted(),
  );
});

test('the CPU of each kind and plan is there', () => {
  const found = rows.filter(([name]) => name.startsWith('WORKER_') && name.includes('<PLAN>'));
  assert.deepEqual(
    found.flatMap(([name, cells]) =>
      plans.map((plan, index) => [name.replace('<PLAN>', plan.toUpperCase()), Number(cells[index])]),
    ),
    budgetKinds.flatMap((kind) => plans.map((plan) => [cpuLimitVariable(kind, plan), defaultLimits.cpu[kind][plan]])),
  );
});

test('the limits of the AI gateway of each plan are there, and off', () => {
  const found = rows.filter(([name]) => name.startsWith('AI_') && name.includes('<PLAN>'));
  assert.deepEqual(
    found.flatMap(([name, cells]) => plans.map((plan, at) => [name.replace('<PLAN>', plan.toUpperCase()), cells[at]])),
    aiLimitVariables.map((name) => [name, '0']),
  );
  const { limits } = aiSettingsFrom({});
  for (const plan of plans) assert.deepEqual(new Set(Object.values(limits[plan])), new Set([0]));
});

test('each call of the host is in one table of what runs on the main thread, synchronous ones with a row of their own', () => {
  const section = page.slice(page.indexOf("## What runs on an engine's main thread"));
  const split = section.indexOf('For other calls,');
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
