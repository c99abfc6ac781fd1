// Operations of a release on the private port: `POST /_platform/warm` calls all serving engines, the other operations
// call one. Operations that change a project's resources run one at a time per project, in order of arrival. All of
// them are idempotent.
import type { IncomingMessage } from 'node:http';
import { errorMessage, PlatformError, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import type { Failure } from '#core/failure.ts';
import { isProjectName } from '#core/names.ts';
import { askEngine, type EngineAnswer } from '../engines/engine-calls.ts';
import { readBody, readJsonBody } from './json-body.ts';
import type { DeploymentKey, EngineState, SupervisorState } from '../engines/state.ts';

/** Timeout of an operation in its engine. */
interface Operation {
  readonly msMax: number;
  /** Forwarded unparsed: the request or the response may contain a file. */
  readonly isLarge?: boolean;
  /** Whether the operation concerns all projects, and names none. */
  readonly isOfAll?: boolean;
  /** Whether the operation changes the project's resources. */
  readonly alone: boolean;
}

const MINUTE_MS = 60_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const BODY_BYTES_MAX = 1024 * 1024;
const LARGE_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of operations that wait for an earlier operation of their project. */
const WAITING_MAX = 1000;

/** The operations, by the last segment of their path. */
export const operations: Readonly<Record<string, Operation>> = {
  warm: { msMax: MINUTE_MS, alone: false },
  migrate: { msMax: 15 * MINUTE_MS, alone: true },
  'remove-branch': { msMax: 10 * MINUTE_MS, alone: true },
  'remove-project': { msMax: 30 * MINUTE_MS, alone: true },
  snapshot: { msMax: 10 * MINUTE_MS, alone: true },
  snapshots: { msMax: MINUTE_MS, alone: false },
  restore: { msMax: 10 * MINUTE_MS, alone: true },
  'drop-snapshot': { msMax: MINUTE_MS, alone: true },
  storage: { msMax: 10 * MINUTE_MS, alone: false, isOfAll: true },
  data: { msMax: 5 * MINUTE_MS, alone: false, isLarge: true },
};

/** An engine's report of a start. */
interface Warmed {
  readonly warmed: boolean;
  readonly outcome: string;
  readonly error: string | null;
  readonly lines: readonly object[];
}

/** Runs operations by name. @throws {PlatformError} `bad_request`, `no_engine`, `engine_lost`. */
export function createOperations(
  state: () => Pick<SupervisorState, 'engines' | 'quarantine'>,
): (name: string, request: IncomingMessage) => Promise<EngineAnswer> {
  /** The last pending operation of each project. */
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
        if ((error as Failure<'engine_call'>).reason !== 'unreached') throw lost(error);
      }
    }
    throw new PlatformError('no_engine');
  }

  /**
   * Starts the deployment on the first engine before all others, so that a worker that crashes its engine crashes only
   * one.
   */
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
        // The engine is being replaced: its successor starts the deployment on demand.
        return (error as Failure<'engine_call'>).reason === 'unreached' ? null : failedStart('engine_lost', {});
      }
    };
    const [first, ...others] = serving();
    const refused = (await start(first!)) ?? (await Promise.all(others.map(start))).find((answer) => answer !== null);
    if (refused !== undefined && refused !== null) return refused;
    if (started.length === 0) throw new PlatformError('no_engine');
    return json({ ...started[0], engines: started.length });
  }

  /** Runs after all earlier operations of this project. */
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
      throw new PlatformError('bad_request', { reason: 'project must be the name of a project' });
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
