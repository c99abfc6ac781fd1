// Client of the handlers' private ports: status, logs, and tasks of engines (check, warm, migrate). Several handlers
// appear as one: calls that concern all handlers go to each of them, other calls go to one handler. Usage and
// telemetry, which every handler collects separately, are requested from each handler.
import { openHandlerAddresses, type HandlerAddresses } from '#core/process/handler-addresses.ts';
import { joinLogs, logCursors } from './handler-logs.ts';

/** A response: status and parsed JSON. */
interface PrivateAnswer<Body> {
  readonly status: number;
  readonly body: Body;
}

/** Calls the private port. */
export interface PrivatePort {
  /**
   * @param body sent as JSON by POST; without a body, GET is used.
   * @throws {Error} on a timeout, or if the response is not JSON.
   */
  ask<Body>(path: string, body?: unknown, waitMs?: number): Promise<PrivateAnswer<Body>>;
}

/** The private ports of all handlers, as one port and separately. */
export interface HandlerPorts extends PrivatePort {
  /** The private ports of the currently known handlers, by origin. */
  each(): Promise<ReadonlyMap<string, PrivatePort>>;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Paths that are only requested from each handler separately, because one response would lack the data of other
 * handlers.
 */
const COLLECTED = new Set(['/_platform/usage', '/_platform/telemetry']);

const WAIT_MS = 30_000;
/** A lost machine does not respond at all: skip it for this long. */
const AWAY_MS = 10_000;
/** Errors that mean that no process listens at the address, so the request was not received. */
const UNREACHED = /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;

/**
 * @param origins the origins in `API_HANDLER_URL`, such as `http://127.0.0.1:8081`.
 * @param token `PRIVATE_PORT_TOKEN`; null if none is required.
 */
export function openPrivatePort(
  origins: readonly string[],
  token: string | null,
  handlers: HandlerAddresses = openHandlerAddresses(origins),
): HandlerPorts {
  const away = new Map<string, number>();

  async function send(origin: string, path: string, body: unknown, waitMs: number): Promise<PrivateAnswer<unknown>> {
    const answer = await fetch(`${origin}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        // The server may close an idle connection while a request is sent; then it is unknown whether it was
        // received.
        connection: 'close',
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(waitMs),
    });
    return { status: answer.status, body: await answer.json() };
  }

  /** The handler's response; null if it cannot be reached, so it received no request. */
  async function reach(
    origin: string,
    path: string,
    body: unknown,
    waitMs: number,
  ): Promise<PrivateAnswer<unknown> | null> {
    try {
      return await send(origin, path, body, waitMs);
    } catch (error) {
      const code = codeOf(error);
      if (!UNREACHED.test(code)) throw error;
      if (code === 'UND_ERR_CONNECT_TIMEOUT') away.set(origin, performance.now() + AWAY_MS);
      return null;
    }
  }

  async function known(): Promise<readonly string[]> {
    const found = await handlers.find();
    const there = found.filter((origin) => (away.get(origin) ?? 0) < performance.now());
    for (const origin of away.keys()) if (!found.includes(origin)) away.delete(origin);
    return there.length > 0 ? there : found;
  }

  async function askOne(
    from: readonly string[],
    path: string,
    body: unknown,
    waitMs: number,
  ): Promise<PrivateAnswer<unknown>> {
    for (const origin of from) {
      const answer = await reach(origin, path, body, waitMs);
      if (answer !== null) return answer;
    }
    throw nobody(from);
  }

  async function askAll(
    from: readonly string[],
    path: (origin: string) => string,
    body: unknown,
    waitMs: number,
  ): Promise<Map<string, PrivateAnswer<unknown>>> {
    const asked = await Promise.all(
      from.map(async (origin) => [origin, await reach(origin, path(origin), body, waitMs)] as const),
    );
    const answers = new Map(asked.flatMap(([origin, answer]) => (answer === null ? [] : [[origin, answer] as const])));
    if (answers.size === 0) throw nobody(from);
    return answers;
  }

  async function ask(path: string, body: unknown, waitMs: number): Promise<PrivateAnswer<unknown>> {
    const name = path.split('?', 1)[0]!;
    if (COLLECTED.has(name)) throw new Error(`${name} is asked of each handler`);
    const from = await known();
    if (from.length === 0) throw nobody(origins);
    if (from.length === 1 && from[0] === origins[0] && origins.length === 1) return send(from[0]!, path, body, waitMs);
    if (name === '/_platform/logs') {
      const query = new URLSearchParams(path.slice(name.length + 1));
      const cursors = logCursors(query.get('after') ?? '');
      const answers = await askAll(
        from,
        (origin) => {
          query.set('after', cursors[origin] ?? '');
          return `${name}?${query}`;
        },
        body,
        waitMs,
      );
      return joinLogs(answers, cursors);
    }
    if (name === '/_platform/status') return joinStatuses(await askAll(from, () => path, body, waitMs));
    const isForAll = name === '/_platform/warm' || (name === '/_platform/check' && 'record' in (body as Fields));
    if (!isForAll) return askOne(from, path, body, waitMs);
    return worst([...(await askAll(from, () => path, body, waitMs)).values()]);
  }

  return {
    ask: (path, body, waitMs = WAIT_MS) => ask(path, body, waitMs) as never,
    async each() {
      const portOf = (origin: string): PrivatePort => ({
        ask: (path, body, waitMs = WAIT_MS) => send(origin, path, body, waitMs) as never,
      });
      return new Map((await known()).map((origin) => [origin, portOf(origin)]));
    },
  };
}

/** Merges the processes in the responses of all handlers. */
function joinStatuses(answers: ReadonlyMap<string, PrivateAnswer<unknown>>): PrivateAnswer<unknown> {
  const good = [...answers.values()].filter(({ status }) => status === 200).map(({ body }) => body as Fields);
  const [first] = answers.values();
  if (good.length === 0) return first!;
  const all = (name: string): unknown[] => good.flatMap((body) => (body[name] as unknown[] | undefined) ?? []);
  return {
    status: 200,
    body: { ...good[0], engines: all('engines'), services: all('services'), quarantine: all('quarantine') },
  };
}

/** Combines responses: a refusal takes precedence, then a response that says that a task is not done. */
function worst(answers: readonly PrivateAnswer<unknown>[]): PrivateAnswer<unknown> {
  const refused = answers.find(({ status }) => status !== 200);
  if (refused !== undefined) return refused;
  return (
    answers.find(({ body }) => {
      const { routed, warmed } = (body ?? {}) as Fields;
      return routed === false || warmed === false;
    }) ?? answers[0]!
  );
}

function nobody(origins: readonly string[]): Error {
  if (origins.length === 0)
    return new Error('no handler can be reached: no machine with one has announced itself (`platform machines`)');
  return new Error(`no handler can be reached at ${origins.join(', ')} (API_HANDLER_URL, or \`platform machines\`)`);
}

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown; errors?: { code?: unknown }[] } };
  return String(cause?.code ?? cause?.errors?.[0]?.code ?? code ?? '');
}
