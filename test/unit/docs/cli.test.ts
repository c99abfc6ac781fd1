// docs/cli.md names every command, and every flag in the part about its command.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ArgsDef } from 'citty';
import { leavesOf } from '#cli/commands/tree.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/cli.md'), 'utf8');
/** Flags that a part of its own explains for all commands that have them. */
const shared = /^## What all commands .*$/m;

/** What stands under the headings that name a command. */
function partOf(command: string): string {
  const parts = text.split(/^## /m);
  const own = parts.filter((part) => new RegExp(`^platform .*\\b${command}\\b.*\\n`).test(part));
  return [...own, ...parts.filter((part) => shared.test(`## ${part}`))].join('');
}

const flagsIn = (part: string): (string | undefined)[] =>
  [...part.matchAll(/(?:^|[\s`])(-\w|--[a-z][a-z-]*)/gm)].map(([, flag]) => flag);

for (const { path, leaf } of leavesOf()) {
  // What stands below `platform api` besides is other words for commands that have a part of their own.
  if (leaf.load === null || (path[0] === 'api' && path[1] !== 'call')) continue;
  const name = path.join(' ');
  test(`docs/cli.md names platform ${name} and its flags`, async () => {
    const [row = ''] = new RegExp(`^\\| .*\`platform ${path[0]}\\b.*$`, 'm').exec(text) ?? [];
    assert.notEqual(row, '', `no row of platform ${path[0]}`);
    if (path.length > 1 && path[1] !== 'call') assert.match(row, new RegExp(`[ |]${path[1]}\\b`));
    const { command } = await leaf.load!();
    const documented = flagsIn(partOf(path[0]!));
    for (const [flag, definition] of Object.entries(((await command.args) ?? {}) as ArgsDef)) {
      if (definition.type === 'positional') continue;
      const aliases = 'alias' in definition ? [definition.alias ?? []].flat() : [];
      const negative = definition.type === 'boolean' && definition.default === true;
      for (const word of [
        negative ? `--no-${flag}` : `--${flag}`,
        ...aliases.map((one) => (one.length > 1 ? `--${one}` : `-${one}`)),
      ])
        assert.ok(documented.includes(word), `docs/cli.md does not say what ${word} of platform ${name} does`);
    }
  });
}

test('no flag is documented that does not exist', async () => {
  const known = new Set(['--help', '--version']);
  for (const { leaf } of leavesOf()) {
    if (leaf.load === null) continue;
    const definitions = ((await (await leaf.load()).command.args) ?? {}) as ArgsDef;
    for (const [flag, definition] of Object.entries(definitions)) {
      if (definition.type === 'positional') continue;
      known.add(`--${flag}`).add(`--no-${flag}`);
      for (const alias of 'alias' in definition ? [definition.alias ?? []].flat() : []) known.add(`--${alias}`);
    }
  }
  for (const [, flag] of text.matchAll(/^\| .*?(--[a-z][a-z-]*)[^|]*\|/gm))
    assert.ok(known.has(flag!), `${flag} is no flag`);
});
