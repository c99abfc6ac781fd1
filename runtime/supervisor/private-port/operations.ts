// Operations of a release on the private port: `POST /_platform/warm` asks all engines that serve, the others ask one.
// Those that change what a project has run one at a time for it, in the order they came in. All of them may be asked
// again: what was done already is left as it is.
import type { IncomingMessage } from 'node:http';
import { errorMessage, PlatformError, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import { isProjectName } from '#core/names.ts';
import { askEngine, type EngineAnswer, type EngineCallError } from '../engines/engine-calls.ts';
import { readBody, readJsonBody } from './json-body.ts';
import type { DeploymentKey, EngineState, SupervisorState } from './state.ts';

/** How long an operation may take in its engine. */
interface Operation {
  readonly msMax: number;
  /** It passes through unread: it may bring a file, or be answered with one. */
  readonly isLarge?: boolean;
  /** It is of all projects, and names none. */
  readonly isOfAll?: boolean;
  /** It changes what the project has. */
  readonly alone: boolean;
}

const MINUTE_MS = 60_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const BODY_BYTES_MAX = 1024 * 1024;
const LARGE_BYTES_MAX = 64 * 1024 * 1024;
/** Operations that wait for others of their project. */
const WAITING_MAX = 1000;

/** By the last part of their path. */
export const operations: Readonly<Record<string, Operation>> = {
  warm: { msMax: MINUTE_MS, alone: false },
  migrate: { msMax: 15 * MINUTE_MS, alone: true },
  'remove-branch': { msMax: 10 * MINUTE_MS, alone: true },
  snapshot: { msMax: 10 * MINUTE_MS, alone: true },
  snapshots: { msMax: MINUTE_MS, alone: false },
  restore: { msMax: 10 * MINUTE_MS, alone: true },
  'drop-snapshot': { msMax: MINUTE_MS, alone: true },
  storage: { msMax: 10 * MINUTE_MS, alone: false, isOfAll: true },
  data: { msMax: 5 * MINUTE_MS, alone: false, isLarge: true },
};

/** What an engine says of a start. */
interface Warmed {
  readonly warmed: boolean;
  readonly outcome: string;
  readonly error: string | null;
  readonly lines: readonly object[];
}

/** Runs operations by their names. @throws {PlatformError} `bad_request`, `no_engine`, `engine_lost`. */
export function createOperations(
  state: () => Pick<SupervisorState, 'engines' | 'quarantine'>,
): (name: string, request: IncomingMessage) => Promise<EngineAnswer> {
  /** The last operation of each project that has one. */
  const last = new Map<string, Promise<unknown>>();
  let waiting = 0;

  const serving = (): EngineState[] => {
    const engines = state().engines.filter(({ role, state: at }) => role === 'serving' && at === 'listening');
    if (engines.length === 0) throw new PlatformError('no_engine');
    return engines;
  };

  const ask = (name: string, { socketPath }: EngineState, body: Buffer): Promise<EngineAnswer> =>
    askEngine({
      socketPath,
      path: `/_platform/${name}`,
      body,
      timeoutMs: operations[name]!.msMax,
      bytesMax:
        operations[name]!.isLarge === true || operations[name]!.isOfAll === true ? LARGE_BYTES_MAX : ANSWER_BYTES_MAX,
    });

  async function askOne(name: string, body: Buffer): Promise<EngineAnswer> {
    for (const engine of serving()) {
      try {
        return await ask(name, engine, body);
      } catch (error) {
        if ((error as EngineCallError).reason !== 'unreached') throw lost(error);
      }
    }
    throw new PlatformError('no_engine');
  }

  /** The first engine alone: a worker that ends the engine it starts in ends no more than one. */
  async function warm(body: Buffer, key: DeploymentKey): Promise<EngineAnswer> {
    const apart = state().quarantine.find(({ deployment }) => deployment === key);
    if (apart !== undefined) return failedStart('deployment_quarantined', { strikes: apart.strikes });
    const started: Warmed[] = [];
    const start = async (engine: EngineState): Promise<EngineAnswer | null> => {
      try {
        const answer = await ask('warm', engine, body);
        if (answer.status !== 200) return answer;
        started.push(JSON.parse(answer.body.toString('utf8')) as Warmed);
        return started.at(-1)!.warmed ? null : json({ ...started.at(-1), engines: started.length });
      } catch (error) {
        // One that is just being replaced: the next starts what it is asked for.
        return (error as EngineCallError).reason === 'unreached' ? null : failedStart('engine_lost', {});
      }
    };
    const [first, ...others] = serving();
    const refused = (await start(first!)) ?? (await Promise.all(others.map(start))).find((answer) => answer !== null);
    if (refused !== undefined && refused !== null) return refused;
    if (started.length === 0) throw new PlatformError('no_engine');
    return json({ ...started[0], engines: started.length });
  }

  /** After all that came before it for this project. */
  async function inTurn(project: string, run: () => Promise<EngineAnswer>): Promise<EngineAnswer> {
    if (waiting >= WAITING_MAX) throw new PlatformError('deliveries_overloaded', { limit: WAITING_MAX });
    waiting++;
    const before = last.get(project) ?? Promise.resolve();
    const turn = before.then(run, run);
    last.set(project, turn);
    try {
      return await turn;
    } finally {
      waiting--;
      if (last.get(project) === turn) last.delete(project);
    }
  }

  return async (name, request) => {
    if (operations[name]!.isLarge === true) return askOne(name, await readBody(request, LARGE_BYTES_MAX));
    const { body, value } = await readJsonBody(request, BODY_BYTES_MAX);
    if (operations[name]!.isOfAll === true) return askOne(name, body);
    const { project, deployment } = (value ?? {}) as { project?: unknown; deployment?: unknown };
    if (typeof project !== 'string' || !isProjectName(project))
      throw new PlatformError('bad_request', { reason: 'project is the name of a project' });
    if (name === 'warm') return warm(body, `${project}/${String(deployment)}`);
    return operations[name]!.alone ? inTurn(project, () => askOne(name, body)) : askOne(name, body);
  };
}

function lost(error: unknown): PlatformError {
  return new PlatformError('engine_lost', {}, { cause: error });
}

function failedStart(outcome: ErrorCode, details: ErrorDetails): EngineAnswer {
  return json({ warmed: false, outcome, error: errorMessage(outcome, details), lines: [] });
}

function json(value: object): EngineAnswer {
  return { status: 200, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) };
}
