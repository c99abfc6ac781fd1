import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from '#builder/build/build.ts';
import { canonicalJson, hashOf } from '#core/artifact-id.ts';
import { parseProjectConfig, type ProjectConfig } from '#core/config/project-config.ts';
import type { Manifest } from '#core/manifest.ts';
import { openArtifact } from '#artifacts/artifact-source.ts';
import { isArchiveError } from '#core/archive/archive-error.ts';
import { packArtifact } from '#artifacts/archive/pack-artifact.ts';
import { receiveArtifact } from '#artifacts/archive/receive-artifact.ts';
import { tarHeader } from '#core/archive/tar-header.ts';
import { archiveOf, changedHeader, staticArtifact } from '#test/setup/archives.ts';

const root = mkdtempSync(path.join(tmpdir(), 'archive-'));
after(() => rmSync(root, { recursive: true }));
const limits = { artifactBytesMax: 10_000_000, artifactFilesMax: 100 };
let places = 0;
const place = (): string => {
  const folder = path.join(root, String(++places));
  mkdirSync(folder);
  return folder;
};

async function receive(archive: Uint8Array, own = limits, data = place()): Promise<{ id: string; data: string }> {
  const file = path.join(place(), 'upload');
  writeFileSync(file, archive);
  try {
    return { ...(await receiveArtifact(data, file, own)), data };
  } finally {
    const artifacts = path.join(data, 'artifacts');
    assert.deepEqual(
      readdirSync(artifacts).filter((name) => name.startsWith('.')),
      [],
    );
  }
}

async function refused(archive: Uint8Array, reason: string, message: RegExp, own = limits): Promise<void> {
  const data = place();
  await assert.rejects(receive(archive, own, data), (error: Error) => {
    assert.ok(isArchiveError(error), String(error.stack));
    assert.equal(error.code, reason);
    assert.match(error.message, message);
    return true;
  });
  assert.deepEqual(readdirSync(data, { recursive: true }), ['artifacts']);
}

async function builtArtifact(): Promise<{ id: string; folder: string }> {
  const source = place();
  mkdirSync(path.join(source, 'src'));
  mkdirSync(path.join(source, 'migrations'));
  mkdirSync(path.join(source, 'public/a'), { recursive: true });
  writeFileSync(path.join(source, 'src/index.ts'), 'export default { fetch: () => new Response("hello") };');
  writeFileSync(path.join(source, 'migrations/1.sql'), 'CREATE TABLE t (a);');
  writeFileSync(path.join(source, 'public/index.html'), 'x'.repeat(5000));
  writeFileSync(path.join(source, `public/a/${'long-'.repeat(30)}.txt`), 'long');
  writeFileSync(path.join(source, 'public/a/Grüße.txt'), 'hi');
  writeFileSync(path.join(source, 'public/_headers'), '/*\n  X-One: 1\n');
  writeFileSync(path.join(source, 'public/_redirects'), '/old/* /new/:splat 301\n');
  const yaml =
    'kind: worker\nout: public\ndb: { DB: main }\nqueue: { MAIL: { name: mail, max_retries: 2 } }\ncron: { C: "0 3 * * *" }\n';
  const config = parseProjectConfig(yaml, { file: 'platform.yaml' }).config as ProjectConfig;
  return build({ root: source, config, artifacts: path.join(source, 'artifacts'), durable: false });
}

test('an artifact that is packed arrives as it was built, under the same id', async () => {
  const built = await builtArtifact();
  const file = path.join(place(), 'packed.tar.gz');
  const packed = await packArtifact(built.folder, file);
  const archive = readFileSync(file);
  assert.deepEqual([packed.bytes, packed.sha256], [archive.length, hashOf(archive)]);
  const { id, data } = await receive(archive);
  assert.equal(id, built.id);
  const received = path.join(data, 'artifacts', id);
  assert.equal(execFileSync('diff', ['-r', built.folder, received]).toString(), '');
  assert.equal(openArtifact(data, id).manifest.kind, 'dynamic');
  const again = path.join(place(), 'again');
  await packArtifact(received, again);
  assert.ok(readFileSync(again).equals(archive));
});

