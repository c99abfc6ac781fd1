// Checks out exactly one commit of a repository, without Git metadata. Credentials are passed to the fetch by
// environment and short-lived files; the file list is checked before any file is written. Called by run-build.ts.
import { chmod, cp, lstat, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Failure } from '#core/failure.ts';
import { pullRequestOf } from '#core/names.ts';
import { gitEnvironment } from '#git/git-environment.ts';
import { isInside } from '../project/containment.ts';
import { machineVariables } from './environment.ts';
import { leadsOut, pathProblem, readTree, shown, type GitTree } from './git-tree.ts';
import { fetchFailure, isNotFound, isRefused } from './git-messages.ts';
import type { Fence, FencedExit } from './fence.ts';
import { buildFailure, type BuildRequest, type BuildResult, type BuildSource } from './types.ts';

/** A checkout. */
interface Checkout {
  readonly commit: BuildResult['commit'];
  /** Paths of all files, relative to the root, with `/`. */
  readonly paths: readonly string[];
}

/** Settings of every Git call, so that no configuration of the repository or the machine can run programs. */
const SETTINGS: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'core.symlinks': 'true',
  'core.attributesFile': '/dev/null',
  'core.excludesFile': '/dev/null',
  'credential.helper': '',
  'fetch.fsckObjects': 'true',
  // These problems are harmless, and occur in repositories of old tools.
  'fetch.fsck.zeroPaddedFilemode': 'warn',
  'fetch.fsck.badTimezone': 'warn',
  'fetch.fsck.missingSpaceBeforeDate': 'warn',
  'fetch.fsck.missingNameBeforeEmail': 'warn',
  'fetch.recurseSubmodules': 'false',
  'gc.auto': '0',
  'http.followRedirects': 'false',
  'http.lowSpeedLimit': '1000',
  'http.lowSpeedTime': '60',
  'init.defaultBranch': 'main',
  'maintenance.auto': 'false',
  'protocol.version': '2',
  'safe.directory': '*',
  'submodule.recurse': 'false',
  'transfer.bundleURI': 'false',
};

const OWN_REPOSITORIES = join(import.meta.dirname, 'own-repositories.gitconfig');

/** Folder for the ssh key and known hosts during the fetch, inside the home folder. */
const FETCH_FOLDER = '.fetch';
/** Commits of a branch to fetch if a server does not serve single commits. */
const DEPTH = '100';
/** Maximum total length of link targets, which are buffered as one output. */
const LINKS_BYTES_MAX = 300_000;
const REF = 'refs/platform/commit';
const ADDRESS = /^[0-9a-fA-F.:]{2,45}$/;

/** @throws {Failure} `build`, or the reason of the build's signal. */
export async function checkOut(request: BuildRequest, fence: Fence): Promise<Checkout> {
  const { source } = request;
  if ('folder' in source && !(await isBare(source.folder))) return copySources(source.folder, request, fence);
  checkNames(request);
  const git = gitOf(request, fence);
  const at = 'url' in source ? source.url : `file://${await realpath(source.folder)}`;
  request.onLine('clone', 'info', `Fetching ${request.commit ?? request.branch} of branch ${request.branch}`);
  await fetchCommit(git, at, request);
  // If the repository is a folder of the platform, the platform's user fetches it.
  await fence.giveAway(fence.folders.git);
  await rm(join(fence.folders.home, FETCH_FOLDER), { recursive: true, force: true });
  const commit = await readCommit(git);
  const tree = await listFiles(git, request);
  await checkLinks(git, tree);
  await git.run(['read-tree', REF], { isLocal: true });
  const written = await git.run(
    [`--work-tree=${fence.folders.source}`, 'checkout-index', '--all', '--force', '--quiet'],
    { isLocal: true },
  );
  if (written.code !== 0) throw checkoutFailure(written);
  await checkRealLinks(fence.folders.source, tree);
  await tellPointers(fence.folders.source, tree, request);
  await rm(fence.folders.git, { recursive: true, force: true });
  const size = `${tree.paths.length} ${tree.paths.length === 1 ? 'file' : 'files'}, ${tree.bytes} bytes`;
  request.onLine('clone', 'info', `Checked out ${commit.sha.slice(0, 12)} "${commit.message}" (${size})`);
  return { commit, paths: tree.paths };
}

