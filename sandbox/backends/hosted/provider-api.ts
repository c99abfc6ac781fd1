// Client for the provider's HTTPS API (docs/sandbox-provider.md lists its routes), with one WebSocket per started
// program. Called by backend.ts. The key is only sent in the header of these requests.
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocket } from 'ws';
import { Failure, isFailure } from '#core/failure.ts';
import { type HostedProvider, type ProviderKey, type ProviderMachine, type ProviderState } from './provider.ts';
import {
  openProviderCalls,
  reasonOf,
  record,
  strings,
  text,
  unreadable,
  type ProviderCalls,
} from './provider-calls.ts';

/** Endpoint and credentials. */
interface ProviderApiDeps {
  /** `HOSTED_BASE_URL`, without a trailing slash. */
  readonly baseUrl: string;
  /** `HOSTED_API_KEY`. */
  readonly apiKey: string;
  /** `HOSTED_ORG`. */
  readonly organization: string;
  /** Additional certificate authorities, for tests. */
  readonly certificateAuthority?: string;
  /** Timeout of a request and of each chunk of its response. */
  readonly answerMs: number;
}

const PAGES_MAX = 1000;
const STATES: ReadonlySet<string> = new Set<ProviderState>(['starting', 'running', 'suspended', 'stopped']);

/** Creating is idempotent: machine names are unique, and the provider answers 409 to a second request. */
export function openProviderApi(deps: ProviderApiDeps): HostedProvider & { close(): Promise<void> } {
  const { baseUrl, organization, certificateAuthority: ca, answerMs } = deps;
  const calls = openProviderCalls({ ...deps, keyName: 'HOSTED_API_KEY' });
  const { call } = calls;
  const machines = `/v1/organizations/${encodeURIComponent(organization)}/sandboxes`;

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
        if (!isFailure(error, 'sandbox_provider') || error.status !== 404) throw error;
      }
    },
    async writeFile(id, path, bytes) {
      await call('PUT', `${one(id)}/files?${new URLSearchParams({ path }).toString()}`, bytes);
    },
    exec(id, command) {
      const url = `${baseUrl.replace(/^http/, 'ws')}${one(id)}/exec?${new URLSearchParams(command.map((word): [string, string] => ['command', word])).toString()}`;
      return openExec(url, calls, ca, answerMs);
    },
    close: () => calls.close(),
  };

  function one(id: string): string {
    return `${machines}/${encodeURIComponent(id)}`;
  }
}

function openExec(
  url: string,
  { authorization, explain }: ProviderCalls,
  ca: string | undefined,
  answerMs: number,
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      headers: { authorization },
      handshakeTimeout: answerMs,
      followRedirects: false,
      perMessageDeflate: false,
      ...(ca === undefined ? {} : { ca }),
    });
    // Listens immediately, so that data arriving with the handshake is not lost.
    const stream = createWebSocketStream(socket);
    const fail = (error: Failure<'sandbox_provider'>): void => {
      stream.destroy();
      reject(error);
    };
    stream.on('error', () => {});
    socket.once('open', () => resolve(stream));
    socket.once('unexpected-response', (_request, answer) => {
      answer.resume();
      fail(new Failure('sandbox_provider', explain(answer.statusCode ?? 0, null), { status: answer.statusCode ?? 0 }));
    });
    socket.once('error', (error) =>
      fail(new Failure('sandbox_provider', `the provider does not answer (${reasonOf(error)})`, { status: 0 })),
    );
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
