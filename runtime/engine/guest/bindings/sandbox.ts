// The guest half of sandboxes: one handle per id, whose methods each send one request to the sandbox service through
// the host (core/sandbox/operations.ts in the repository defines the requests). lazy.ts loads this module when it is
// first used.
import type { LazyDeps } from '../lazy.ts';
import { exitOfEvents, type ExecResult } from './sandbox/exec-events.ts';
import { openTerminal, type Terminal } from './sandbox/terminal.ts';

type Fields = Readonly<Record<string, unknown>>;

/** State of a session; the sandbox's variables are kept by its agent. */
interface Own {
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

/** Reason for a failed call. */
class SandboxError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
Object.defineProperty(SandboxError.prototype, 'name', { value: 'SandboxError', configurable: true, writable: true });

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const LOST = 'The sandbox was lost during the call';
const NULL_BODY = [101, 204, 205, 304];

export default function createSandboxes(deps: LazyDeps): { create(name: string): object } {
  const { createFetcher, Request, Response, TextDecoder, URL, btoa, toBytes, isUnsharedBufferSource, toOptions } = deps;
  type Answer = Awaited<ReturnType<ReturnType<typeof createFetcher>['fetch']>>;

  /** Rewords a failure that happened outside the service for sandboxes. */
  function toSandboxError(error: unknown, code: string, message: string): unknown {
    const said = error as { code?: unknown; message?: unknown } | null;
    if (said?.code === 'fetch_failed') return new SandboxError(code, message);
    return typeof said?.code === 'string' && /^(?:sandbox_|invalid_argument)/.test(said.code)
      ? new SandboxError(said.code, String(said.message))
      : error;
  }

  function base64Of(bytes: Uint8Array): string {
    let text = '';
    for (let at = 0; at < bytes.length; at += 8192)
      text += String.fromCharCode(...bytes.subarray(at, Math.min(at + 8192, bytes.length)));
    return btoa(text);
  }

  class Calls {
    #fetcher: ReturnType<typeof createFetcher>;
    #binding: string;
    #path: string;
    #options: string | null;

    /** @param options the options of the sandbox, as header text. */
    constructor(binding: string, path: string, options: string | null = null) {
      this.#fetcher = createFetcher('sandbox.call', { binding });
      this.#binding = binding;
      this.#path = path;
      this.#options = options;
    }

    /** A handle for another sandbox of the same binding. */
    of(id: string): Sandbox {
      return new Sandbox(new Calls(this.#binding, `/${id}/`), id);
    }

    /** The response of an operation. @throws {SandboxError} */
    async send(operation: string, init: Fields): Promise<Answer> {
      let answer: Answer;
      const headers = {
        ...(init['headers'] as Fields | undefined),
        ...(this.#options === null ? {} : { 'sandbox-options': this.#options }),
      };
      try {
        answer = await this.#fetcher.fetch(`http://sandbox${this.#path}${operation}`, { ...init, headers });
      } catch (error) {
        throw toSandboxError(error, 'sandbox_unavailable', 'The sandbox service cannot be reached: try again');
      }
      if (answer.ok) return answer;
      const text = await answer.text();
      let code = 'sandbox_unavailable';
      let message = `The sandbox service answered ${answer.status}`;
      try {
        ({ code, message } = (JSON.parse(text) as { error: { code: string; message: string } }).error);
      } catch {
        // Something between this worker and the service responded, so only the status is known.
      }
      throw new SandboxError(code, message);
    }

    /** Calls an operation with JSON in both directions. */
    async ask(operation: string, args: Fields = {}, signal: unknown = null): Promise<unknown> {
      const answer = await this.send(operation, { method: 'POST', body: JSON.stringify(args), signal });
      return this.read(answer.json());
    }

    async read<Value>(value: Promise<Value>): Promise<Value> {
      try {
        return await value;
      } catch (error) {
        throw toSandboxError(error, 'sandbox_lost', LOST);
      }
    }

    /** Calls an operation that responds with a stream. */
    async stream(operation: string, args: Fields, signal: unknown = null): Promise<Answer> {
      return this.send(operation, { method: 'POST', body: JSON.stringify(args), signal });
    }

    /** Calls an operation whose body is bytes. */
    raw(operation: string, args: Fields, body: unknown, signal: unknown = null): Promise<Answer> {
      const headers = { 'sandbox-arguments': encodeURIComponent(JSON.stringify(args)) };
      return this.send(operation, { method: 'POST', headers, body, signal, duplex: 'half' });
    }
  }

  /** Commands and files that share a working directory and variables. */
  class Session {
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
      return openTerminal(deps, {
        cols,
        rows,
        signal: (signal ?? null) as never,
        send: (body, ended) => this.#calls.raw('terminal', args, body, ended),
        fail: (code, message) => new SandboxError(code, message),
        toError: (error) => toSandboxError(error, 'sandbox_lost', LOST),
      });
    }

    async readFile(path: unknown, options: { encoding?: unknown } = {}): Promise<{ content: string }> {
      const { encoding = 'utf8' } = toOptions('The options of readFile', options);
      if (encoding !== 'utf8' && encoding !== 'base64')
        throw new SandboxError(
          'invalid_argument',
          `The encoding must be "utf8" or "base64"; readFileBytes gives bytes`,
        );
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

  class OwnSession extends Session {
    readonly sessionId: string;

    constructor(calls: Calls, own: Own, sessionId: string) {
      super(calls, own);
      this.sessionId = sessionId;
    }
  }

  class Sandbox extends Session {
    readonly id: string;
    #calls: Calls;

    constructor(calls: Calls, id: string) {
      super(calls, { cwd: null, env: null });
      this.id = id;
      this.#calls = calls;
    }

    async createSession(options: { cwd?: unknown; env?: Fields } = {}): Promise<OwnSession> {
      const { cwd, env } = toOptions('The options of createSession', options);
      if (cwd !== undefined && typeof cwd !== 'string')
        throw new SandboxError('invalid_argument', 'cwd must be a string');
      const folder = cwd === undefined ? null : cwd[0] === '/' ? cwd : `/workspace/${cwd}`;
      return new OwnSession(
        this.#calls,
        { cwd: folder, env: { ...env } },
        (globalThis as unknown as { crypto: { randomUUID(): string } }).crypto.randomUUID(),
      );
    }

    async exposePort(port: unknown, options: Fields = {}): Promise<unknown> {
      const { name, auth } = toOptions('The options of exposePort', options);
      return this.#calls.ask('exposePort', { port, name, auth });
    }

    async unexposePort(port: unknown): Promise<void> {
      await this.#calls.ask('unexposePort', { port });
    }

    listExposedPorts(): Promise<unknown> {
      return this.#calls.ask('listExposedPorts');
    }

    info(): Promise<unknown> {
      return this.#calls.ask('info');
    }

    async suspend(): Promise<void> {
      await this.#calls.ask('suspend');
    }

    async resume(): Promise<void> {
      await this.#calls.ask('resume');
    }

    async snapshot(options: Fields = {}): Promise<unknown> {
      const { id } = toOptions('The options of snapshot', options);
      return this.#calls.read((await this.#calls.raw('snapshot', { id }, '')).json());
    }

    async fork(id: unknown): Promise<Sandbox> {
      await (await this.#calls.raw('fork', { id }, '')).text();
      return this.#calls.of(id as string);
    }

    async destroy(): Promise<void> {
      await this.#calls.ask('destroy');
    }
  }

  class Sandboxes {
    #binding: string;

    constructor(binding: string) {
      this.#binding = binding;
    }

    get(id: unknown, options?: unknown): Sandbox {
      if (typeof id !== 'string' || !ID.test(id))
        throw new TypeError(
          'The id of a sandbox must be a string of at most 63 letters, digits, ".", "_" and "-" that begins with a ' +
            `letter or a digit, but is ${typeof id === 'string' ? JSON.stringify(id.slice(0, 80)) : typeof id}`,
        );
      return new Sandbox(new Calls(this.#binding, `/${id}/`, optionsOf(options)), id);
    }

    list(page: Fields = {}): Promise<unknown> {
      return this.#list(page, '');
    }

    listSnapshots(page: Fields = {}): Promise<unknown> {
      return this.#list(page, 'snapshots=1&');
    }

    async deleteSnapshot(id: unknown): Promise<void> {
      if (typeof id !== 'string' || !ID.test(id))
        throw new SandboxError('invalid_argument', 'The id of a snapshot must be one that listSnapshots gives');
      await new Calls(this.#binding, `/${id}/`).ask('deleteSnapshot');
    }

    async #list({ prefix = '', cursor = '', limit = 100 }: Fields, what: string): Promise<unknown> {
      const search = `${what}prefix=${encodeURIComponent(String(prefix))}&cursor=${encodeURIComponent(String(cursor ?? ''))}`;
      const calls = new Calls(this.#binding, '/');
      const answer = await calls.send(`?${search}&limit=${encodeURIComponent(String(limit))}`, {});
      return calls.read(answer.json());
    }
  }

  return { create: (name) => new Sandboxes(name) };
}

/** The folder that `git clone` derives from a URL. */
function nameOf(url: unknown): string {
  return /([^/]+?)(?:\.git)?\/*$/.exec(String(url))?.[1] ?? 'repository';
}

/** Options of a sandbox as header text, read now; the service validates them. Null: no options. */
function optionsOf(options: unknown): string | null {
  if (options === undefined) return null;
  if (options === null || typeof options !== 'object' || Array.isArray(options))
    throw new TypeError(
      'The options of a sandbox must be an object with machine, image, egress, ai or snapshot, but are ' +
        (options === null ? 'null' : Array.isArray(options) ? 'an array' : typeof options),
    );
  return encodeURIComponent(JSON.stringify(options));
}