interface Git {
  run(
    words: readonly string[],
    options?: {
      readonly isLocal?: boolean;
      readonly input?: string;
      readonly read?: (output: AsyncIterable<Uint8Array>) => Promise<void>;
    },
  ): Promise<FencedExit>;
}

function gitOf(request: BuildRequest, fence: Fence): Git {
  const { source, limits, confinement } = request;
  const { folders } = fence;
  // ssh needs an entry in the passwd file, and the platform's own folder is not accessible to builds.
  const isSsh = 'url' in source && !/^https?:/.test(source.url);
  const fetchesItself = 'folder' in source || (isSsh && confinement.kind === 'user');
  return {
    async run(words, { isLocal = false, input, read } = {}) {
      const isOwn = !isLocal && fetchesItself;
      return fence.run({
        words: ['git', `--git-dir=${folders.git}`, ...words],
        cwd: isOwn ? '/' : folders.source,
        env: isLocal
          ? environmentOf(folders.home, { GIT_ALLOW_PROTOCOL: 'none' })
          : await fetchEnvironment(source, folders.home, fence),
        fileBytesMax: limits.sourceBytesMax,
        isOwn,
        ...(!isLocal && { network: 'machine' as const }),
        ...(read !== undefined && { read }),
        ...(input !== undefined && { input }),
      });
    },
  };
}

/** Refuses names that Git would parse as options or patterns, and other kinds of URLs. */
export function checkNames({ branch, commit, source }: Pick<BuildRequest, 'branch' | 'commit' | 'source'>): void {
  const isName = /^(?!-)(?!.*(?:\.\.|@\{|\/\/|\.lock(?:\/|$)))[^\s\p{Cc}~^:?*[\\]{1,250}$/u.test(branch);
  if (pullRequestOf(branch) === null && (!isName || /^[./]|[./]$/.test(branch)))
    throw buildFailure('clone_failed', `${shown(branch)} cannot be the name of a branch`);
  if (commit !== null && !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit))
    throw buildFailure('clone_failed', `${shown(commit)} is no full hash of a commit`);
  if (!('url' in source)) return;
  const { url, isPlainHttp = false, address } = source;
  const isKnown = /^(?:https|ssh):\/\//.test(url) || (isPlainHttp && url.startsWith('http://'));
  // The URL is an option, names a helper program (`ext::`), or has a host that ssh would parse as an option.
  if (!isKnown || URL.parse(url) === null || /::|\/\/[^/]*@?-|[\s\p{Cc}]/u.test(url))
    throw buildFailure('clone_failed', 'Sources are fetched by https or ssh only');
  if (/^https?:\/\/[^/]*@/.test(url))
    throw buildFailure('clone_failed', 'The URL of the repository contains credentials: remove them');
  if (address !== undefined && !ADDRESS.test(address))
    throw buildFailure('clone_failed', `${shown(address)} is no address`);
}

async function fetchEnvironment(source: BuildSource, home: string, fence: Fence): Promise<Record<string, string>> {
  // For a fetch from a folder, the other side ignores settings from the environment.
  if ('folder' in source)
    return environmentOf(home, { GIT_ALLOW_PROTOCOL: 'file', GIT_CONFIG_GLOBAL: OWN_REPOSITORIES });
  const folder = join(home, FETCH_FOLDER);
  const own = await gitEnvironment(source, folder);
  if (await stat(folder).catch(() => null)) await fence.giveAway(folder);
  return environmentOf(home, { ...machineVariables(), ...own });
}

/** Settings are only passed by environment: command lines are visible to other users, files remain on disk. */
function environmentOf(home: string, more: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: home,
    LANG: 'C.UTF-8',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    ...more,
  };
  let count = Number(more['GIT_CONFIG_COUNT'] ?? 0);
  for (const [key, value] of Object.entries(SETTINGS)) {
    environment[`GIT_CONFIG_KEY_${count}`] = key;
    environment[`GIT_CONFIG_VALUE_${count}`] = value;
    count++;
  }
  return { ...environment, GIT_CONFIG_COUNT: String(count) };
}

