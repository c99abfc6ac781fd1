// Builds of test repositories, confined in each way that this machine can: for tests of builder/steps/.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { isFailure, type Failure } from '#core/failure.ts';
import { confinementOf } from '#core/process/confinement/confinement.ts';
import { CHILD, ownFolders } from '#builder/steps/own-folders.ts';
import { runBuild } from '#builder/service/run-build.ts';
import type { Confinement } from '#core/process/confinement/types.ts';
import type { OpenFence } from '#builder/steps/fence.ts';
import type { BuildRequest, BuildResult, PackedProgram } from '#builder/steps/types.ts';
import { defaultLimits } from '#core/limits.ts';
import { testOutbound } from './outbound.ts';

/** Each attack in its full size, on each way to confine builds: takes minutes. */
export const ALL = process.env['BUILD_ATTACKS'] === 'all';

/** Path in the repository -> text. */
type Files = Readonly<Record<string, string | Uint8Array>>;

/** A worker that needs no build. */
export const WORKER: Files = {
  'platform.yaml': 'kind: worker\nname: shop\n',
  'src/index.ts': 'export default { fetch: () => new Response("hello") };\n',
};

/** A worker whose build command is a script, `sh` or `node` by its name. */
export function workerWith(script: string, name = 'hostile.sh'): Files {
  const program = name.endsWith('.sh') ? 'sh' : 'node';
  return { ...WORKER, 'platform.yaml': `kind: worker\nname: shop\nbuild: ${program} ${name}\n`, [name]: script };
}

/** Folders of a test: a repository, and what a builder has. Gone after the test. */
export interface BuildPlace {
  readonly folder: string;
  /** Closed to builds, as a data folder is. */
  readonly privateFolder: string;
  readonly artifacts: string;
  readonly cache: string;
  readonly bare: string;
  /** What is built: the bare repository, or the work tree. */
  readonly source: string;
  /** Commits files, all others are gone. @returns the commit's hash; '' of a place without Git. */
  commit(files: Files, message?: string): string;
  /** Runs Git in the work tree. */
  git(...words: readonly string[]): string;
  /** What lies in the folder of work folders: nothing, after a build. */
  leftOver(): string[];
}

/** @param hasGit false: what is built is a tree of sources, which takes no process to write or to fetch. */
export function openBuildPlace(t: Pick<TestContext, 'after'>, hasGit = true): BuildPlace {
  const folder = mkdtempSync(join(tmpdir(), 'builds-'));
  chmodSync(folder, 0o711);
  const of = (name: string, mode: number): string => {
    mkdirSync(join(folder, name));
    chmodSync(join(folder, name), mode);
    return join(folder, name);
  };
  const work = of('work', 0o711);
  const tree = of('tree', 0o700);
  const bare = join(folder, 'bare.git');
  const git = (...words: readonly string[]): string => {
    const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'protocol.file.allow=always'];
    const env = { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', HOME: folder };
    return execFileSync('git', [...identity, ...words], { cwd: tree, env, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
  };
  if (hasGit) {
    git('init', '-q', '-b', 'main');
    git('init', '-q', '--bare', '-b', 'main', bare);
  }
  // It takes what builds of other users left, closed to all.
  t.after(() => execFileSync('rm', ['-rf', folder]));
  return {
    folder,
    privateFolder: of('private', 0o700),
    artifacts: of('artifacts', 0o700),
    cache: of('cache', 0o700),
    bare,
    source: hasGit ? bare : tree,
    git,
    commit(files, message = 'First') {
      for (const name of readdirSync(tree)) if (name !== '.git') rmSync(join(tree, name), { recursive: true });
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(tree, path)), { recursive: true });
        writeFileSync(join(tree, path), text);
      }
      if (!hasGit) return '';
      git('add', '-A', '-f');
      git('commit', '-q', '--allow-empty', '-m', message);
      git('push', '-q', '--force', bare, 'HEAD:main');
      return git('rev-parse', 'HEAD');
    },
    leftOver: () => readdirSync(work),
  };
}

/** A build and what it said. */
export interface BuiltPlace {
  readonly result: BuildResult | null;
  readonly failure: Failure<'build'> | null;
  /** Lines of the platform and output of commands, in their order. */
  readonly log: string;
  readonly steps: readonly string[];
  /** Bytes that commands wrote. */
  readonly bytes: number;
}

/** What differs from a build of `main` in the place's bare repository. */
export type BuildWishes = Partial<Omit<BuildRequest, 'limits'>> & { readonly limits?: Partial<BuildRequest['limits']> };

