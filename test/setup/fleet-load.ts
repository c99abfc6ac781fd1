// Visitors of a fleet: requests over the edge, each judged, and WebSockets whose end is known.
import { Agent, request } from 'node:https';
import { Agent as Dispatcher, WebSocket } from 'undici';
import type { Fleet } from './fleet.ts';

/** What visitors saw. */
interface Load {
  /** Requests by what came of them: a status, or an error. */
  readonly counts: Readonly<Record<string, number>>;
  /** Those that were not answered with 200, with their moment. */
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

/** An answer. */
interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A request that nobody answers is a failure, not a wait. */
const SILENCE_MS = 30_000;

/** A visitor with kept connections. */
interface Visitor {
  visit(label: string, at: string, body?: string): Promise<Answer>;
  close(): void;
}

/** A visitor of hosts below the fleet's domains, such as `shop.d1.test`. */
export function createVisitor({ edgePort }: Fleet): Visitor {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  return {
    close: () => agent.destroy(),
    visit: (host, at, body) =>
      new Promise((resolve, reject) => {
        const sent = request(
          {
            host: '127.0.0.1',
            port: edgePort,
            path: at,
            servername: host,
            headers: { host },
            agent,
            method: body === undefined ? 'GET' : 'POST',
            timeout: SILENCE_MS,
          },
          (response) => {
            let text = '';
            response.setEncoding('utf8').on('data', (part: string) => (text += part));
            response.on('end', () => resolve({ status: response.statusCode!, text })).on('error', reject);
          },
        );
        sent.on('timeout', () => sent.destroy(new Error('silence'))).on('error', reject);
        sent.end(body);
      }),
  };
}

/** Clients that ask one request after another, of all hosts in turn: every fifth is slow, every third a POST. */
export function startLoad(fleet: Fleet, project: string, clients: number): Load {
  const counts: Record<string, number> = {};
  const failures: string[] = [];
  const visitor = createVisitor(fleet);
  let isAsking = true;
  const working = Array.from({ length: clients }, async (_, client) => {
    for (let round = client * 7; isAsking; round++) {
      const host = `${project}.${fleet.domains[round % fleet.domains.length]!}`;
      const [at, body] = [round % 5 === 0 ? '/slow' : '/', round % 3 === 0 ? 'body' : undefined];
      const began = Date.now();
      const key = await visitor.visit(host, at, body).then(
        ({ status }) => String(status),
        (error: NodeJS.ErrnoException) => error.code ?? error.message,
      );
      counts[key] = (counts[key] ?? 0) + 1;
      if (key !== '200')
        failures.push(`${key} for ${body === undefined ? 'GET' : 'POST'} ${host}${at}, ${began} to ${Date.now()}`);
    }
  });
  return {
    counts,
    failures,
    async stop() {
      isAsking = false;
      await Promise.all(working);
      visitor.close();
    },
  };
}

/** A WebSocket, with the code of its end; null while it is open. */
interface OpenSocket {
  readonly host: string;
  readonly endedWith: () => number | null;
  close(): Promise<void>;
}

/** Opens one to each host. The edge decides which machine has it. */
export function openSockets(fleet: Fleet, project: string, path: string): Promise<OpenSocket[]> {
  return Promise.all(fleet.domains.map((domain) => openSocket(fleet, `${project}.${domain}`, path)));
}

async function openSocket({ edgePort }: Fleet, host: string, path: string): Promise<OpenSocket> {
  const connect = { rejectUnauthorized: false, lookup: toThisMachine };
  const dispatcher = new Dispatcher({ connect });
  const socket = new WebSocket(`wss://${host}:${edgePort}${path}`, { dispatcher });
  let code: number | null = null;
  const ended = new Promise<void>((resolve) =>
    socket.addEventListener('close', (event) => {
      code = event.code;
      resolve();
    }),
  );
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`no WebSocket to ${host}`)));
  });
  return {
    host,
    endedWith: () => code,
    async close() {
      socket.close();
      await ended;
      await dispatcher.destroy();
    },
  };
}

function toThisMachine(_host: string, _options: unknown, done: (...answer: never[]) => void): void {
  (done as (error: null, addresses: { address: string; family: number }[]) => void)(null, [
    { address: '127.0.0.1', family: 4 },
  ]);
}
