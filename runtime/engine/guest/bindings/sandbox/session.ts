// Commands, files and processes of a sandbox: each method sends one request to the sandbox service.
import { toOptions } from '../../calls.ts';
import { btoa } from '../../web/base64.ts';
import { Request } from '../../web/request.ts';
import { Response } from '../../web/response.ts';
import { isUnsharedBufferSource, TextDecoder, toBytes } from '../../web/text.ts';
import { URL } from '../../web/url.ts';
import type { Answer, Calls, Fields } from './calls.ts';
import { LOST, SandboxError } from './errors.ts';
import { exitOfEvents, type ExecResult } from './exec-events.ts';
import { openTerminal, type Terminal } from './terminal.ts';

/** State of a session; the sandbox's agent stores the variables. */
export interface Own {
  readonly cwd: string | null;
  env: Fields | null;
}

interface ExecOptions {
  readonly cwd?: unknown;
  readonly env?: Fields;
  readonly timeoutMs?: unknown;
  readonly stdin?: unknown;
  readonly signal?: unknown;
  readonly processId?: unknown;
  readonly onOutput?: (stream: 'stdout' | 'stderr', data: string) => void;
}

interface TerminalOptions {
  readonly command?: unknown;
  readonly cwd?: unknown;
  readonly env?: unknown;
  readonly cols?: unknown;
  readonly rows?: unknown;
  readonly signal?: unknown;
}

const NULL_BODY = [101, 204, 205, 304];

/** Commands and files that share a working directory and variables. */
export class Session {
  #calls: Calls;
  #own: Own;

  constructor(calls: Calls, own: Own) {
    this.#calls = calls;
    this.#own = own;
  }

