// The AI gateway behind a plain server of Node, with accounts in memory: what its tests and real clients talk to.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as WebStream } from 'node:stream/web';
import type { Accounts, Limit } from '#gateway/accounts/accounts.ts';
import { createMemoryAccounts } from '#gateway/accounts/memory.ts';
import type { Caller, Gateway, GatewayDeps, ModelTable, ProviderConfig, UsageRow } from '#gateway/contract/contract.ts';
import { createGateway } from '#gateway/gateway.ts';
import { mockModels } from '#gateway/providers/mock.ts';
import { defaultLimits } from '#core/limits.ts';

export const testCaller: Caller = {
  kind: 'worker',
  organizationId: 'acme',
  projectId: 'shop',
  deploymentId: 'd000000000001',
  branch: 'main',
  plan: 'free',
  runId: null,
};

export const mockProvider: ProviderConfig = {
  name: 'mock',
  kind: 'mock',
  url: '',
  key: '',
  isPrivate: false,
  models: mockModels,
};

/** A provider of this machine. */
export const providerAt = (url: string, more: Partial<ProviderConfig> = {}): ProviderConfig => ({
  name: 'up',
  kind: 'openai',
  url,
  key: 'sk-test',
  isPrivate: true,
  models: ['echo'],
  ...more,
});

export interface TestGateway {
  readonly gateway: Gateway;
  readonly accounts: Accounts;
  /** `http://.../ai` */
  readonly url: string;
  readonly token: string;
  /** Lines of the log, as JSON. */
  readonly lines: string[];
  post(
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Response>;
  /** Of the newest call first. */
  rows(): Promise<readonly UsageRow[]>;
  close(): Promise<void>;
}

interface Options {
  readonly table?: Partial<ModelTable>;
  readonly limits?: Partial<GatewayDeps['limits']>;
  /** `fetch` by default. */
  readonly send?: GatewayDeps['send'];
  /** In memory by default. */
  readonly accounts?: Accounts;
  readonly budget?: readonly Limit[];
  readonly price?: GatewayDeps['price'];
  readonly now?: () => number;
}

export async function startGateway(options: Options = {}): Promise<TestGateway> {
  const now = options.now ?? Date.now;
  const accounts = options.accounts ?? createMemoryAccounts({ now, limitsOf: () => options.budget ?? [] });
  const lines: string[] = [];
  const table: ModelTable = { providers: [mockProvider], aliases: {}, auto: [], ...options.table };
  const gateway = createGateway({
    ...accounts,
    models: () => Promise.resolve(table),
    price: options.price ?? (() => null),
    send: options.send ?? (({ url, ...init }) => fetch(url, { ...init, method: 'POST', redirect: 'manual' })),
    log: (...line) => void lines.push(JSON.stringify(line)),
    now,
    limits: { ...defaultLimits.gateway, retryPauseMs: 0, ...options.limits },
  });
  const server = createServer((incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on('close', () => {
      if (!outgoing.writableFinished) gone.abort();
    });
    const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD';
    const request = new Request(`http://gateway.test${incoming.url}`, {
      method: incoming.method!,
      headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
      body: hasBody ? (Readable.toWeb(incoming) as unknown as ReadableStream<Uint8Array>) : null,
      signal: gone.signal,
      duplex: 'half',
    } as RequestInit);
    void gateway.fetch(request).then(async (response) => {
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.flushHeaders();
      if (response.body === null) outgoing.end();
      else await pipeline(Readable.fromWeb(response.body as unknown as WebStream), outgoing).catch(() => {});
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ai`;
  const token = await accounts.tokens.issue(testCaller, null);
  return {
    gateway,
    accounts,
    url,
    token,
    lines,
    post: (path, body, headers = {}, signal = undefined) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      }),
    rows: () => accounts.usage.rowsOf('acme', 1000),
    async close() {
      await gateway.close();
      const ended = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await ended;
    },
  };
}

/** A chat of one message. */
export const chat = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: 'Say hello' }],
  ...more,
});

/** The data of each frame. */
export async function framesOf(response: Response): Promise<string[]> {
  return (await response.text())
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice('data: '.length));
}

/** What a stream's chunks say together. */
export function saidIn(frames: readonly string[]): string {
  return frames
    .filter((frame) => frame !== '[DONE]')
    .map((frame) => JSON.parse(frame) as { choices?: { delta?: { content?: string | null } }[] })
    .map(({ choices }) => choices?.[0]?.delta?.content ?? '')
    .join('');
}
