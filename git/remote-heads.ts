// Lists the branches of a remote with `git ls-remote`: whether it is readable, its default branch, and each branch's
// commit. Limited in time and output; credentials are removed from git's messages.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Failure } from '#core/failure.ts';
import type { RemoteSource } from './clone-source.ts';
import { gitEnvironment, knownHostsIn } from './git-environment.ts';
import { isBranchName, isCommitSha } from './host/remote-url.ts';

/** Branches of a remote. */
export interface RemoteHeads {
  /** Commit by branch. */
  readonly heads: Readonly<Record<string, string>>;
  /** The branch that HEAD points to; null for a repository without commits. */
  readonly defaultBranch: string | null;
  /** Lines of `known_hosts`: the host key that ssh received. */
  readonly knownHosts: string | null;
}

const LIST_MS = 20_000;
const LIST_BYTES_MAX = 10_000_000;
const SAID_CHARS_MAX = 500;
const BRANCHES_MAX = 10_000;

/**
 * Reads the branches of a remote.
 *
 * @throws {Failure} `remote_unreadable`
 */
export async function readRemoteHeads(
  source: RemoteSource & { readonly redact: readonly string[] },
  environment: NodeJS.ProcessEnv = process.env,
): Promise<RemoteHeads> {
  const folder = await mkdtemp(path.join(tmpdir(), 'platform-remote-'));
  try {
    const variables = { PATH: environment['PATH'], HOME: folder, ...(await gitEnvironment(source, folder)) };
    const text = await run(
      ['ls-remote', '--symref', '--', source.url, 'HEAD', 'refs/heads/*'],
      variables,
      source.redact,
    );
    const knownHosts = source.sshKey === undefined ? null : await readFile(knownHostsIn(folder), 'utf8');
    return { ...parseHeads(text), knownHosts };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Parses the output of `git ls-remote --symref`; invalid branch names are skipped. */
function parseHeads(text: string): Omit<RemoteHeads, 'knownHosts'> {
  const heads: [string, string][] = [];
  let defaultBranch: string | null = null;
  for (const line of text.split('\n')) {
    const [, target] = /^ref: refs\/heads\/(.+)\tHEAD$/.exec(line) ?? [];
    if (target !== undefined && isBranchName(target)) defaultBranch = target;
    const [, sha, branch] = /^([0-9a-f]+)\trefs\/heads\/(.+)$/.exec(line) ?? [];
    if (sha === undefined || !isCommitSha(sha) || !isBranchName(branch!) || heads.length === BRANCHES_MAX) continue;
    heads.push([branch!, sha]);
  }
  return { heads: Object.fromEntries(heads), defaultBranch };
}

function run(args: readonly string[], environment: NodeJS.ProcessEnv, redact: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    // A separate process group, so that git's child processes are killed with it.
    const child = spawn('git', args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let said = '';
    let ended: string | null = null;
    const end = (reason: string): void => {
      ended ??= reason;
      try {
        process.kill(-child.pid!, 'SIGKILL');
      } catch {
        // The process has already exited.
      }
    };
    const timer = setTimeout(() => end(`it did not answer within ${LIST_MS / 1000} s`), LIST_MS);
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > LIST_BYTES_MAX) end(`its list of branches is over ${LIST_BYTES_MAX} bytes`);
      else chunks.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (said.length < 4 * SAID_CHARS_MAX) said += chunk.toString();
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(
        new Failure(
          'remote_unreadable',
          error.code === 'ENOENT' ? 'git is not installed on this machine' : error.message,
        ),
      );
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      if (code === 0 && ended === null) resolve(Buffer.concat(chunks).toString());
      else
        reject(new Failure('remote_unreadable', `The repository cannot be read: ${ended ?? reasonIn(said, redact)}`));
    });
  });
}

/** Git's error output in one line, without credentials. */
function reasonIn(said: string, redact: readonly string[]): string {
  let text = said.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  for (const secret of redact) if (secret !== '') text = text.replaceAll(secret, '***');
  return text.slice(0, SAID_CHARS_MAX) || 'git exited without a message';
}
