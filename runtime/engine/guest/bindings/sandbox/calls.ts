// Requests of a sandbox binding to the sandbox service, through the host (core/sandbox/operations.ts in the repository
// defines the requests).
import { createFetcher } from '../../web/fetch.ts';
import { LOST, SandboxError, toSandboxError } from './errors.ts';

export type Fields = Readonly<Record<string, unknown>>;
export type Answer = Awaited<ReturnType<ReturnType<typeof createFetcher>['fetch']>>;

/** Calls of one sandbox, or of all sandboxes of a binding. */
export class Calls {
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

  /** Returns calls of another sandbox of the same binding. */
  of(id: string): Calls {
    return new Calls(this.#binding, `/${id}/`);
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
      // The response does not come from the service, but from something on the way to it, so only the status is known.
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
