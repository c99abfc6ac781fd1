// The guest half of sandboxes: a handle for each id. Each method of a handle sends one request to the sandbox service.
// lazy.ts loads this module when it is first used.
import { toOptions } from '../calls.ts';
import { Calls, type Fields } from './sandbox/calls.ts';
import { SandboxError } from './sandbox/errors.ts';
import { Session, type Own } from './sandbox/session.ts';

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export default function createSandboxes(): { create(name: string): object } {
  return { create: (name) => new Sandboxes(name) };
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
    return new Sandbox(this.#calls.of(id as string), id as string);
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
      throw new SandboxError('invalid_argument', 'The id of a snapshot must come from listSnapshots');
    await new Calls(this.#binding, `/${id}/`).ask('deleteSnapshot');
  }

  async #list({ prefix = '', cursor = '', limit = 100 }: Fields, what: string): Promise<unknown> {
    const search = `${what}prefix=${encodeURIComponent(String(prefix))}&cursor=${encodeURIComponent(String(cursor ?? ''))}`;
    const calls = new Calls(this.#binding, '/');
    const answer = await calls.send(`?${search}&limit=${encodeURIComponent(String(limit))}`, {});
    return calls.read(answer.json());
  }
}

/** The current options of a sandbox as header text, which the service validates. Null means no options. */
function optionsOf(options: unknown): string | null {
  if (options === undefined) return null;
  if (options === null || typeof options !== 'object' || Array.isArray(options))
    throw new TypeError(
      'The options of a sandbox must be an object with machine, image, egress, ai or snapshot, but are ' +
        (options === null ? 'null' : Array.isArray(options) ? 'an array' : typeof options),
    );
  return encodeURIComponent(JSON.stringify(options));
}
