// Brings the Web Platform Tests, as Debian's source package `nodejs` carries them, into a cache outside the repository.
// Used by main.ts and the quick subset. Own apt state and sources throughout: the system's configuration is read, never
// touched.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PACKAGE = 'nodejs';
/** Newest first: what a suite lists is not always what the mirror serves. */
const SUITES = ['sid', 'trixie'];

/** A suite of tests on disk. */
export interface Suite {
  /** Version of the source package. */
  readonly version: string;
  /** Root of the tests: what a browser would see as `/`. */
  readonly folder: string;
}

interface Source {
  readonly suite: string;
  readonly version: string;
  readonly archive: string;
  readonly sha256: string;
}

/** The suite in the cache; null where there is none. */
export async function cachedSuite(cache: string): Promise<Suite | null> {
  const note = join(cache, 'wpt', 'version');
  if (!existsSync(note)) return null;
  const version = (await readFile(note, 'utf8')).trim();
  const folder = join(cache, 'wpt', version);
  return existsSync(folder) ? { version, folder } : null;
}

/**
 * The suite, fetched when the cache has none.
 *
 * @param wanted the version the expectations were written for; taken when a mirror still serves it, else the newest.
 * @throws {Error} when no suite of the mirror serves the package.
 */
export async function fetchSuite(cache: string, wanted: string | null, say: (line: string) => void): Promise<Suite> {
  const cached = await cachedSuite(cache);
  if (cached !== null) return cached;
  const home = join(cache, 'wpt');
  await mkdir(home, { recursive: true });
  const work = await mkdtemp(join(home, 'fetch-'));
  try {
    const mirror = await systemMirror();
    const refused: string[] = [];
    for (const suite of SUITES) {
      const environment = await prepareApt(work, mirror, suite);
      for (const source of await listSources(environment, suite, wanted)) {
        const archive = await download(environment, work, source);
        if (archive === null) {
          refused.push(`${source.suite} ${source.version}`);
          continue;
        }
        say(`Web Platform Tests of ${PACKAGE} ${source.version} (${suite})`);
        return await unpack(archive, work, home, source.version);
      }
    }
    throw new Error(`The mirror serves no source of ${PACKAGE}: tried ${refused.join(', ') || SUITES.join(', ')}`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Where the running release comes from: Debian's other suites lie beside it. */
async function systemMirror(): Promise<string> {
  const release = /^VERSION_CODENAME=(.+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1] ?? '';
  const { stdout } = await run('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI) $(RELEASE) $(COMPONENT)',
    'Created-By: Packages',
  ]);
  for (const line of stdout.split('\n')) {
    const [uri, suite, component] = line.split(' ');
    if (suite === release && component === 'main') return uri as string;
  }
  throw new Error(`No apt source of ${release} main to derive a mirror from`);
}

async function prepareApt(work: string, mirror: string, suite: string): Promise<NodeJS.ProcessEnv> {
  const home = join(work, suite);
  for (const folder of ['state/lists/partial', 'archives/partial', 'parts'])
    await mkdir(join(home, folder), { recursive: true });
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  await writeFile(join(home, 'sources.list'), `deb-src [signed-by=${keys}] ${mirror} ${suite} main\n`);
  await writeFile(join(home, 'status'), '');
  await writeFile(
    join(home, 'apt.conf'),
    `Dir::State "${home}/state";\nDir::State::status "${home}/status";\nDir::Cache "${home}";\n` +
      `Dir::Etc::sourcelist "${home}/sources.list";\nDir::Etc::sourceparts "${home}/parts";\nDir::Etc::preferencesparts "${home}/parts";\n` +
      'APT::Sandbox::User "root";\nAcquire::Languages "none";\n',
  );
  const environment = { ...process.env, APT_CONFIG: join(home, 'apt.conf') };
  // A mirror without this suite says so by having no sources below.
  await run('apt-get', ['update', '-qq'], { env: environment }).catch(() => undefined);
  return environment;
}

async function listSources(environment: NodeJS.ProcessEnv, suite: string, wanted: string | null): Promise<Source[]> {
  const shown = await run('apt-cache', ['showsrc', PACKAGE], { env: environment }).catch(() => ({ stdout: '' }));
  const sources: Source[] = [];
  for (const paragraph of shown.stdout.split(/\n\s*\n/)) {
    const version = /^Version: (.+)$/m.exec(paragraph)?.[1];
    const checksum = /^ ([0-9a-f]{64}) \d+ (\S+\.orig\.tar\.\w+)$/m.exec(paragraph);
    if (version !== undefined && checksum !== null)
      sources.push({ suite, version, sha256: checksum[1]!, archive: checksum[2]! });
  }
  const rank = (source: Source): string => `${source.version === wanted ? 1 : 0}`;
  const byVersion = (a: Source, b: Source): number => b.version.localeCompare(a.version, 'en', { numeric: true });
  return sources.toSorted((a, b) => rank(b).localeCompare(rank(a)) || byVersion(a, b));
}

/** Only the upstream archive matters: a mirror that lost the packaging files of a version may still have it. */
async function download(environment: NodeJS.ProcessEnv, work: string, source: Source): Promise<string | null> {
  await run('apt-get', ['source', '-qq', '--download-only', `${PACKAGE}=${source.version}`], {
    env: environment,
    cwd: work,
  }).catch(() => undefined);
  const file = join(work, source.archive);
  if (!existsSync(file)) return null;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex') === source.sha256 ? file : null;
}

async function unpack(archive: string, work: string, home: string, version: string): Promise<Suite> {
  const partial = join(work, 'unpacked');
  await mkdir(partial);
  await run('tar', ['-xf', archive, '-C', partial, '--wildcards', '*/test/fixtures/wpt/*', '--strip-components=4']);
  const folder = join(home, version);
  await rm(folder, { recursive: true, force: true });
  await rename(partial, folder);
  await writeFile(join(home, 'version'), version);
  return { version, folder };
}