const LOG_CHARS_KEPT = 200_000;

/** @param open makes the folders and runs the commands; by default the builder's own. */
export async function buildIn(
  place: BuildPlace,
  confinement: Confinement,
  wishes: BuildWishes = {},
  open?: OpenFence,
): Promise<BuiltPlace> {
  let log = '';
  let bytes = 0;
  const steps: string[] = [];
  const keep = (text: string): void => void (log = (log + text).slice(-LOG_CHARS_KEPT));
  const { artifactBytesMax, artifactFilesMax, bundleBytesMax } = defaultLimits;
  const own = { artifactBytesMax, artifactFilesMax, bundleBytesMax, diskFreeBytesMin: 0 };
  const request: BuildRequest = {
    deploymentId: 'd0123456789ab',
    project: 'shop',
    branch: 'main',
    commit: null,
    source: { folder: place.source },
    configPath: '',
    settings: { buildCommand: null, outputDirectory: null, installCommand: null },
    variables: {},
    platformVariables: { CI: '1', PLATFORM_BRANCH: 'main' },
    workFolder: mkdtempSync(join(place.folder, 'work', 'build-')),
    cacheFolder: place.cache,
    artifactsFolder: place.artifacts,
    confinement,
    outbound: testOutbound(),
    sandbox: null,
    slot: SLOT,
    isFork: false,
    signal: new AbortController().signal,
    onStep: (step) => void steps.push(step),
    onLine: (step, level, text) => keep(`[${step} ${level}] ${text}\n`),
    onOutput: (_step, _level, chunk) => {
      bytes += chunk.length;
      keep(Buffer.from(chunk).toString('utf8'));
    },
    onProcessGroup: () => () => {},
    ...wishes,
    limits: { ...defaultLimits.build, ...own, ...wishes.limits },
  };
  try {
    const result = await runBuild(request, open);
    return { result, failure: null, log, steps, bytes };
  } catch (error) {
    if (!isFailure(error, 'build')) throw error;
    return { result: null, failure: error, log, steps, bytes };
  } finally {
    rmSync(request.workFolder, { recursive: true, force: true });
  }
}

/** A program for builds in sandboxes of this machine: the checkout's, where packing and unpacking take seconds. */
export const linkedProgram: PackedProgram = {
  hash: 'linked',
  script: 'child.ts',
  async bytes() {
    const folder = mkdtempSync(join(tmpdir(), 'linked-program-'));
    try {
      const child = JSON.stringify(CHILD);
      writeFileSync(join(folder, 'child.ts'), `process.argv[1] = ${child};\nawait import(${child});\n`);
      return execFileSync('tar', ['-cz', '-C', folder, 'child.ts']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

/** Test files run side by side, and a user's processes are ended together: each file has a user of its own. */
const SLOT = process.pid % 256;

/** A way of confining builds. */
interface Way {
  readonly name: string;
  readonly confinement: Confinement;
  /** All attacks are made: on the best way that works here, and with BUILD_ATTACKS=all on each. */
  readonly isWhole: boolean;
}

/** Every way that works here. Says in a line which one does not, and what it would take. */
export async function possibleWays(): Promise<readonly Way[]> {
  const folder = mkdtempSync(join(tmpdir(), 'builds-'));
  chmodSync(folder, 0o711);
  mkdirSync(join(folder, 'private'), { mode: 0o700 });
  const ways: Way[] = [];
  const wanted = [
    ['user ids in namespaces', ['uid', 'namespaces', 'groups'], 'namespaces', null],
    ['user ids alone, watched', ['uid'], 'user', null],
    // By our own program, also where the first way takes bubblewrap.
    ['namespaces alone, watched', ['namespaces'], 'namespaces', 'own'],
  ] as const;
  for (const [name, tried, kind, fence] of wanted) {
    const options = {
      workFolders: folder,
      privateFolders: [join(folder, 'private')],
      ways: tried,
      readable: ownFolders(),
      needs: CHILD,
      isOffline: true,
      mayShareNetwork: true,
      environment: { ...process.env, ...(fence !== null && { PLATFORM_FENCE: fence }) },
    };
    const confinement = await confinementOf(options);
    const isIt = confinement.kind === kind && tried[0] === (confinement.firstUid == null ? 'namespaces' : 'uid');
    if (isIt) ways.push({ name, confinement, isWhole: ways.length === 0 || ALL });
    else process.stdout.write(`# Skipped, builds confined by ${name}: ${confinement.reason}\n`);
  }
  rmSync(folder, { recursive: true });
  return ways;
}
