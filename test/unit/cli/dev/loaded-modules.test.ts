// What programs load before they serve: a start is mostly the loading of modules, and an idle process keeps them.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { resolveOwn } from '#cli/tasks/tools/import-graph.ts';
import { readImports } from '#cli/tasks/tools/imports.ts';
import { root } from '#cli/tasks/tools/processes.ts';

/** What a module imports statically: most of them are reached from each entry. */
const importsOf = memoized((file) =>
  readImports(file, readFileSync(path.join(root, file), 'utf8')).filter(
    ({ kind, typeOnly }) => kind === 'static' && !typeOnly,
  ),
);

function memoized<Value>(make: (key: string) => Value): (key: string) => Value {
  const made = new Map<string, Value>();
  return (key) => {
    if (!made.has(key)) made.set(key, make(key));
    return made.get(key)!;
  };
}

/** Packages and modules of Node that a module loads as it is imported, each with who imports it. */
function loadedBy(entry: string): Map<string, string> {
  const loaded = new Map<string, string>();
  const seen = new Set([entry]);
  for (const file of seen) {
    for (const { specifier } of importsOf(file)) {
      const own = resolveOwn(file, specifier);
      if (own === null || own.endsWith('.mjs')) loaded.set(specifier, file);
      else if (existsSync(path.join(root, own)) && own.endsWith('.ts')) seen.add(own);
    }
  }
  return loaded;
}

for (const entry of ['cli/commands/vite/engine.ts', 'cli/commands/dev.ts', 'runtime/dev/dev.ts'])
  test(`${entry} loads no library that only some projects or other processes need`, () => {
    const loaded = loadedBy(entry);
    assert.ok(loaded.size > 5);
    const costly =
      /^(?:#core\/typebox|typebox|pg|postgres|redis|undici|better-auth|drizzle-orm|@aws-sdk\/.*|node:https?2?)(?:\/|$)/;
    assert.deepEqual(
      [...loaded].filter(([name]) => costly.test(name)),
      [],
    );
  });

for (const [entry, costly] of [
  ['runtime/broker/main.ts', /^(?:undici|redis|better-auth|@aws-sdk\/.*)(?:\/|$)/],
  ['control/main.ts', /^(?:undici|nodemailer|openid-client|@simplewebauthn\/.*|better-auth)(?:\/|$)/],
  ['gateway/main.ts', /^(?:undici|@aws-sdk\/.*)(?:\/|$)/],
] as const)
  test(`${entry} loads a library when its first request needs it`, () => {
    const loaded = loadedBy(entry);
    assert.ok(loaded.size > 5);
    assert.deepEqual(
      [...loaded].filter(([name]) => costly.test(name)),
      [],
    );
  });
