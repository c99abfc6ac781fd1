// Icons out of artifacts: which file is taken, and what is refused.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { readArtifactIcon } from '#control/releases/artifact-icon.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'platform-icons-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>';
const PNG = Buffer.from('89504e470d0a1a0a00', 'hex');
const ICO = Buffer.from('0000010001', 'hex');
const urlOf = (type: string, bytes: Buffer | string): string =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;

let made = 0;
/** The icon of an artifact with these static files. */
function iconOf(files: Readonly<Record<string, string | Buffer>>): Promise<string | null> {
  const id = String(++made).padStart(64, '0');
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, 'artifacts', id, 'assets', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  return readArtifactIcon(folder, id);
}

test('the icon is the one that the page links to, or else a usual file', async () => {
  const page = (link: string): string => `<!doctype html><head><link rel="stylesheet" href="/a.css">${link}</head>`;
  const linked = { 'static/my icon.png': PNG, 'favicon.ico': ICO };
  for (const link of [
    '<link rel="icon" href="/static/my%20icon.png">',
    "<link href='static/my%20icon.png' rel='shortcut icon' />",
    '<LINK REL=icon TYPE=image/png HREF=./static/my%20icon.png?v=2>',
  ])
    assert.equal(await iconOf({ ...linked, 'index.html': page(link) }), urlOf('image/png', PNG), link);
  for (const link of [
    '<link rel="mask-icon" href="/static/my%20icon.png">',
    '<link rel="icon" href="https://other.example/static/my%20icon.png">',
    '<link rel="icon" href="/none.png">',
    '<link rel="icon" href="%E0%A4%A">',
    '<link rel="icon">',
  ])
    assert.equal(await iconOf({ ...linked, 'index.html': page(link) }), urlOf('image/x-icon', ICO), link);
  assert.equal(await iconOf({ 'favicon.ico': ICO, 'favicon.svg': SVG }), urlOf('image/svg+xml', SVG));
  assert.equal(await iconOf({ 'favicon.png': PNG }), urlOf('image/png', PNG));
  assert.equal(await iconOf({ 'main.js': '' }), null);
});

test('the type is that of the content, and other contents are no icon', async () => {
  assert.equal(await iconOf({ 'favicon.ico': PNG }), urlOf('image/png', PNG));
  const declared = `<?xml version="1.0"?>\n<!-- drawn -->\n${SVG}`;
  assert.equal(await iconOf({ 'favicon.svg': declared }), urlOf('image/svg+xml', declared));
  assert.equal(await iconOf({ 'favicon.ico': '<html><script>alert(1)</script></html>' }), null);
  assert.equal(await iconOf({ 'favicon.svg': '<html><svg/></html>', 'favicon.ico': '' }), null);
});

test('a page of unfinished links does not hide its icon', async () => {
  const html = `${'<link'.repeat(10_000)}<link rel="icon" href="/logo.png">`;
  assert.equal(await iconOf({ 'index.html': html, 'logo.png': PNG }), urlOf('image/png', PNG));
});

test('an icon of more than 32 KB is left out', async () => {
  assert.equal(
    (await iconOf({ 'favicon.png': Buffer.concat([PNG, Buffer.alloc(32_768 - PNG.length)]) })) === null,
    false,
  );
  assert.equal(await iconOf({ 'favicon.png': Buffer.concat([PNG, Buffer.alloc(32_769 - PNG.length)]) }), null);
});

test('no path and no link leads out of the static files', async () => {
  writeFileSync(path.join(folder, 'secret.png'), PNG);
  const link =
    '<link rel="icon" href="/%2e%2e/%2e%2e/%2e%2e/secret.png"><link rel="icon" href="..%2f..%2f..%2fsecret.png">';
  assert.equal(await iconOf({ 'index.html': link }), null);
  const id = 'a'.repeat(64);
  const assets = path.join(folder, 'artifacts', id, 'assets');
  mkdirSync(assets, { recursive: true });
  symlinkSync(path.join(folder, 'secret.png'), path.join(assets, 'favicon.png'));
  symlinkSync(folder, path.join(assets, 'out'));
  writeFileSync(path.join(assets, 'index.html'), '<link rel="icon" href="/out/secret.png">');
  assert.equal(await readArtifactIcon(folder, id), null);
  assert.equal(await readArtifactIcon(folder, '../secret.png'), null);
});
