// Release archives are checked before anything of them is unpacked.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { installRelease } from '#operations/upgrade/releases.ts';

const system = `${process.platform}-${process.arch}`;
const work = mkdtempSync(path.join(tmpdir(), 'archive-'));
after(() => rmSync(work, { recursive: true }));

/** An archive as `npm run pack -- archive` makes them, with next to nothing in it. */
function archive(folder: string, name = `platform-9.0.0-${system}`): string {
  const program = path.join(work, folder, name, 'node_modules/@platform-run/cli');
  mkdirSync(path.join(program, 'operations'), { recursive: true });
  writeFileSync(path.join(program, 'package.json'), '{ "version": "9.0.0" }');
  const file = path.join(work, folder, `${name}.tar.gz`);
  execFileSync('tar', ['-czf', file, '-C', path.join(work, folder), name]);
  noteSum(file);
  return file;
}

function noteSum(file: string): void {
  const sum = createHash('sha256').update(readFileSync(file)).digest('hex');
  writeFileSync(`${file}.sha256`, `${sum}  ${path.basename(file)}\n`);
}

function signSum(file: string, key: KeyObject): void {
  writeFileSync(`${file}.sha256.sig`, sign(null, readFileSync(`${file}.sha256`), key));
}

function install(home: string, file: string): Promise<{ readonly folder: string; readonly version: string }> {
  return installRelease(path.join(work, home), file, work, []);
}

/** That an archive is refused with a message, and that nothing of it is left. */
async function refused(home: string, file: string, message: RegExp): Promise<void> {
  await assert.rejects(install(home, file), message);
  assert.equal(existsSync(path.join(work, home, 'releases')), false);
}

test('an archive is unpacked beside the other releases, once', async () => {
  const file = archive('good');
  const { folder, version } = await install('home', file);
  assert.equal(version, '9.0.0');
  const sum = readFileSync(`${file}.sha256`, 'utf8').slice(0, 12);
  assert.equal(folder, path.join(work, 'home/releases', `platform-9.0.0-${system}-${sum}`));
  assert.deepEqual(await install('home', file), await install('home', file));
});

test('an archive that is cut off, changed, renamed or without a checksum is refused', async () => {
  const cut = archive('cut');
  truncateSync(cut, 100);
  await refused('cut-home', cut, /is damaged or was changed: its SHA-256 is not that of/);
  const changed = archive('changed');
  const bytes = readFileSync(changed);
  bytes[bytes.length - 1]! ^= 1;
  writeFileSync(changed, bytes);
  await refused('changed-home', changed, /is damaged or was changed/);
  const renamed = archive('renamed');
  const other = renamed.replace('9.0.0', '9.0.1');
  for (const end of ['', '.sha256']) renameSync(`${renamed}${end}`, `${other}${end}`);
  await refused('renamed-home', other, /is damaged or was changed/);
  const bare = archive('bare');
  rmSync(`${bare}.sha256`);
  await refused('bare-home', bare, /There is no platform-9\.0\.0-\S+\.tar\.gz\.sha256 beside the archive/);
});

test('an archive for another system is refused', async () => {
  await refused('other-home', archive('other', 'platform-9.0.0-linux-mips'), /is not for this machine/);
});

test('an installation with a key takes only archives that are signed with it', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  mkdirSync(path.join(work, 'keyed'));
  writeFileSync(path.join(work, 'keyed/release.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  const file = archive('signed');
  await refused('keyed', file, /is not signed with the key of this installation/);
  signSum(file, generateKeyPairSync('ed25519').privateKey);
  await refused('keyed', file, /is not signed with the key of this installation/);
  writeFileSync(`${file}.sha256.sig`, 'no signature');
  await refused('keyed', file, /is not signed with the key of this installation/);
  signSum(file, privateKey);
  assert.equal((await install('keyed', file)).version, '9.0.0');
});
