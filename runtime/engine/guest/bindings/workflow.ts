// The guest half of the workflow binding: starts and reads runs. events/workflow.ts executes them. A module of
// lazy.ts.
import type { LazyDeps } from '../lazy.ts';

interface Execution {
  readonly id: string;
  readonly status: string;
  readonly input: unknown;
  readonly output: unknown;
  readonly errorMessage: string | null;
  readonly startedAt: number | null;
}

export default function createWorkflow({ callHost, invalidArgument, useModule }: LazyDeps): {
  create(name: string): object;
} {
  const { fromStored, toStored } = useModule('stored-values');

  /** A run with its values decoded. */
  function shown<Found extends Execution | null>(found: Found): Found {
    return found === null ? found : { ...found, input: fromStored(found.input), output: fromStored(found.output) };
  }

  class Workflow {
    readonly #binding: string;

    constructor(binding: string) {
      this.#binding = binding;
    }

    async #call(
      name: 'trigger' | 'get' | 'list' | 'cancel' | 'pause' | 'resume' | 'restart' | 'sendEvent',
      args: Readonly<Record<string, unknown>>,
    ): Promise<unknown> {
      return (await callHost(`workflow.${name}`, { binding: this.#binding, ...args })).value;
    }

    async trigger(input?: unknown, options?: { id?: string }): Promise<{ executionId: string }> {
      return (await this.#call('trigger', { input: toStored(input ?? null), id: options?.id })) as {
        executionId: string;
      };
    }

    async getExecution(id: unknown): Promise<unknown> {
      return shown((await this.#call('get', { id })) as Execution | null);
    }

    async list(options?: { status?: string; limit?: number; cursor?: string } | null): Promise<unknown> {
      const { status, limit, cursor } = options ?? {};
      const page = (await this.#call('list', { status, limit, cursor })) as { executions: Execution[] };
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

    /** Runs it again, from the beginning or from a given step: results of earlier steps are kept. */
    async restart(id: unknown, options?: { fromStep?: string }): Promise<void> {
      await this.#call('restart', { id, fromStep: options?.fromStep });
    }

    async sendEvent(id: unknown, event: { type: string; payload?: unknown }): Promise<void> {
      const { type, payload } = event ?? {};
      await this.#call('sendEvent', { id, type, payload: toStored(payload ?? null) });
    }

    /** Starts a run as on other platforms and returns an object for it. */
    async create(options?: { id?: string; params?: unknown; retention?: unknown } | null): Promise<object> {
      if (options?.retention != null)
        throw invalidArgument(
          'create does not support retention here: WORKFLOW_RETENTION_MS of the platform sets how long runs are kept',
        );
      const { executionId } = await this.trigger(options?.params, options?.id === undefined ? {} : { id: options.id });
      return this.#instance(executionId);
    }

    async createBatch(list: readonly { id?: string; params?: unknown }[]): Promise<object[]> {
      if (!Array.isArray(list)) throw invalidArgument('createBatch takes a list: [{ id, params }, ...]');
      return Promise.all(list.map((options) => this.create(options)));
    }

    async get(id: string): Promise<object> {
      if ((await this.getExecution(id)) === null) throw new Error(`instance.not_found: There is no run ${id}`);
      return this.#instance(id);
    }

    #instance(id: string): object {
      return {
        id,
        status: async () => {
          const execution = (await this.getExecution(id)) as Execution | null;
          if (execution === null) return { status: 'unknown' };
          const { status, output, errorMessage, startedAt } = execution;
          const error = errorMessage === null ? {} : { error: { name: 'Error', message: errorMessage } };
          const isAsleep = status === 'pending' && startedAt !== null;
          return { status: isAsleep ? 'waiting' : (statuses[status] ?? status), output, ...error };
        },
        pause: () => this.pause(id),
        resume: () => this.resume(id),
        terminate: () => this.cancel(id),
        restart: async (options?: { from?: { name?: string; count?: number; type?: string } } | null) => {
          const { name, count = 1, type = 'do' } = options?.from ?? {};
          if (count !== 1)
            throw invalidArgument(
              'restart does not support from.count here: it continues from the first step of a name',
            );
          if (type !== 'do')
            throw invalidArgument(`restart continues from a step of type do here, not ${String(type)}`);
          await this.restart(id, name === undefined ? {} : { fromStep: name });
        },
        sendEvent: (event: { type: string; payload?: unknown }) => this.sendEvent(id, event),
      };
    }
  }

  return { create: (name) => new Workflow(name) };
}

/** Status names of other platforms. */
const statuses: Readonly<Record<string, string>> = {
  pending: 'queued',
  completed: 'complete',
  failed: 'errored',
  cancelled: 'terminated',
};
