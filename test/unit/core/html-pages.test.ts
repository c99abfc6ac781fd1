// What every HTML page that the platform writes itself has, so that it can be read by screen readers, on phones and in
// the dark.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.join(import.meta.dirname, '../../..');
const FOLDERS = '{builder,cli,control,core,gateway,packages/worker,resources,runtime,sandbox,web}';

const files = globSync(`${FOLDERS}/**/*.ts`, { cwd: root, exclude: (name) => name.endsWith('node_modules') })
  .map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }))
  // Those that a script draws are looked at in Chromium (test/browser/).
  .filter(({ text }) => /<!doctype html/i.test(text) && !text.includes('<noscript>'));

test('every page names its language, width and title, has a main part with a heading, and both themes', () => {
  assert.ok(files.length >= 3, `${files.length} files`);
  for (const { file, text } of files)
    for (const part of ['<html lang="en">', 'name="viewport"', '<title>', '<main', '<h1', 'color-scheme'])
      assert.ok(text.includes(part), `${file} has a page without ${part}`);
});

test('no page reloads itself by its markup', () => {
  for (const { file, text } of files) assert.doesNotMatch(text, /http-equiv=["']?refresh/, file);
});
