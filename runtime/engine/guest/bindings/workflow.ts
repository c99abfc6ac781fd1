// The guest half of the workflow binding: starts and reads runs. events/workflow.ts executes them. lazy.ts loads this
// module when it is first used.
import type { LazyDeps } from '../lazy.ts';

interface Execution {
  readonly id: string;
  readonly status: string;
  readonly input: unknown;
  readonly output: unknown;
  readonly errorMessage: string | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
}

/** A run with its whole error; `getExecution` returns only a part of it. */
interface Found extends Execution {
  readonly error?: { readonly name: string; readonly message: string } | null;
}

interface CreateOptions {
  readonly id?: string;
  readonly params?: unknown;
  readonly retention?: unknown;
}

/** A batch as an object: a list of runs, or the number of equal runs. */
interface Batch extends CreateOptions {
  readonly instances?: readonly CreateOptions[];
  readonly count?: number;
}

const BATCH_MAX = 100;

export default function createWorkflow({ callHost, invalidArgument, toOptions, useModule }: LazyDeps): {
  create(name: string): object;
} {
  const { fromStored, toStored } = useModule('stored-values');

  /** A run with its values decoded. */
  function shown({ id, status, input, output, errorMessage, startedAt, completedAt }: Found): Execution {
    return {
      id,
      status,
      input: fromStored(input),
      output: fromStored(output),
      errorMessage,
      startedAt,
      completedAt,
    };
  }

  const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;
  const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error);

  class Workflow {
    readonly #binding: string;

    constructor(binding: string) {
      this.#binding = binding;
    }

    async #call(
      name: 'trigger' | 'get' | 'list' | 'cancel' | 'pause' | 'resume' | 'restart' | 'sendEvent' | 'delete',
      args: Readonly<Record<string, unknown>>,
    ): Promise<unknown> {
      return (await callHost(`workflow.${name}`, { binding: this.#binding, ...args })).value;
    }

    async trigger(input?: unknown, options?: { id?: string }): Promise<{ executionId: string }> {
      return (await this.#call('trigger', {
        input: toStored(input ?? null),
        id: toOptions('The options of trigger', options).id,
      })) as {
        executionId: string;
      };
    }

    async getExecution(id: unknown): Promise<unknown> {
      const found = (await this.#call('get', { id })) as Found | null;
      return found === null ? null : shown(found);
    }

    async list(options?: { status?: string; limit?: number; cursor?: string } | null): Promise<unknown> {
      const { status, limit, cursor } = toOptions('The options of list', options);
      const page = (await this.#call('list', { status, limit, cursor })) as { executions: Found[] };
      return { ...page, executions: page.executions.map(shown) };
    }

    async cancel(id: unknown): Promise<void> {
      await this.#call('cancel', { id });
    }

    async pause(id: unknown): Promise<void> {
      await this.#call('pause', { id });
    }

    async resume(id: unknown): Promise<void> {
      await this.#call('resume', { id });
    }

    /** Restarts the run from the beginning or from a given step; the results of earlier steps are kept. */
    async restart(id: unknown, options?: { fromStep?: string }): Promise<void> {
      await this.#call('restart', { id, fromStep: toOptions('The options of restart', options).fromStep });
    }

    async sendEvent(id: unknown, event: { type: string; payload?: unknown }): Promise<void> {
      const { type, payload } = toOptions('The event', event);
      await this.#call('sendEvent', { id, type, payload: toStored(payload ?? null) });
    }

    /** Starts a run, as on other platforms, and returns an object for it. */
    async create(options?: CreateOptions | null): Promise<object> {
      const { id, params, retention } = toOptions('The options of create', options);
      if (retention != null)
        throw invalidArgument(
          'create does not support retention here: WORKFLOW_RETENTION_MS of the platform sets how long runs are kept',
        );
      try {
        // If there are no params, the host determines the input of the workflow.
        const input = params === undefined ? undefined : toStored(params);
        const { executionId } = (await this.#call('trigger', { input, id, isCreate: true })) as { executionId: string };
        return this.#instance(executionId);
      } catch (error) {
        if (codeOf(error) !== 'execution_exists') throw error;
        throw Object.assign(new Error(`instance.already_exists: ${messageOf(error)}`), { code: 'execution_exists' });
      }
    }

    /** For a list, runs whose id exists are omitted; for an object, they are returned as errors. */
    async createBatch(batch: readonly CreateOptions[] | Batch): Promise<unknown> {
      if (Array.isArray(batch)) {
        const made = await this.#createAll(batch as readonly CreateOptions[]);
        const failed = made.find(({ error }) => error !== undefined && codeOf(error) !== 'execution_exists');
        if (failed !== undefined) throw failed.error;
        return made.flatMap(({ instance }) => (instance === undefined ? [] : [instance]));
      }
      const { instances, count, params, retention } = (
        typeof batch === 'object' && batch !== null ? batch : {}
      ) as Batch;
      if (!Array.isArray(instances) && typeof count !== 'number')
        throw invalidArgument('createBatch takes a list: [{ id, params }, ...]');
      const size = Array.isArray(instances) ? instances.length : count!;
      if (!(size >= 1 && size <= BATCH_MAX && Math.floor(size) === size))
        throw invalidArgument(`createBatch takes 1 to ${BATCH_MAX} runs, not ${size}`);
      const list: readonly CreateOptions[] = Array.isArray(instances)
        ? (instances as readonly CreateOptions[])
        : Array.from({ length: size }, () => ({ params, retention }));
      const made = await this.#createAll(list);
      return {
        created: made.flatMap(({ instance }) => (instance === undefined ? [] : [instance])),
        errors: made.flatMap(({ error }, index) => {
          if (error === undefined) return [];
          const id = list[index]?.id;
          const status = codeOf(error) === 'execution_exists' ? 409 : codeOf(error) === 'invalid_argument' ? 400 : 500;
          return [{ index, ...(id === undefined ? {} : { id }), code: status, message: messageOf(error) }];
        }),
      };
    }

    #createAll(list: readonly CreateOptions[]): Promise<{ instance?: object; error?: unknown }[]> {
      return Promise.all(
        list.map((options) =>
          this.create(options).then(
            (instance) => ({ instance }),
            (error: unknown) => ({ error }),
          ),
        ),
      );
    }

    async get(id: string): Promise<object> {
      if ((await this.getExecution(id)) === null) throw new Error(`instance.not_found: There is no run ${id}`);
      return this.#instance(id);
    }

    /** Deletes runs with all their stored data. */
    async deleteBatch(ids: readonly string[]): Promise<object> {
      if (!Array.isArray(ids) || ids.length < 1 || ids.length > BATCH_MAX)
        throw invalidArgument(`deleteBatch takes a list of 1 to ${BATCH_MAX} ids`);
      const outcomes = await Promise.all(
        ids.map(async (id) => {
          try {
            await this.#call('delete', { id });
            return null;
          } catch (error) {
            return { id, code: codeOf(error) === 'execution_not_found' ? 404 : 400, message: messageOf(error) };
          }
        }),
      );
      const errors = outcomes.filter((outcome) => outcome !== null);
      return { deleted: ids.filter((_, index) => outcomes[index] === null).map((id) => ({ id })), errors };
    }

    #instance(id: string): object {
      return {
        id,
        status: async () => {
          const found = (await this.#call('get', { id })) as Found | null;
          if (found === null) return { status: 'unknown' };
          const { status, output, errorMessage, error, startedAt } = found;
          const failure = error ?? (errorMessage === null ? null : { name: 'Error', message: errorMessage });
          const isAsleep = status === 'pending' && startedAt !== null;
          return {
            status: isAsleep ? 'waiting' : (statuses[status] ?? status),
            output: fromStored(output),
            ...(failure === null ? {} : { error: failure }),
          };
        },
        pause: () => this.pause(id),
        resume: () => this.resume(id),
        terminate: async (options?: { rollback?: boolean } | null) => {
          if (options?.rollback === true)
            throw invalidArgument('terminate does not support rollback here: rollbacks run when a run fails');
          await this.#call('cancel', { id, isTerminate: true });
        },
        restart: async (options?: { from?: { name?: string; count?: number; type?: string } } | null) => {
          const { name, count, type } = options?.from ?? {};
          await this.#call('restart', { id, fromStep: name, count, type });
        },
        delete: async () => {
          await this.#call('delete', { id });
        },
        sendEvent: (event: { type: string; payload?: unknown }) => this.sendEvent(id, event),
        subscribe: async () => {
          throw invalidArgument('subscribe is not supported here: read status(), or the run in the dashboard');
        },
      };
    }
  }

  return { create: (name) => new Workflow(name) };
}

/** The names that other platforms use for statuses. */
const statuses: Readonly<Record<string, string>> = {
  pending: 'queued',
  completed: 'complete',
  failed: 'errored',
  cancelled: 'terminated',
};