  #at(path: unknown): unknown {
    const { cwd } = this.#own;
    return cwd === null || typeof path !== 'string' || path === '' || path[0] === '/' ? path : `${cwd}/${path}`;
  }

  #command(command: unknown, options: ExecOptions): Fields {
    const { cwd, env, timeoutMs, stdin, processId } = toOptions('The options of a command', options);
    const bytes = isUnsharedBufferSource(stdin) ? { base64: base64Of(toBytes(stdin, 'stdin')) } : null;
    return {
      command,
      cwd: cwd === undefined ? (this.#own.cwd ?? undefined) : this.#at(cwd),
      env: { ...this.#own.env, ...env },
      timeoutMs,
      processId,
      ...(stdin === undefined || stdin === null ? {} : { stdin: bytes ?? { text: stdin } }),
    };
  }

  async exec(command: unknown, options: ExecOptions = {}): Promise<ExecResult> {
    const args = this.#command(command, options);
    const { onOutput, signal = null } = options;
    if (onOutput === undefined) return (await this.#calls.ask('exec', args, signal)) as ExecResult;
    const { body } = await this.#calls.stream('execStream', args, signal);
    const reader = (body as unknown as { getReader(): never }).getReader();
    const result = await this.#calls.read(exitOfEvents(reader, new TextDecoder() as never, onOutput));
    if (result === null) throw new SandboxError('sandbox_lost', LOST);
    return result;
  }

  async execStream(command: unknown, options: ExecOptions = {}): Promise<unknown> {
    return (await this.#calls.stream('execStream', this.#command(command, options), options.signal ?? null)).body;
  }

  async terminal(options: TerminalOptions = {}): Promise<Terminal> {
    const { command, cwd, env, cols = 80, rows = 24, signal } = toOptions('The options of terminal', options);
    const args = { ...this.#command(command, { cwd, env: env as Fields }), cols, rows };
    return openTerminal({
      cols,
      rows,
      signal: (signal ?? null) as never,
      send: (body, ended) => this.#calls.raw('terminal', args, body, ended),
    });
  }

  async readFile(path: unknown, options: { encoding?: unknown } = {}): Promise<{ content: string }> {
    const { encoding = 'utf8' } = toOptions('The options of readFile', options);
    if (encoding !== 'utf8' && encoding !== 'base64')
      throw new SandboxError('invalid_argument', `The encoding must be "utf8" or "base64"; readFileBytes gives bytes`);
    if (encoding === 'base64') return { content: base64Of(await this.readFileBytes(path)) };
    const answer = await this.#calls.stream('readFile', { path: this.#at(path) });
    return { content: await this.#calls.read(answer.text()) };
  }

  async readFileBytes(path: unknown): Promise<Uint8Array> {
    const answer = await this.#calls.stream('readFile', { path: this.#at(path) });
    return new Uint8Array(await this.#calls.read(answer.arrayBuffer()));
  }

  async readFileStream(path: unknown): Promise<unknown> {
    return (await this.#calls.stream('readFile', { path: this.#at(path) })).body;
  }

  async writeFile(path: unknown, content: unknown, options: { mode?: unknown } = {}): Promise<void> {
    const { mode } = toOptions('The options of writeFile', options);
    if (content === null || (typeof content !== 'string' && typeof content !== 'object'))
      throw new SandboxError('invalid_argument', 'The content must be a string, bytes or a stream of bytes');
    await (await this.#calls.raw('writeFile', { path: this.#at(path), mode }, content)).text();
  }

  async deleteFile(path: unknown, options: { recursive?: unknown } = {}): Promise<void> {
    const { recursive } = toOptions('The options of deleteFile', options);
    await this.#calls.ask('deleteFile', { path: this.#at(path), recursive });
  }

  async moveFile(from: unknown, to: unknown): Promise<void> {
    await this.#calls.ask('moveFile', { from: this.#at(from), to: this.#at(to) });
  }

  async mkdir(path: unknown, options: { recursive?: unknown } = {}): Promise<void> {
    const { recursive } = toOptions('The options of mkdir', options);
    await this.#calls.ask('mkdir', { path: this.#at(path), recursive });
  }

  async listFiles(path: unknown, options: Fields = {}): Promise<unknown> {
    const { recursive, includeHidden } = toOptions('The options of listFiles', options);
    return this.#calls.ask('listFiles', { path: this.#at(path), recursive, includeHidden });
  }

  exists(path: unknown): Promise<unknown> {
    return this.#calls.ask('exists', { path: this.#at(path) });
  }

  async watch(path: unknown, options: { recursive?: unknown } = {}): Promise<unknown> {
    const { recursive } = toOptions('The options of watch', options);
    return (await this.#calls.stream('watch', { path: this.#at(path), recursive })).body;
  }

  async gitCheckout(url: unknown, options: Fields = {}): Promise<void> {
    const { branch, depth, targetDir } = toOptions('The options of gitCheckout', options);
    const folder = targetDir ?? (this.#own.cwd === null ? undefined : nameOf(url));
    await this.#calls.ask('gitCheckout', { url, branch, depth, targetDir: this.#at(folder) });
  }

  async setEnvVars(variables: Fields): Promise<void> {
    if (this.#own.env !== null) this.#own.env = { ...this.#own.env, ...variables };
    else await this.#calls.ask('setEnvVars', { variables });
  }

  startProcess(command: unknown, options: ExecOptions = {}): Promise<unknown> {
    return this.#calls.ask('startProcess', this.#command(command, options));
  }

  listProcesses(): Promise<unknown> {
    return this.#calls.ask('listProcesses');
  }

  getProcess(id: unknown): Promise<unknown> {
    return this.#calls.ask('getProcess', { id });
  }

  getProcessLogs(id: unknown): Promise<unknown> {
    return this.#calls.ask('getProcessLogs', { id });
  }

  async streamProcessLogs(id: unknown): Promise<unknown> {
    return (await this.#calls.stream('streamProcessLogs', { id })).body;
  }

  async killProcess(id: unknown, signal?: unknown): Promise<void> {
    await this.#calls.ask('killProcess', { id, signal });
  }

  async waitForPort(port: unknown, options: { timeoutMs?: unknown } = {}): Promise<void> {
    const { timeoutMs } = toOptions('The options of waitForPort', options);
    await this.#calls.ask('waitForPort', { port, timeoutMs });
  }

  async fetch(port: unknown, input: unknown, init?: unknown): Promise<Answer> {
    const target = typeof input === 'string' && input[0] === '/' ? `http://localhost${input}` : input;
    const request = new Request(target as never, init as never);
    const url = new URL(request.url);
    const headers: [string, string][] = [];
    request.headers.forEach((value: string, name: string) => headers.push([name, value]));
    const args = { port, method: request.method, path: url.pathname + url.search, headers };
    const answer = await this.#calls.raw('fetch', args, request.body, request.signal);
    const head = JSON.parse(decodeURIComponent(answer.headers.get('sandbox-response') ?? '')) as {
      status: number;
      statusText: string;
      headers: [string, string][];
    };
    const body = NULL_BODY.includes(head.status) || request.method === 'HEAD' ? null : answer.body;
    return new Response(body as never, head as never) as never;
  }
}

/** The name of the folder that `git clone` derives from a URL. */
function nameOf(url: unknown): string {
  return /([^/]+?)(?:\.git)?\/*$/.exec(String(url))?.[1] ?? 'repository';
}

function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, Math.min(at + 8192, bytes.length)));
  return btoa(text);
}
