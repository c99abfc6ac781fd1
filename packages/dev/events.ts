// Events for code that runs in Node: a route of the app to which the platform posts them, and their results. Exported
// by index.ts; the other half is the platform's worker that forwards events.
import { linesOf } from './lines.ts';
import { encode, revive, toError, type Revivers } from './values.ts';

/** Handlers like those that a worker exports, each with `env` and a context. */
export interface EventHandlers<Env = unknown> {
  /** A message of a queue. */
  message?(event: MessageEvent, env: Env, context: EventContext): unknown;
  /** A timer that is due. */
  timer?(event: TimerEvent, env: Env, context: EventContext): unknown;
  /** A run of a `cron` schedule. */
  scheduled?(controller: ScheduledController, env: Env, context: EventContext): unknown;
  /** Runs of workflows, by name. */
  readonly workflows?: Readonly<Record<string, Workflow<Env> | Workflow<Env>['handler']>>;
}

interface Workflow<Env> {
  handler(context: WorkflowContext<Env>): unknown;
  /** Called when the run has failed. */
  onError?(error: unknown, context: WorkflowContext<Env>): unknown;
}

interface EventContext {
  /** Accepts a promise that nothing waits for; its error is written to the console. */
  waitUntil(promise: Promise<unknown>): void;
}

interface MessageEvent {
  readonly id: string;
  readonly payload: unknown;
  /** From 1. */
  readonly attempt: number;
  /** When the message was sent, in ms since 1970. */
  readonly timestamp: number;
  readonly queueName: string;
  /** Its name in `env`. */
  readonly binding: string;
  ack(): void;
  retry(options?: { readonly delaySeconds?: number }): void;
}

interface TimerEvent {
  readonly id: string;
  readonly binding: string;
  /** ms since 1970. */
  readonly scheduledTime: number;
  readonly payload: unknown;
  readonly intervalMs: number | null;
}

interface ScheduledController {
  /** In platform.yaml. */
  readonly name: string;
  readonly cron: string;
  readonly scheduledTime: number;
  /** Prevents a retry if the run fails. */
  noRetry(): void;
}

interface WorkflowContext<Env> {
  readonly input: unknown;
  readonly payload: unknown;
  readonly executionId: string;
  readonly env: Env;
  readonly step: WorkflowStep;
  log(message: unknown, data?: unknown): void;
}

type StepWork = () => unknown;

/** Steps are durable: a completed step is not run again. */
interface WorkflowStep {
  run(name: string, work: StepWork, options?: object): Promise<unknown>;
  run(name: string, options: object, work: StepWork): Promise<unknown>;
  do(name: string, work: StepWork, options?: object): Promise<unknown>;
  do(name: string, options: object, work: StepWork): Promise<unknown>;
  sleep(...args: readonly unknown[]): Promise<unknown>;
  sleepUntil(...args: readonly unknown[]): Promise<unknown>;
  waitForEvent(name: string, options: object): Promise<unknown>;
}

type Told = Readonly<Record<string, unknown>>;

const noFiles: Revivers = { file: () => null };
const fromWire = (value: unknown): unknown => revive(value, null, noFiles);
const toWire = (value: unknown): unknown => encode(value, null);
const LINE_CHARS_MAX = 33_554_432;

/**
 * Handles the platform's `POST /__platform/<event>`: the route for messages, timers, schedules and workflows of a
 * project whose code runs in Node.
 *
 * @param env passed to handlers @param token the token that the platform sends @returns a handler for requests of that
 * route only; without the platform's token it responds with 401.
 */
export function answerEvents<Env>(
  handlers: EventHandlers<Env>,
  env: () => Promise<Env>,
  token: string,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!isAuthorized(request, token)) return refuse(401, 'Only the platform can call this route');
    if (request.method !== 'POST') return refuse(405, 'This route only accepts POST');
    const event = new URL(request.url).pathname.split('/').at(-1);
    const context: EventContext = { waitUntil: (promise) => void promise.catch((error) => console.error(error)) };
    switch (event) {
      case 'message': {
        if (handlers.message === undefined) return refuse(404, 'The app has no message handler');
        const answer: Record<string, unknown> = {};
        const message = {
          ...((await readEvent(request)) as unknown as MessageEvent),
          ack: () => void (answer['retry'] === undefined && (answer['ack'] = true)),
          retry: (options?: object) => void (answer['ack'] === undefined && (answer['retry'] ??= { ...options })),
        };
        const given = await env();
        return answerOf(answer, () => handlers.message!(message, given, context));
      }
      case 'timer': {
        if (handlers.timer === undefined) return refuse(404, 'The app has no timer handler');
        const timer = (await readEvent(request)) as unknown as TimerEvent;
        const given = await env();
        return answerOf({}, () => handlers.timer!(timer, given, context));
      }
      case 'scheduled': {
        if (handlers.scheduled === undefined) return refuse(404, 'The app has no scheduled handler');
        const answer: Record<string, unknown> = {};
        const controller = {
          ...((await readEvent(request)) as unknown as ScheduledController),
          noRetry: () => void (answer['noRetry'] = true),
        };
        const given = await env();
        return answerOf(answer, () => handlers.scheduled!(controller, given, context));
      }
      case 'workflow':
        return runWorkflow(request, handlers.workflows ?? {}, await env());
      default:
        return refuse(404, 'There is no such event');
    }
  };
}

