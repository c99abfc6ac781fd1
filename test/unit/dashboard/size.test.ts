import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { parseSync } from 'rolldown/experimental';
import { buildDashboard } from '#dashboard/build/build.ts';

const FIRST_LOAD_BYTES_MAX = 170_000;
const folder = mkdtempSync(path.join(tmpdir(), 'platform-dashboard-'));
after(() => rmSync(folder, { recursive: true, force: true }));
await buildDashboard(folder);
const page = readFileSync(path.join(folder, 'index.html'), 'utf8');

test('the first load is at most 170 KB of compressed script', (context) => {
  const first = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, file]) => file!);
  const bytes = first.map((file) => gzipSync(readFileSync(path.join(folder, file))).length).reduce((a, b) => a + b, 0);
  context.diagnostic(`first load: ${(bytes / 1000).toFixed(1)} KB of script, gzip`);
  assert.ok(bytes > 10_000 && bytes <= FIRST_LOAD_BYTES_MAX, `${bytes} bytes`);
});

test('every file of script parses', () => {
  const scripts = readdirSync(path.join(folder, 'assets')).filter((name) => name.endsWith('.js'));
  for (const file of scripts) {
    const { errors } = parseSync(file, readFileSync(path.join(folder, 'assets', file), 'utf8'));
    assert.deepEqual(errors, [], file);
  }
});

test('nothing is written into the page but the addresses of its files', () => {
  assert.doesNotMatch(page, /<style|style=|<script(?![^>]* src=)|\son\w+=/);
  const files = readdirSync(path.join(folder, 'assets')).filter((name) => name.endsWith('.css'));
  for (const file of files)
    assert.doesNotMatch(
      readFileSync(path.join(folder, 'assets', file), 'utf8'),
      /data:font|https?:\/\/(?!www\.w3\.org)/,
      file,
    );
});

test('the server can tell the page that it is that of platform dev', () => {
  assert.equal(page.split('<meta name="platform-mode" content="production" />').length, 2);
});
