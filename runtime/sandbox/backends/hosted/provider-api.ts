// The provider's API over HTTPS (docs/sandbox-provider.md has its routes), and one WebSocket for each program that it
// starts. Called by backend.ts. The key goes into the header of these requests and nowhere else.
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { createWebSocketStream, WebSocket } from 'ws';
import { parseInteger } from '#core/parse-integer.ts';
import {
  ProviderError,
  type HostedProvider,
  type ProviderKey,
  type ProviderMachine,
  type ProviderState,
} from './provider.ts';

/** Where and as whom. */
export interface ProviderApiParts {
  /** `HOSTED_BASE_URL`, without a slash at its end. */
  readonly baseUrl: string;
  /** `HOSTED_API_KEY`. */
  readonly apiKey: string;
  /** `HOSTED_ORG`. */
  readonly organization: string;
  /** Authorities besides those of Node; for tests. */
  readonly certificateAuthority?: string;
  /** A request, and each part of its answer. */
  readonly answerMs: number;
}

/** Answers that mean: the same again, later. */
const LATER = new Set([429, 503]);
const ATTEMPTS = 4;
const RETRY_MS = 250;
const RETRY_AFTER_MS_MAX = 10_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
const PAGES_MAX = 1000;
const STATES: ReadonlySet<string> = new Set<ProviderState>(['starting', 'running', 'suspended', 'stopped']);

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Requests may be repeated: a machine's name is its own, and the provider answers 409 to a second one. */
export function openProviderApi(parts: ProviderApiParts): HostedProvider & { close(): Promise<void> } {
  const { baseUrl, apiKey, organization, certificateAuthority: ca, answerMs } = parts;
  const dispatcher = new Agent({
    connect: { ...(ca === undefined ? {} : { ca }), timeout: answerMs },
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
  });
  const headers = { authorization: `Bearer ${apiKey}`, accept: 'application/json' };
  const machines = `/v1/organizations/${encodeURIComponent(organization)}/sandboxes`;

  async function call(
    method: Method,
    target: string,
    body?: Readonly<Record<string, unknown>> | Uint8Array,
  ): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      const answer = await once(method, target, body);
      if (answer.status < 300) return answer.body;
      if (LATER.has(answer.status) && attempt < ATTEMPTS) {
        await delay(answer.retryAfterMs ?? RETRY_MS * 2 ** (attempt - 1));
        continue;
      }
      throw new ProviderError(answer.status, explain(answer.status, answer.body));
    }
  }

  async function once(
    method: Method,
    target: string,
    body: Readonly<Record<string, unknown>> | Uint8Array | undefined,
  ): Promise<{ readonly status: number; readonly body: unknown; readonly retryAfterMs: number | null }> {
    const isBytes = body instanceof Uint8Array;
    let status: number;
    let text = '';
    let retryAfterMs: number | null;
    try {
      const answer = await request(`${baseUrl}${target}`, {
        method,
        dispatcher,
        headers: {
          ...headers,
          ...(body === undefined ? {} : { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' }),
        },
        ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
      });
      status = answer.statusCode;
      retryAfterMs = retryAfter(answer.headers['retry-after']);
      let bytes = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        if ((bytes += chunk.length) > ANSWER_BYTES_MAX) throw new Error(`its answer is over ${ANSWER_BYTES_MAX} bytes`);
        text += chunk.toString('latin1');
      }
    } catch (error) {
      throw new ProviderError(0, `the provider does not answer (${reasonOf(error)})`);
    }
    if (text === '') return { status, body: null, retryAfterMs };
    try {
      return { status, body: JSON.parse(Buffer.from(text, 'latin1').toString()) as unknown, retryAfterMs };
    } catch {
      if (status >= 300) return { status, body: null, retryAfterMs };
      throw new ProviderError(0, `the provider's answer to ${method} ${pathOf(target)} is no JSON`);
    }
  }

  return {
    async key(): Promise<ProviderKey> {
      const answer = record(await call('GET', '/v1/account'), '/v1/account');
      const key = record(answer['key'], '/v1/account');
      const { expiresAt } = key;
      return {
        isScoped: key['scoped'] === true,
        actions: strings(key['actions']),
        expiresAt: typeof expiresAt === 'string' ? Date.parse(expiresAt) : null,
      };
    },
    async templateSnapshot(template) {
      const target = `/v1/organizations/${encodeURIComponent(organization)}/templates/${encodeURIComponent(template)}`;
      return text(record(await call('GET', target), target)['snapshotId'], target);
    },
    async machineTypes() {
      const target = `/v1/organizations/${encodeURIComponent(organization)}/machine-types`;
      return strings(record(await call('GET', target), target)['items']);
    },
    async list(prefix) {
      const found: ProviderMachine[] = [];
      let cursor = '';
      for (let page = 0; page < PAGES_MAX; page++) {
        const target = `${machines}?${new URLSearchParams({ prefix, cursor }).toString()}`;
        const answer = record(await call('GET', target), target);
        if (!Array.isArray(answer['items'])) throw unreadable(target);
        for (const item of answer['items']) found.push(machine(item, target));
        if (typeof answer['cursor'] !== 'string' || answer['cursor'] === '') return found;
        cursor = answer['cursor'];
      }
      throw unreadable(machines);
    },
    async create({ name, template, machineType, ttlSeconds }) {
      const body = { name, machineType, ttlSeconds, ...(template === null ? {} : { template }) };
      return machine(await call('POST', machines, body), machines);
    },
    async read(id) {
      return machine(await call('GET', one(id)), one(id));
    },
    async update(id, { machineType }) {
      await call('PATCH', one(id), { machineType });
    },
    async resume(id, ttlSeconds) {
      await call('POST', `${one(id)}/resume`, { ttlSeconds });
    },
    async stop(id, keepsMemory) {
      await call('POST', `${one(id)}/stop`, { keepsMemory });
    },
    async remove(id) {
      try {
        await call('DELETE', one(id));
      } catch (error) {
        if (!(error instanceof ProviderError) || error.status !== 404) throw error;
      }
    },
    async writeFile(id, path, bytes) {
      await call('PUT', `${one(id)}/files?${new URLSearchParams({ path }).toString()}`, bytes);
    },
    exec(id, command) {
      const url = `${baseUrl.replace(/^http/, 'ws')}${one(id)}/exec?${new URLSearchParams(command.map((word): [string, string] => ['command', word])).toString()}`;
      return openExec(url, headers.authorization, ca, answerMs);
    },
    close: () => dispatcher.close(),
  };

  function one(id: string): string {
    return `${machines}/${encodeURIComponent(id)}`;
  }
}