function isAuthorized(request: Request, token: string): boolean {
  const { createHash, timingSafeEqual } = process.getBuiltinModule('node:crypto');
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const given = digest(request.headers.get('authorization') ?? '');
  return timingSafeEqual(given, digest(`Bearer ${token}`));
}

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status });
}

async function readEvent(request: Request): Promise<Told> {
  return fromWire(await request.json()) as Told;
}

async function answerOf(answer: Record<string, unknown>, handle: () => unknown): Promise<Response> {
  try {
    await handle();
  } catch (error) {
    answer['error'] = errorOf(error);
  }
  return Response.json(answer);
}

function errorOf(error: unknown): object {
  const { name, message, code } = (error ?? {}) as { name?: unknown; message?: unknown; code?: unknown };
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: String(message ?? error),
    ...(typeof code === 'string' && { code }),
  };
}

/** The handler runs here; the platform starts each step and stores its result. */
function runWorkflow<Env>(
  request: Request,
  workflows: NonNullable<EventHandlers<Env>['workflows']>,
  env: Env,
): Response {
  const encoder = new TextEncoder();
  let send!: (said: object) => void;
  let end!: () => void;
  let isOver = false;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (said) => void (isOver || controller.enqueue(encoder.encode(`${JSON.stringify(said)}\n`)));
      end = () => {
        if (!isOver) controller.close();
        isOver = true;
      };
    },
    /** The attempt is over, for example because the run sleeps. Another request will continue the run. */
    cancel: () => void (isOver = true),
  });
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  const works = new Map<number, StepWork>();
  let last = 0;

  const ask = (said: object, work?: StepWork): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      if (work !== undefined) works.set(id, work);
      send({ id, ...said });
    });

  const runStep = async (name: string, second: unknown, third?: unknown): Promise<unknown> => {
    const [work, options] = typeof second === 'function' ? [second, third] : [third, second];
    if (typeof work !== 'function') throw new TypeError('step.run takes a name and a function');
    return ask({ step: 'run', name, options: toWire(options) }, work as StepWork);
  };
  const wait =
    (step: string) =>
    (...args: readonly unknown[]): Promise<unknown> =>
      ask({ step, args: toWire(args) });
  const step: WorkflowStep = {
    run: runStep,
    do: runStep,
    sleep: wait('sleep'),
    sleepUntil: wait('sleepUntil'),
    waitForEvent: wait('waitForEvent'),
  };

  async function begin({ workflow, executionId, input }: Told): Promise<void> {
    const found = Object.hasOwn(workflows, String(workflow)) ? workflows[String(workflow)]! : null;
    const { handler, onError } = typeof found === 'function' ? { handler: found, onError: undefined } : (found ?? {});
    const payload = fromWire(input);
    const log = (...said: readonly unknown[]): void => send({ log: toWire(said) });
    const context = { input: payload, payload, executionId: String(executionId), env, step, log };
    try {
      if (handler === undefined) throw new Error(`The app has no workflow "${String(workflow)}"`);
      send({ output: toWire(await handler.call(found, context)) });
    } catch (error) {
      try {
        await onError?.call(found as Workflow<Env>, error, context);
        send({ failed: errorOf(error) });
      } catch (thrown) {
        send({ failed: errorOf(thrown) });
      }
    }
    end();
  }

  async function runWork(id: number): Promise<void> {
    try {
      send({ ran: id, result: toWire(await works.get(id)?.()) });
    } catch (error) {
      send({ ran: id, error: errorOf(error) });
    }
  }

  async function listen(): Promise<void> {
    let isFirst = true;
    const text = request.body!.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>;
    for await (const line of linesOf(text as unknown as AsyncIterable<string>, LINE_CHARS_MAX)) {
      const said = JSON.parse(line) as Told;
      if (isFirst) void begin(said);
      else if (typeof said['run'] === 'number') void runWork(said['run']);
      else {
        const id = Number(said['id']);
        if (said['error'] === undefined) waiting.get(id)?.resolve(fromWire(said['result']));
        else waiting.get(id)?.reject(toError(said['error']));
        waiting.delete(id);
        works.delete(id);
      }
      isFirst = false;
    }
  }
  // If the body ends without its last line, the platform has ended the attempt.
  listen()
    .catch(() => {})
    .then(end);
  return new Response(body, { headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' } });
}