/** The ref of a branch. Commits of a fork are in the target repository, under the pull request's number. */
function tipOf(branch: string): string {
  const pullRequest = pullRequestOf(branch);
  if (pullRequest !== null) return `refs/pull/${pullRequest}/head`;
  return branch.startsWith('refs/') ? branch : `refs/heads/${branch}`;
}

async function fetchCommit(git: Git, at: string, { commit, branch, limits }: BuildRequest): Promise<void> {
  await expect(await git.run(['init', '--quiet', '--bare'], { isLocal: false }), 'init');
  const tip = tipOf(branch);
  const fetch = (what: string, depth: string): Promise<FencedExit> =>
    git.run([
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-recurse-submodules',
      `--depth=${depth}`,
      '--',
      at,
      `+${what}:${REF}`,
    ]);
  const fetched = await fetch(commit ?? tip, '1');
  if (fetched.code === 0) return;
  const place = { branch, commit, bytesMax: limits.sourceBytesMax };
  if (commit === null || !isRefused(fetched.stderr)) throw fetchFailure(fetched, place);
  // This server only serves branches: search the newest commits of the branch.
  const branchOnly = await fetch(tip, DEPTH);
  if (branchOnly.code !== 0) {
    if (isNotFound(branchOnly.stderr)) throw fetchFailure(fetched, place);
    throw fetchFailure(branchOnly, place);
  }
  const pointed = await git.run(['update-ref', REF, commit], { isLocal: true });
  if (pointed.code !== 0) throw fetchFailure(fetched, place);
}

async function readCommit(git: Git): Promise<NonNullable<BuildResult['commit']>> {
  const { stdout } = await expect(await git.run(['log', '-1', '--format=%H%n%an%n%s', REF], { isLocal: true }), 'log');
  const [sha = '', author = '', message = ''] = stdout.split('\n').map((line) => line.replace(/\p{Cc}/gu, ' '));
  return { sha, author: author.slice(0, 200), message: message.slice(0, 200) };
}

async function listFiles(git: Git, { limits }: BuildRequest): Promise<GitTree> {
  let tree: GitTree | undefined;
  const listed = await git.run(['ls-tree', '-r', '-z', '-l', '--full-tree', REF], {
    isLocal: true,
    read: async (output) => {
      tree = await readTree(output, limits);
    },
  });
  if (tree === undefined) throw checkoutFailure(listed);
  return tree;
}

/** Links are checked before they are created. */
async function checkLinks(git: Git, { links }: GitTree): Promise<void> {
  if (links.length === 0) return;
  let bytes = 0;
  for (const link of links) {
    bytes += link.bytes;
    if (bytes > LINKS_BYTES_MAX || link.bytes > 4095)
      throw buildFailure('source_unsafe', `${shown(link.path)} in the repository is too long a link`);
  }
  const input = links.map(({ object }) => `${object}\n`).join('');
  const { stdout } = await expect(await git.run(['cat-file', '--batch'], { isLocal: true, input }), 'cat-file');
  let rest = Buffer.from(stdout);
  for (const { path, bytes: size } of links) {
    const begin = rest.indexOf('\n') + 1;
    const target = rest.toString('utf8', begin, begin + size);
    if (leadsOut(path, target)) throw linkOut(path, target);
    rest = rest.subarray(begin + size + 1);
  }
}