function openExec(url: string, authorization: string, ca: string | undefined, answerMs: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      headers: { authorization },
      handshakeTimeout: answerMs,
      followRedirects: false,
      perMessageDeflate: false,
      ...(ca === undefined ? {} : { ca }),
    });
    // Listened to from here on, so that nothing that comes with the handshake is lost.
    const stream = createWebSocketStream(socket);
    const fail = (error: ProviderError): void => {
      stream.destroy();
      reject(error);
    };
    stream.on('error', () => {});
    socket.once('open', () => resolve(stream));
    socket.once('unexpected-response', (_request, answer) => {
      answer.resume();
      fail(new ProviderError(answer.statusCode ?? 0, explain(answer.statusCode ?? 0, null)));
    });
    socket.once('error', (error) => fail(new ProviderError(0, `the provider does not answer (${reasonOf(error)})`)));
  });
}

function machine(value: unknown, target: string): ProviderMachine {
  const { id, name, machineType, state } = record(value, target);
  if (typeof state !== 'string' || !STATES.has(state)) throw unreadable(target);
  return {
    id: text(id, target),
    name: text(name, target),
    machineType: text(machineType, target),
    state: state as ProviderState,
  };
}

function record(value: unknown, target: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable(target);
  return value as Readonly<Record<string, unknown>>;
}

function text(value: unknown, target: string): string {
  if (typeof value !== 'string' || value === '') throw unreadable(target);
  return value;
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

function unreadable(target: string): ProviderError {
  return new ProviderError(0, `the provider's answer to ${pathOf(target)} is not what its API promises`);
}

/** Without the query, which may have paths of a sandbox. */
function pathOf(target: string): string {
  return target.split('?', 1)[0]!;
}

function explain(status: number, body: unknown): string {
  if (status === 401) return 'the provider does not know HOSTED_API_KEY: it may have expired';
  if (status === 403) return 'the provider forbids it to HOSTED_API_KEY: see its actions in docs/sandbox-provider.md';
  if (status === 429) return 'the provider has had too many requests';
  const said = (body as { error?: { message?: unknown } } | null)?.error?.message;
  return `the provider answered ${status}${typeof said === 'string' ? ` (${said.slice(0, 200)})` : ''}`;
}

/** Seconds; other forms are not waited for. */
function retryAfter(value: string | string[] | undefined): number | null {
  if (typeof value !== 'string' || !/^\d{1,6}$/.test(value)) return null;
  return Math.min(parseInteger('retry-after', value, { least: 0 }) * 1000, RETRY_AFTER_MS_MAX);
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code ?? message;
}
