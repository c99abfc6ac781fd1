// Real bare Git repositories for tests, and `git http-backend` in front of them: smart HTTP as Git hosts speak it.
// Commits are made by fast-import, so that a test needs no working tree.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';

/** A commit to make. */
export interface TestCommit {
  readonly branch?: string;
  /** Text by path; null removes the file. */
  readonly files: Readonly<Record<string, string | null>>;
  readonly message?: string;
  /** What it comes after: a commit, or null for a first one. Default: the branch's tip. */
  readonly after?: string | null;
}

const environment: NodeJS.ProcessEnv = {
  PATH: process.env['PATH'],
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  LC_ALL: 'C',
};

/** Runs git to its end. @throws {Error} with what it said. */
export function runGit(folder: string, args: readonly string[], input = '', more: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr } = spawnSync('git', args, {
    cwd: folder,
    input,
    encoding: 'utf8',
    env: { ...environment, ...more },
  });
  if (status !== 0) throw new Error(`git ${args.join(' ')} ended with ${status}: ${stderr}`);
  return stdout.trim();
}

const bareConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[http]
	receivepack = true
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
`;

/** Makes an empty bare repository with `main` as its branch: as `git init` does, without the process. */
export function createBareRepository(folder: string): void {
  for (const inner of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags'])
    mkdirSync(path.join(folder, inner), { recursive: true });
  writeFileSync(path.join(folder, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(path.join(folder, 'config'), bareConfig);
}

/** Makes a commit and moves its branch there, back too. @returns its hash. */
export function commitTo(folder: string, { branch = 'main', files, message = 'Change', after }: TestCommit): string {
  const parent = after === undefined ? tipOf(folder, branch) : after;
  const blob = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const changes = Object.entries(files).map(([file, text]) =>
    text === null ? `D ${file}\n` : `M 100644 inline ${file}\n${blob(text)}`,
  );
  const stream =
    `reset refs/heads/${branch}\n${parent === null ? '' : `from ${parent}\n`}\n` +
    `commit refs/heads/${branch}\nauthor Ada <ada@example.com> 1790000000 +0000\n` +
    `committer Ada <ada@example.com> 1790000000 +0000\n${blob(message)}${changes.join('')}\n`;
  runGit(folder, ['fast-import', '--quiet', '--force', '--done'], `${stream}done\n`);
  return tipOf(folder, branch)!;
}

/** Commit of a branch; null without one. */
export function tipOf(folder: string, branch: string): string | null {
  const file = path.join(folder, 'refs/heads', branch);
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  if (!existsSync(path.join(folder, 'packed-refs'))) return null;
  return headsOf(folder)[branch] ?? null;
}

/** Commits by branch. */
export function headsOf(folder: string): Record<string, string> {
  const lines = runGit(folder, ['for-each-ref', '--format=%(objectname) %(refname:lstrip=2)', 'refs/heads/']);
  return Object.fromEntries(
    lines
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]),
  );
}

/** Answers one request of git with `git http-backend`; resolves when git has ended. */
export async function answerGit(
  root: string,
  pathInfo: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url!, 'http://localhost');
  const backend = spawn('git', ['http-backend'], {
    env: {
      ...environment,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathInfo,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'git',
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  backend.stdin.on('error', () => {});
  request.pipe(backend.stdin);
  let head: Buffer | null = Buffer.alloc(0);
  for await (const chunk of backend.stdout as AsyncIterable<Buffer>) {
    if (head === null) {
      response.write(chunk);
      continue;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) continue;
    const lines = head.subarray(0, end).toString().split('\r\n');
    for (const line of lines) {
      const [name, value] = [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()];
      if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    head = null;
  }
  response.end();
}
