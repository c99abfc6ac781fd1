// The private port over engines that are stand-ins: what each of them answers, and when, is the test's choice.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  openPrivatePort,
  type PrivatePort,
  type PrivatePortDeps,
} from '#runtime/supervisor/private-port/private-port.ts';
import type { EngineState, QuarantineState, SupervisorState } from '#runtime/supervisor/engines/state.ts';

export const TOKEN = 'the-token-of-these-tests';

interface Setup {
  readonly engines?: EngineState[];
  readonly quarantine?: QuarantineState[];
  readonly services?: SupervisorState['services'];
  readonly token?: string;
  readonly isStopping?: () => boolean;
  readonly deps?: Partial<PrivatePortDeps>;
}

export async function openPort(
  t: TestContext,
  { engines = [], quarantine = [], services = [], token, isStopping = () => false, deps }: Setup,
): Promise<PrivatePort> {
  const port = await openPrivatePort({
    settings: { port: 0, host: '127.0.0.1', token: token ?? TOKEN },
    localToken: 'of the user who started it',
    usage: { take: () => ({ id: null, rows: [] }) },
    telemetry: { take: () => Promise.resolve({ id: null, records: '', lost: 0 }) },
    version: '1.2.3',
    state: () => ({
      port: 4001,
      startedAt: '2026-01-01T00:00:00.000Z',
      engines,
      quarantine,
      ledger: [],
      deaths: 2,
      lostRequests: 1,
      services,
    }),
    isStopping,
    metricsDeploymentsMax: 10,
    homes: (_deployment, places) => places,
    eventWallMs: 1000,
    bodyBytesMax: 1000,
    deliveriesMax: 2,
    ...deps,
  });
  t.after(() => port.close());
  return port;
}

let next = 0;

/** An engine that answers what the test wants; without a listener nobody listens on its socket. */
export async function openEngine(
  t: TestContext,
  listener: RequestListener | null,
  given: Partial<EngineState> = {},
): Promise<EngineState> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  const socketPath = join(folder, 'http');
  if (listener !== null) {
    const server = createServer(listener).listen(socketPath);
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
  }
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const id = ++next;
  return {
    id,
    pid: id,
    role: 'serving',
    state: 'listening',
    place: id,
    startedAt: '',
    restarts: 0,
    rssBytes: 1,
    lostThreads: 0,
    load: 0,
    forwarded: 0,
    socketPath,
    ...given,
  };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export async function ask(
  port: PrivatePort,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const sent = httpRequest({
    host: '127.0.0.1',
    port: port.port,
    path,
    method: options.method ?? 'GET',
    headers: { authorization: `Bearer ${TOKEN}`, ...options.headers },
    agent: false,
  });
  sent.end(options.body);
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
  return { status: response.statusCode!, headers: response.headers, text };
}

const json = { 'content-type': 'application/json' };
export const event = JSON.stringify({ deployment: 'd1', kind: 'queue', event: { messages: [] } });
export const deliver = (
  port: PrivatePort,
  body: string = event,
  headers: Record<string, string> = json,
): Promise<Answer> => ask(port, '/_platform/deliver', { method: 'POST', body, headers });
export const codeOf = ({ text }: Answer): unknown => (JSON.parse(text) as { code?: unknown }).code;