for (const format of ['ustar', 'pax', 'gnu'])
  test(`what tar itself makes in the format ${format} is read`, async () => {
    const built = await builtArtifact();
    const file = path.join(place(), 'by-tar');
    // Some names are too long for ustar, which tar says by its exit code.
    if (format === 'ustar') rmSync(path.join(built.folder, 'assets/a', `${'long-'.repeat(30)}.txt`));
    execFileSync('tar', [`--format=${format}`, '-cf', file, '-C', built.folder, '.']);
    if (format === 'ustar') return refused(readFileSync(file), 'artifact_invalid', /"assets\/a\/long-.*is missing/);
    assert.equal((await receive(readFileSync(file))).id, built.id);
    assert.equal((await receive(gzipSync(readFileSync(file)))).id, built.id);
  });

test('what packs is read by tar itself', async () => {
  const built = await builtArtifact();
  const file = path.join(place(), 'packed.tar.gz');
  await packArtifact(built.folder, file);
  const target = place();
  execFileSync('tar', ['-xzf', file, '-C', target]);
  assert.equal(execFileSync('diff', ['-r', built.folder, target]).toString(), '');
});

const good = staticArtifact();

test('paths that lead out, links, devices and files that are there twice are refused', async () => {
  const with_ = (name: string, content = 'x'): Uint8Array => archiveOf({ ...good.files, [name]: content });
  await refused(with_('/etc/passwd'), 'archive_invalid', /"\/etc\/passwd" is absolute/);
  await refused(with_('assets/../../x'), 'archive_invalid', /has the part "\.\."/);
  await refused(with_('../x'), 'archive_invalid', /has the part "\.\."/);
  await refused(with_('assets//x'), 'archive_invalid', /has an empty part/);
  await refused(with_('assets/a\\..\\x'), 'archive_invalid', /contains a character that is not allowed in a path/);
  await refused(with_('assets/a\nb'), 'archive_invalid', /contains a character that is not allowed in a path/);
  await refused(with_('other/x'), 'archive_invalid', /is not a part of an artifact/);
  await refused(with_(`assets/${'d/'.repeat(70)}x`), 'archive_invalid', /is deeper than 64 folders/);
  await refused(with_(`assets/${'n'.repeat(300)}`), 'archive_invalid', /has a part longer than 255 bytes/);
  await refused(with_('encoded/1234'), 'archive_invalid', /is not a part of an artifact/);
  await refused(archiveOf({ ...good.files }, [['assets/index.html', 'other']]), 'archive_invalid', /is there twice/);
  await refused(with_('assets/index.html/x'), 'archive_invalid', /is a file and a folder/);
  for (const [flag, what] of Object.entries({
    1: 'a hard link',
    2: 'a symbolic link',
    3: 'a character device',
    6: 'a named pipe',
    S: 'a sparse file',
    Z: 'an entry of the type "Z"',
  }))
    await refused(
      changedHeader(archiveOf({ 'assets/x': '', ...good.files }), (header) => void header.write(flag, 156)),
      'archive_invalid',
      new RegExp(`"assets/x" is ${what}; only files and folders are taken`),
    );
});

test('an archive that is cut off, broken or goes on after its end is refused', async () => {
  const archive = Buffer.from(archiveOf(good.files));
  await refused(Buffer.alloc(0), 'archive_invalid', /is truncated/);
  await refused(archive.subarray(0, 700), 'archive_invalid', /is truncated/);
  await refused(archive.subarray(0, archive.length - 1024), 'archive_invalid', /is truncated/);
  await refused(gzipSync(archive).subarray(0, 200), 'archive_invalid', /compression is damaged/);
  await refused(Buffer.concat([archive, Buffer.from('more')]), 'archive_invalid', /there is data after its end/);
  await refused(
    Buffer.from('PK\x03\x04'.padEnd(1024, 'x')),
    'archive_invalid',
    /does not match its checksum|malformed number/,
  );
  const broken = Buffer.from(archive);
  broken[10]! ^= 1;
  await refused(broken, 'archive_invalid', /does not match its checksum/);
  const long = Buffer.concat([tarHeader('x', 9_000_000), archive]);
  long[156] = 'x'.charCodeAt(0);
  await refused(
    changedHeader(long, () => {}),
    'archive_invalid',
    /a name has more than 8192 bytes/,
  );
});

test('an artifact beyond its bounds is refused before its content is there', async () => {
  await refused(archiveOf(good.files), 'artifact_too_many_files', /more than 1 files/, {
    ...limits,
    artifactFilesMax: 1,
  });
  await refused(archiveOf(good.files), 'artifact_too_large', /BUILD_ARTIFACT_MAX_BYTES allows 20/, {
    ...limits,
    artifactBytesMax: 20,
  });
  // A megabyte of zeros is a kilobyte of gzip.
  const bomb = gzipSync(Buffer.concat([tarHeader('assets/x', 50_000_000), Buffer.alloc(50_000_000)]));
  await refused(bomb, 'artifact_too_large', /50000000 bytes or more/);
});

test('a forged artifact cannot take the place of another', async () => {
  const other = staticArtifact('another page');
  await refused(
    archiveOf({ ...good.files, 'assets/index.html': other.files['assets/index.html']! }),
    'artifact_invalid',
    /"assets\/index.html" is not what its manifest says/,
  );
  const { id } = await receive(archiveOf(other.files));
  assert.equal(id, other.id);
  assert.notEqual(id, good.id);
  await refused(archiveOf({ ...good.files, 'assets/more.html': 'x' }), 'artifact_invalid', /is not in its manifest/);
});

function forged(change: (manifest: Record<string, any>) => void): Uint8Array {
  const manifest = structuredClone(good.manifest) as unknown as Record<string, any>;
  change(manifest);
  return archiveOf({ ...good.files, 'manifest.json': canonicalJson(manifest) });
}

test('a manifest is checked completely', async () => {
  const wrong = (change: (manifest: Record<string, any>) => void, message: RegExp): Promise<void> =>
    refused(forged(change), 'artifact_invalid', message);
  const file = good.manifest.assets!.files['index.html']!;
  await wrong((m) => (m['assets'].files = { '../../../etc/passwd': file }), /the asset .* has the part "\.\."/);
  await wrong((m) => (m['assets'].files['index.html'].bytes += 1), /is not what its manifest says/);
  await wrong((m) => (m['assets'].files['index.html'].hash = 'x'), /files\/index.html\/hash/);
  await wrong((m) => (m['assets'].files['index.html'].type = 'text/html\r\nset-cookie: a'), /type/);
  await wrong(
    (m) => (m['assets'].headers = [{ pattern: '/*', set: [['content-length', '1']], remove: [] }]),
    /set by the server/,
  );
  await wrong(
    (m) => (m['assets'].headers = [{ pattern: '/*', set: [['x', 'a\nb']], remove: [] }]),
    /not allowed in headers/,
  );
  await wrong(
    (m) => (m['assets'].redirects = [{ from: '/a', to: '//evil', status: 200, force: false }]),
    /is not a path of this site/,
  );
  await wrong((m) => (m['bindings'] = { db: { DB: 'main~~other' } }), /"main~~other" is not a resource name/);
  await wrong((m) => (m['bindings'] = { db: { DB: '../x' } }), /is not a resource name/);
  await wrong((m) => (m['bindings'] = { shell: { X: 'x' } }), /"shell" is not a kind of bindings/);
  await wrong((m) => (m['cron'] = { C: { schedule: '* *', timezone: 'UTC' } }), /has 5 or 6 fields/);
  await wrong((m) => (m['cron'] = { C: { schedule: '* * * * *', timezone: 'Mars' } }), /is not a time zone/);
  const classes = (objectClasses: object) => (m: Record<string, any>) => void (m['objectClasses'] = objectClasses);
  await wrong(classes({ renamed: { A: 'B', B: 'A' } }), /objectClasses: The class A is renamed to itself/);
  await wrong(classes({ deleted: ['../x'] }), /objectClasses: "\.\.\/x" is not the name of a class/);
  await wrong(classes({ deleted: Array.from({ length: 101 }, (_, at) => `C${at}`) }), /objectClasses\/deleted/);
  await wrong(classes({ moved: [] }), /objectClasses/);
  const release = { steps: [5, 100], minutes: 5, errors: '1%', p99: '1.5x', cpu: '2x' };
  await wrong((m) => (m['release'] = { ...release, steps: [100, 5] }), /release\.steps must rise: 5 follows 100/);
  await wrong((m) => (m['release'] = { ...release, errors: '1' }), /\/release\/errors/);
  await wrong((m) => (m['version'] = 2), /version/);
  await wrong((m) => (m['more'] = true), /is not a known field|more/);
  await wrong((m) => (m['worker'] = { hash: file.hash, bytes: 1, mapHash: null }), /a static project has no worker/);
  await wrong((m) => delete m['ai'], /ai/);
  await refused(archiveOf({ ...good.files, 'manifest.json': '{' }), 'artifact_invalid', /manifest.json is not JSON/);
  const { 'manifest.json': _, ...without } = good.files;
  await refused(archiveOf(without), 'artifact_invalid', /has no manifest.json/);
});

test('migrations belong to databases of the manifest', async () => {
  const text = JSON.stringify([{ resource: 'other', files: [['1.sql', 'SELECT 1']] }]);
  const manifest: Manifest = { ...good.manifest, bindings: { db: { DB: 'main' } }, migrations: { hash: hashOf(text) } };
  const files = { ...good.files, 'manifest.json': canonicalJson(manifest), 'migrations.json': text };
  await refused(archiveOf(files), 'artifact_invalid', /"other" is no database of the manifest/);
});