/** Finds links that lead out through other links. Broken links are allowed. */
async function checkRealLinks(source: string, { links }: GitTree): Promise<void> {
  const root = await realpath(source);
  for (const { path } of links) {
    const real = await realpath(join(root, path)).catch(() => root);
    if (!isInside(root, real)) throw linkOut(path, real);
  }
}

function linkOut(path: string, target: string): Failure<'build'> {
  return buildFailure(
    'source_unsafe',
    `${shown(path)} in the repository is a link to a path outside it, ${shown(target)}. Put the file itself into the repository`,
  );
}

const POINTER = 'version https://git-lfs.github.com/spec/';

async function tellPointers(source: string, { maybePointers }: GitTree, { onLine }: BuildRequest): Promise<void> {
  const found: string[] = [];
  for (const { path } of maybePointers) {
    const text = await readFile(join(source, path), 'latin1').catch(() => '');
    if (text.startsWith(POINTER)) found.push(path);
  }
  if (found.length === 0) return;
  const named = found.slice(0, 5).map(shown).join(', ') + (found.length > 5 ? ', ...' : '');
  const what = found.length === 1 ? '1 file is a pointer' : `${found.length} files are pointers`;
  onLine('clone', 'warn', `${what} of Git LFS, whose content is not fetched: ${named}. The build sees the pointers`);
}

function checkoutFailure({ stderr }: FencedExit): Failure<'build'> {
  if (/File too large|No space left/i.test(stderr))
    return buildFailure('source_too_large', 'A file of the commit is larger than the limit (BUILD_SOURCE_BYTES_MAX)');
  return buildFailure('source_unsafe', `Git cannot check the commit out: ${firstLine(stderr)}`);
}

async function expect(exit: FencedExit, what: string): Promise<FencedExit> {
  if (exit.code === 0) return exit;
  throw buildFailure('clone_failed', `git ${what} failed: ${firstLine(exit.stderr)}`);
}

function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').replace(/\p{Cc}/gu, ' ').slice(0, 300);
}

async function isBare(folder: string): Promise<boolean> {
  const has = (name: string): Promise<boolean> =>
    stat(join(folder, name)).then(
      () => true,
      () => false,
    );
  return (await has('HEAD')) && (await has('objects')) && (await has('refs'));
}

/** Copies a tree that the platform has already validated, without hard links, since the build's user owns the copy. */
async function copySources(folder: string, { limits, onLine }: BuildRequest, fence: Fence): Promise<Checkout> {
  const paths: string[] = [];
  let bytes = 0;
  const root = await realpath(folder);
  const waiting = [root];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const name of await readdir(at)) {
      const file = join(at, name);
      const info = await lstat(file);
      const path = relative(root, file);
      const problem = pathProblem(path);
      if (problem !== null) throw buildFailure('source_unsafe', `${shown(path)} ${problem}`);
      if (info.isDirectory()) waiting.push(file);
      else if (info.isFile()) {
        paths.push(path);
        bytes += info.size;
      } else throw buildFailure('source_unsafe', `${shown(path)} is neither a file nor a folder`);
      if (paths.length > limits.sourceFilesMax || bytes > limits.sourceBytesMax)
        throw buildFailure(
          'source_too_large',
          `The sources have more than ${limits.sourceFilesMax} files (BUILD_SOURCE_FILES_MAX) or ${limits.sourceBytesMax} bytes (BUILD_SOURCE_BYTES_MAX)`,
        );
    }
  }
  if (paths.length === 0) throw buildFailure('repository_empty', 'The sources have no files');
  await cp(root, fence.folders.source, { recursive: true, force: true, verbatimSymlinks: true });
  await fence.giveAway(fence.folders.source);
  await chmod(fence.folders.source, 0o700);
  onLine('clone', 'info', `Copied ${paths.length} files, ${bytes} bytes`);
  return { commit: null, paths: paths.toSorted() };
}
