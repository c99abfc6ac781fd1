// Runs Git's CGI program for smart HTTP as a fetch handler: it gets the request's body and writes the response's
// headers and body.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { repositoriesFolder } from '#git/builtin-repositories.ts';
import { limitedGit, gitEnvironment } from '../repositories/repositories.ts';

/** A request after authorization. */
interface BackendCall {
  readonly dataFolder: string;
  readonly repositoryId: string;
  /** Path after the repository: `/info/refs`, `/git-upload-pack`, `/git-receive-pack`. */
  readonly path: string;
  /** The account that pushes, passed to the hooks. */
  readonly account: string;
  readonly limits: Parameters<typeof limitedGit>[0];
  /** Called when the program and its children have exited. */
  readonly onEnd: () => void;
}

const HEADER_BYTES_MAX = 16 * 1024;
/** The flush packet, which ends a response of Git. */
const FLUSH = '0000';
/**
 * Runs a command, and discards its output when the reader has closed. If this process is killed, `git receive-pack`
 * would end when it reports to the client: after it has moved the branches, before the hook post-receive.
 */
const DETACHED_OUTPUT = '"$@" | { cat || exec cat >/dev/null; }';

/** Runs the program; it is killed if the client disconnects. @param read the request's body, if already read. */
export async function gitHttpBackend(request: Request, call: BackendCall, read?: Uint8Array): Promise<Response> {
  const url = new URL(request.url);
  const failed = path.join(repositoriesFolder(call.dataFolder), 'pushes', `${randomUUID()}.failed`);
  const isPush = call.path === '/git-receive-pack';
  const [program, args] = limitedGit(call.limits, ['http-backend']);
  const command = isPush ? ['/bin/sh', '-c', DETACHED_OUTPUT, 'sh', program, ...args] : [program, ...args];
  const child = spawn(command[0]!, command.slice(1), {
    env: {
      ...gitEnvironment(),
      GIT_PROJECT_ROOT: repositoriesFolder(call.dataFolder),
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: `/${call.repositoryId}.git${call.path}`,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers.get('content-type') ?? '',
      ...(request.headers.has('content-length') && { CONTENT_LENGTH: request.headers.get('content-length')! }),
      ...(request.headers.has('content-encoding') && {
        HTTP_CONTENT_ENCODING: request.headers.get('content-encoding')!,
      }),
      ...(request.headers.has('git-protocol') && { GIT_PROTOCOL: request.headers.get('git-protocol')! }),
      REMOTE_USER: call.account,
      REMOTE_ADDR: '127.0.0.1',
      PLATFORM_ACCOUNT: call.account,
      PLATFORM_PUSH_FAILED: failed,
    },
    stdio: ['pipe', 'pipe', 'ignore'],
    // The program gets its own process group, so that its children are killed with it.
    detached: true,
  });
  const kill = (): void => {
    child.stdin.destroy();
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The process has already exited.
    }
  };
  request.signal.addEventListener('abort', kill);
  // The client may have disconnected already.
  if (request.signal.aborted) kill();
  child.once('exit', () => request.signal.removeEventListener('abort', kill));
  child.once('exit', call.onEnd).once('error', call.onEnd);
  child.stdin.on('error', () => {});
  const missing = new Promise<never>((_, reject) => child.once('error', reject));
  missing.catch(() => {});
  if (read !== undefined || request.body === null) child.stdin.end(read);
  else
    Readable.fromWeb(request.body as never)
      .on('error', kill)
      .pipe(child.stdin);
  const { head, rest } = await Promise.race([readHead(child.stdout), missing]);
  const headers = new Headers();
  let status = 200;
  for (const line of head.split(/\r?\n/)) {
    const [, name, value] = /^([A-Za-z0-9-]+): *(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    if (name.toLowerCase() === 'status') status = Number.parseInt(value!, 10);
    else headers.append(name, value!);
  }
  const body = isPush ? withFailure(rest, failed) : rest;
  // Readable.toWeb throws an uncaught error if the client disconnects while data arrives.
  return new Response(ReadableStream.from<Uint8Array>(body), { status, headers });
}

/** Response to a refused push: `git push` prints the text and exits with 1. */
export function refusedPush(text: string): Response {
  const headers = { 'content-type': 'application/x-git-receive-pack-result', 'cache-control': 'no-cache' };
  return new Response(new Uint8Array(Buffer.concat([errorPacket(text), Buffer.from(FLUSH)])), { headers });
}

/**
 * The response to a push, with an error at its end if a deployment failed: `git push` then shows the updated branches
 * and exits with 1.
 */
async function* withFailure(answer: AsyncIterable<Buffer>, file: string): AsyncGenerator<Buffer> {
  try {
    let end: Buffer = Buffer.alloc(0);
    for await (const chunk of answer) {
      const bytes = Buffer.concat([end, chunk]);
      // Only a possible flush packet is held back, so that the log is streamed.
      const zeros = /0*$/.exec(bytes.toString('latin1', Math.max(0, bytes.length - FLUSH.length)))![0].length;
      end = bytes.subarray(bytes.length - zeros);
      if (bytes.length > zeros) yield bytes.subarray(0, bytes.length - zeros);
    }
    const isFailed = existsSync(file) && end.toString('latin1') === FLUSH;
    // The error and the end are sent in one chunk, because Git stops reading at the error.
    yield isFailed ? Buffer.concat([errorPacket('The push was stored, but its deployment failed'), end]) : end;
  } finally {
    await rm(file, { force: true });
  }
}

/** A packet on sideband 3, for errors. */
function errorPacket(text: string): Buffer {
  const body = `\x03${text}\n`;
  return Buffer.from((body.length + FLUSH.length).toString(16).padStart(FLUSH.length, '0') + body, 'latin1');
}

/** Parses the CGI headers. Returns the headers with the rest of the stream. */
async function readHead(stdout: Readable): Promise<{ head: string; rest: Readable }> {
  let bytes: Buffer = Buffer.alloc(0);
  for (;;) {
    const chunk = stdout.read() as Buffer | null;
    if (chunk === null) {
      if (stdout.readableEnded) throw new Error('git http-backend ended without an answer');
      await new Promise<void>((resolve) => {
        stdout.once('readable', resolve);
        stdout.once('end', resolve);
      });
      continue;
    }
    bytes = Buffer.concat([bytes, chunk]);
    const end = /\r?\n\r?\n/.exec(bytes.toString('latin1'));
    if (end !== null) {
      const at = end.index + end[0].length;
      if (at < bytes.length) stdout.unshift(bytes.subarray(at));
      return { head: bytes.subarray(0, end.index).toString('latin1'), rest: stdout };
    }
    if (bytes.length > HEADER_BYTES_MAX) throw new Error('git http-backend answered with too many headers');
  }
}
