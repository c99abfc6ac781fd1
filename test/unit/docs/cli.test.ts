// docs/cli.md names every command, and every flag in the part about its command.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ArgsDef } from 'citty';
import { commands } from '#cli/main.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/cli.md'), 'utf8');

/** What stands under the headings that name a command. */
function partOf(command: string): string {
  const parts = text.split(/^## /m).filter((part) => new RegExp(`^platform .*\\b${command}\\b.*\\n`).test(part));
  return parts.join('');
}

for (const [name, { load }] of Object.entries(commands)) {
  if (load === null) continue;
  test(`docs/cli.md names platform ${name} and its flags`, async () => {
    assert.match(text, new RegExp(`^\\| \`platform ${name}\\b`, 'm'));
    const { command } = await load();
    const documented = [...partOf(name).matchAll(/(?:^|[\s`])(-\w|--[a-z][a-z-]*)/gm)].map(([, flag]) => flag);
    for (const [flag, definition] of Object.entries(((await command.args) ?? {}) as ArgsDef)) {
      if (definition.type === 'positional') continue;
      const alias = 'alias' in definition ? [definition.alias ?? []].flat().map((one) => `-${one}`) : [];
      const negative = definition.type === 'boolean' && definition.default === true;
      for (const word of [negative ? `--no-${flag}` : `--${flag}`, ...alias])
        assert.ok(documented.includes(word), `docs/cli.md does not say what ${word} of platform ${name} does`);
    }
  });
}

test('no flag is documented that does not exist', async () => {
  const known = new Set(['--help']);
  for (const { load } of Object.values(commands)) {
    if (load === null) continue;
    for (const [flag, { type }] of Object.entries(
      ((await (await load()).command.args) ?? {}) as Record<string, { type?: string }>,
    ))
      if (type !== 'positional') known.add(`--${flag}`).add(`--no-${flag}`);
  }
  for (const [, flag] of text.matchAll(/^\| .*?(--[a-z][a-z-]*)[^|]*\|/gm))
    assert.ok(known.has(flag!), `${flag} is no flag`);
});
