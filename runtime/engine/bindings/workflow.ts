// The host half of the workflow binding: starts and controls runs, and stores each step of a run before its handler
// continues. Arguments are validated here; runtime/stores/workflow-sql.ts stores runs, and the broker schedules them
// (runtime/broker/work/workflow.ts).
import { randomUUID } from 'node:crypto';
import { PlatformError } from '#core/errors.ts';
import { fixedLimits, type DeliveryLimits } from '#core/limits.ts';
import type { HostCall, HostFunction } from '../bridge/host-calls.ts';
import { invalid, toJsonText, toName, toRecord, toWhole } from './arguments.ts';
import type { BindingScope } from './scope.ts';
import { carriedTrace } from './trace-headers.ts';

/** One workflow, isolated from all other workflows. */
export interface WorkflowPlace {
  readonly namespace: string;
  readonly resource: string;
}

type RunStatus = 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** A run. Values are JSON. */
export interface StoredRun {
  readonly id: string;
  readonly status: RunStatus;
  readonly input: string;
  readonly output: string | null;
  /** JSON of `{name, message}`. */
  readonly error: string | null;
  readonly deployment: string;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
}

/** A step of a run, as operators see it. */
export interface StoredStep {
  readonly name: string;
  readonly kind: 'run' | 'sleep' | 'event';
  readonly status: 'done' | 'failed' | 'waiting';
  /** Attempts that failed. */
  readonly attempts: number;
  readonly result: string | null;
  readonly error: string | null;
  readonly wakeAt: number | null;
  readonly eventType: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** Completed steps of a run. */
interface RunHistory {
  readonly steps: StoredStep[];
  readonly log: { readonly at: number; readonly message: string; readonly content: string | null }[];
}

/** A result of a step to be stored. */
export type StepUpdate =
  | { readonly kind: 'done'; readonly result: string; readonly startedAt?: number }
  | {
      readonly kind: 'failed';
      readonly error: string;
      readonly attempts: number;
      readonly wakeAt: number | null;
      readonly startedAt?: number;
    }
  | { readonly kind: 'sleep'; readonly wakeAt: number };

/** Number of the step among the steps with the same name. */
export interface StepOccurrence {
  /** From 1; undefined if the name of a repeated step includes its number. */
  readonly count?: number;
  /** Absent: any. */
  readonly kind?: StoredStep['kind'];
}

/** Stores runs. Accepted runs are durable. */
export interface WorkflowStore {
  /** Starts a run, unless one with this id exists. @returns whether the run was started. */
  trigger(
    place: WorkflowPlace,
    owner: {
      readonly project: string;
      readonly branch: string;
      readonly deployment: string;
      /** The trace that started the run, as `traceparent`; absent or null if there is none. */
      readonly trace?: string | null;
    },
    run: { readonly id: string; readonly input: string },
    now: number,
  ): Promise<boolean>;
  get(place: WorkflowPlace, id: string): Promise<StoredRun | null>;
  /** Lists runs, newest first; `before` is the last number of the previous page. */
  list(
    place: WorkflowPlace,
    page: { status: RunStatus | null; limit: number; before: number | null },
  ): Promise<{ runs: StoredRun[]; next: number | null }>;
  history(place: WorkflowPlace, id: string): Promise<RunHistory | null>;
  /**
   * Ends a run; has no effect on a run that has ended.
   *
   * @returns its status before
   * @throws {PlatformError} `execution_not_found`, as all below.
   */
  cancel(place: WorkflowPlace, id: string, now: number): Promise<RunStatus>;
  /** Deletes a run with its history. */
  delete(place: WorkflowPlace, id: string): Promise<void>;
  /**
   * Pauses a run: the running step finishes, and no other step starts. @throws {PlatformError} `execution_state` for a
   * run that has ended.
   */
  pause(place: WorkflowPlace, id: string): Promise<void>;
  resume(place: WorkflowPlace, id: string, now: number): Promise<void>;
  /** Runs a run again on a deployment, from the beginning or from a given step. */
  restart(
    place: WorkflowPlace,
    id: string,
    options: { fromStep: string | null; deployment: string | null } & StepOccurrence,
    now: number,
  ): Promise<void>;
  sendEvent(place: WorkflowPlace, id: string, event: { type: string; payload: string }, now: number): Promise<void>;
  /** Stores the result of a step. `lease` is the lease of the current attempt; returns false if the lease is lost. */
  step(namespace: string, lease: string, name: string, update: StepUpdate, now: number): Promise<boolean>;
  /** Returns the event as JSON, if it has already arrived; null if the run must wait; false if the lease is lost. */
  waitForEvent(
    namespace: string,
    lease: string,
    wait: { name: string; type: string; timeoutAt: number | null },
    now: number,
  ): Promise<string | null | false>;
  log(namespace: string, lease: string, line: { message: string; content: string | null }, now: number): Promise<void>;
}

const { runIdBytesMax, stepNameBytesMax, eventTypeBytesMax, pageMax } = fixedLimits.events;
const statuses: readonly string[] = ['pending', 'running', 'paused', 'completed', 'failed', 'cancelled'];
const endedStatuses: readonly RunStatus[] = ['completed', 'failed', 'cancelled'];
const DATE_MAX = 8.64e15;
/** Kinds of steps by their names on other platforms. */
const stepKinds: Readonly<Record<string, StoredStep['kind']>> = { do: 'run', sleep: 'sleep', waitForEvent: 'event' };

/**
 * The calls of a deployment's workflow bindings and of its runs. Arguments: `{binding, ...}`, or `{lease, name, ...}`.
 *
 * @param classes workflows that are classes, by resource name
 */
export function createWorkflowCalls(
  scope: BindingScope,
  store: WorkflowStore,
  limits: DeliveryLimits,
  now: () => number = Date.now,
  classes: Readonly<Record<string, string>> = {},
): Readonly<Record<string, HostFunction>> {
  /** Whether platform.yaml names a class, for whose runs Cloudflare's rules apply. */
  const isClass = ({ resource }: WorkflowPlace): boolean => Object.hasOwn(classes, resource);
  const parse = (call: HostCall): { place: WorkflowPlace; args: Readonly<Record<string, unknown>> } => {
    const args = toRecord(call.args);
    const place = { namespace: scope.namespace, resource: scope.resource(args['binding']) };
    call.owner.countSubrequest();
    return { place, args };
  };
  const toId = (value: unknown): string => toName(value, 'The id', runIdBytesMax);
  const steer =
    (act: (place: WorkflowPlace, id: string, args: Readonly<Record<string, unknown>>) => Promise<void>): HostFunction =>
    async (call) => {
      const { place, args } = parse(call);
      await act(place, toId(args['id']), args);
      return {};
    };

  /** Calls an update of a run, under the lease from its event. */
  const parseUpdate = (call: HostCall): { lease: string; args: Readonly<Record<string, unknown>> } => {
    const args = toRecord(call.args);
    const { lease } = args;
    if (typeof lease !== 'string' || !/^\d{1,15}\.[\w.-]{1,80}$/.test(lease)) throw invalid('The lease is not valid');
    return { lease, args };
  };
  const toStep = (value: unknown): string => toName(value, 'The name of a step', stepNameBytesMax);
  const lost = { value: { ended: 'lease lost' } };
  const updateStep =
    (toUpdate: (args: Readonly<Record<string, unknown>>) => StepUpdate): HostFunction =>
    async (call) => {
      const { lease, args } = parseUpdate(call);
      return (await store.step(scope.namespace, lease, toStep(args['name']), toUpdate(args), now()))
        ? { value: {} }
        : lost;
    };

  return {
    /** `{input, id?, isCreate?}` -> `{executionId}`; `isCreate`: Cloudflare's `create`. */
    async 'workflow.trigger'(call) {
      const { place, args } = parse(call);
      const id = args['id'] == null ? randomUUID() : toId(args['id']);
      const input = toJsonText(
        args['input'] ?? (isClass(place) && args['isCreate'] === true && !('input' in args) ? {} : null),
        'The input',
        limits.workflowValueBytesMax,
      );
      const { project, branch, deployment } = scope;
      const owner = { project, branch, deployment, trace: carriedTrace(call) };
      call.span?.set('platform.workflow.run', id);
      const isNew = await store.trigger(place, owner, { id, input }, now());
      if (!isNew && args['isCreate'] === true && isClass(place))
        throw new PlatformError('execution_exists', { workflow: place.resource, id });
      return { value: { executionId: id } };
    },
    async 'workflow.get'(call) {
      const { place, args } = parse(call);
      const found = await store.get(place, toId(args['id']));
      return { value: found === null ? null : toReply(found) };
    },
    /** Takes `{status?, limit?, cursor?}`; returns `{executions, cursor}`, newest first. */
    async 'workflow.list'(call) {
      const { place, args } = parse(call);
      const status = args['status'] ?? null;
      if (status !== null && !statuses.includes(status as string))
        throw invalid(`status must be one of ${statuses.join(', ')}`);
      const limit = toWhole(args['limit'], 'limit', { least: 1, most: pageMax, otherwise: 100 });
      const cursor = args['cursor'] ?? null;
      if (cursor !== null && !/^\d{1,15}$/.test(String(cursor))) throw invalid('The cursor is not valid');
      const page = { status: status as RunStatus | null, limit, before: cursor === null ? null : Number(cursor) };
      const { runs, next } = await store.list(place, page);
      return { value: { executions: runs.map(toReply), cursor: next === null ? null : String(next) } };
    },
    'workflow.cancel': steer(async (place, id, { isTerminate }) => {
      const status = await store.cancel(place, id, now());
      if (isTerminate === true && isClass(place) && endedStatuses.includes(status))
        throw new PlatformError('execution_state', { id, status, action: 'be terminated' });
    }),
    'workflow.delete': steer((place, id) => store.delete(place, id)),
    'workflow.pause': steer((place, id) => store.pause(place, id)),
    'workflow.resume': steer((place, id) => store.resume(place, id, now())),
    /** Takes `{id, fromStep?, count?, type?}`; the last two mean the same as on other platforms. */
    'workflow.restart': steer((place, id, { fromStep, count, type }) => {
      const from = fromStep == null ? { fromStep: null } : { fromStep: toStep(fromStep), ...toOccurrence(count, type) };
      return store.restart(place, id, { ...from, deployment: scope.deployment }, now());
    }),
    'workflow.sendEvent': steer((place, id, { type, payload }) => {
      const event = {
        type: toName(type, 'The type', eventTypeBytesMax),
        payload: toJsonText(payload, 'The payload', limits.workflowValueBytesMax),
      };
      return store.sendEvent(place, id, event, now());
    }),
    'workflow.stepDone': updateStep(({ result, startedAt }) => ({
      kind: 'done',
      startedAt: toPast(startedAt, now()),
      result: toJsonText(result, 'The result of a step', limits.workflowValueBytesMax),
    })),
    'workflow.stepFailed': updateStep(({ error, attempts, wakeAt, startedAt }) => ({
      kind: 'failed',
      startedAt: toPast(startedAt, now()),
      error: toError(error),
      attempts: toWhole(attempts, 'attempts', { least: 0, most: 1_000_000 }),
      wakeAt: wakeAt == null ? null : toTime(wakeAt, now() + limits.sleepMsMax),
    })),
    'workflow.sleep': updateStep(({ wakeAt }) => ({
      kind: 'sleep',
      wakeAt: toTime(wakeAt, now() + limits.sleepMsMax),
    })),
    async 'workflow.waitForEvent'(call) {
      const { lease, args } = parseUpdate(call);
      const wait = {
        name: toStep(args['name']),
        type: toName(args['type'], 'The type of the event', eventTypeBytesMax),
        timeoutAt: args['timeoutAt'] == null ? null : toTime(args['timeoutAt'], DATE_MAX),
      };
      const event = await store.waitForEvent(scope.namespace, lease, wait, now());
      if (event === false) return lost;
      return {
        value: event === null ? {} : { step: { kind: 'event', status: 'done', result: JSON.parse(event) as unknown } },
      };
    },
    async 'workflow.log'(call) {
      const { lease, args } = parseUpdate(call);
      const { message, data } = args;
      if (typeof message !== 'string') throw invalid('The message must be a string');
      const content = data == null ? null : toJsonText(data, 'The data', limits.workflowLogBytesMax);
      const line = {
        message: message.replaceAll('\0', '').slice(0, limits.workflowLogBytesMax).toWellFormed(),
        content,
      };
      await store.log(scope.namespace, lease, line, now());
      return {};
    },
  };
}

function toOccurrence(count: unknown, type: unknown): StepOccurrence {
  if (type != null && !Object.hasOwn(stepKinds, String(type)))
    throw invalid(`type must be one of ${Object.keys(stepKinds).join(', ')}`);
  const kind = type == null ? {} : { kind: stepKinds[String(type)]! };
  if (count == null && type == null) return {};
  return { ...kind, count: toWhole(count, 'count', { least: 1, most: 1_000_000, otherwise: 1 }) };
}

function toTime(value: unknown, most: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid('The time must be milliseconds since 1970');
  if (value > most)
    throw invalid(`The time is too far ahead: at most ${new Date(Math.min(most, DATE_MAX)).toISOString()}`);
  return Math.max(0, Math.floor(value));
}

/** Start time of a step, by the isolate's own clock: never later than now. */
function toPast(value: unknown, now: number): number {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.floor(value), now) : now;
}

function toError(error: unknown): string {
  const { name, message } = toRecord(error);
  return JSON.stringify({ name: String(name).slice(0, 100), message: String(message).slice(0, 10_000) });
}

function toReply({ id, status, input, output, error, startedAt, completedAt }: StoredRun): object {
  const failure = error === null ? null : (JSON.parse(error) as { name: string; message: string });
  return {
    id,
    status,
    input: JSON.parse(input) as unknown,
    output: output === null ? null : (JSON.parse(output) as unknown),
    errorMessage: failure?.message ?? null,
    error: failure,
    startedAt,
    completedAt,
  };
}
