// Starts a worker in its isolate: reads its code, passes it to the first entry, and receives the outcome of its top
// level from the guest. Created by serving.ts, which acts on the result. start-pause.ts determines the pause after a
// failed start.
import { errorMessage, type ErrorDetails } from '#core/errors.ts';
import type { Link } from '../bridge/link.ts';
import { failed, isFailureCode, type Outcome } from '../invocation/outcome.ts';
import type { IsolateEvents } from '../isolates/isolate-events.ts';
import type { WorkerIsolate } from '../isolates/isolate.ts';
import type { ServingDeps } from './config.ts';
import type { ServedDeployment } from './served-deployment.ts';

type Failed = Outcome & { kind: 'failed' };

/** Dependencies of a start. */
export interface WorkerStartDeps {
  readonly deployment: ServedDeployment;
  readonly limits: ServingDeps['limits'];
  readonly isolate: WorkerIsolate;
  readonly link: Link;
  readonly onReady: () => void;
  readonly onFailed: (outcome: Failed) => void;
}

export class WorkerStart {
  #deps: WorkerStartDeps;
  #topLevelTimer: NodeJS.Timeout | undefined;
  /** Whether the time limit of the top level was reached while its code was running. */
  #isLate = false;
  /**
   * Whether the entry that is being read contains the answer. While a top-level `await` is pending, every further entry
   * must ask again.
   */
  #isAnswered = false;

  constructor(deps: WorkerStartDeps) {
    this.#deps = deps;
  }

  /**
   * Reads the worker's code, and passes it to the isolate before the first entry; a failure ends the waiting
   * invocations.
   */
  load(events: IsolateEvents): void {
    const { deployment, limits, isolate, link } = this.#deps;
    const { config } = deployment;
    try {
      const worker = {
        ...config.code(),
        vars: config.vars,
        bindings: config.bindings,
        cpuLimitMs: limits.cpu.http[config.plan],
        owner: `${config.project}/${config.id}`,
        organization: config.organization,
      };
      isolate.load(worker, link.records, events);
    } catch (error) {
      const { code, details, message } = error as { code?: unknown; details?: ErrorDetails; message: string };
      if (typeof code === 'string' && isFailureCode(code)) {
        this.#fail(failed(code, details));
      } else {
        deployment.log('error', String((error as Error).stack ?? message), null);
        this.#deps.onFailed(failed('internal'));
      }
    }
  }

  /** Begins reading an entry. */
  beginReading(): void {
    this.#isAnswered = false;
  }

  /** Called when all records are read, and the worker does not serve yet. */
  endReading(): void {
    if (!this.#isAnswered) this.#deps.link.start();
  }

  /** Called when the guest reports the state of the top level. */
  answered(state: string, said: string): void {
    this.#isAnswered = true;
    const reason = this.#deps.deployment.mapper.map(said);
    const { startupCpuMs, isolateMemoryMb } = this.#deps.limits;
    if (state === 'ready') {
      this.close();
      this.#deps.onReady();
    } else if (state === 'pending') {
      if (this.#isLate) this.#failLate();
      else this.#topLevelTimer ??= setTimeout(this.#onLate, this.#deps.limits.startupWallMs);
    } else if (state === 'syntax') this.#fail(failed('worker_syntax_error', { reason }));
    else if (state === 'cpu') this.#fail(failed('startup_cpu_limit_exceeded', { limitMs: startupCpuMs }));
    else if (state === 'memory') this.#fail(failed('memory_limit_exceeded', { limitMb: isolateMemoryMb }));
    else if (state === 'no-handler') this.#fail(failed('no_fetch_handler'));
    else this.#fail(failed('worker_start_failed', { reason }));
  }

  /** Running code is only limited by CPU, because on a busy machine, it may get no CPU for that long. */
  #onLate = (): void => {
    if (this.#deps.isolate.entryState === 'idle') this.#failLate();
    else this.#isLate = true;
  };

  #failLate(): void {
    const { startupWallMs } = this.#deps.limits;
    this.#fail(
      failed('worker_start_failed', { reason: `a top-level await did not settle within ${startupWallMs} ms` }),
    );
  }

  #fail(outcome: Failed): void {
    this.#deps.deployment.log('error', errorMessage(outcome.code, outcome.details), null);
    this.#deps.onFailed(outcome);
  }

  /** Called when the worker serves, or the isolate has ended. */
  close(): void {
    clearTimeout(this.#topLevelTimer);
  }
}
