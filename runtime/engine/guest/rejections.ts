// Errors that the worker did not catch: formats thrown values for the host and the log, and tracks promises that were
// rejected without a handler, which V8 reports through native code.
import type { Failure } from '../bridge/protocol.ts';
import { enterContext } from './context.ts';
import { fireOnGlobal } from './fetch-event.ts';
import { currentInvocation, type GuestInvocation } from './invocation.ts';
import { SafeMap } from './safe.ts';
import { reportUncaught, stackOf } from './web/console.ts';
import { useModule } from './modules.ts';
import { uncaught } from './web/report-error.ts';

/** Describes any thrown value for the host and the log. */
export function threw(error: unknown): Failure {
  return { code: 'worker_threw', ...errorParts(error) };
}

/** Truncates a text, because errors are for people, and cross the bridge as a whole. */
function brief(value: unknown): string {
  const text = String(value);
  return text.length > TEXT_MAX ? text.slice(0, TEXT_MAX) : text;
}

const TEXT_MAX = 16 * 1024;

function errorParts(error: unknown): { name: string; message: string; stack?: string } {
  try {
    if (error !== null && typeof error === 'object' && 'message' in error) {
      const { name, message } = error as { name?: unknown; message: unknown };
      const stack = stackOf(error);
      return {
        name: brief(name ?? 'Error'),
        message: brief(message),
        ...(stack === undefined ? {} : { stack: brief(stack) }),
      };
    }
    return { name: 'Error', message: brief(error) };
  } catch {
    return { name: 'Error', message: 'a value that cannot be shown' };
  }
}

uncaught.report = (error) => {
  const handled = fireOnGlobal(
    'error',
    () =>
      new (useModule('event-classes').ErrorEvent)('error', {
        error,
        message: errorParts(error).message,
        cancelable: true,
      }),
  );
  if (!handled) reportUncaught(error, 'Uncaught', currentInvocation());
};

const unhandled = new SafeMap<Promise<unknown>, { reason: unknown; invocation: GuestInvocation | undefined }>();
let isReporting = false;
let isServing = false;

/** V8 calls this for every promise that is rejected without a handler, and again when it gets a handler later. */
export function onRejection(isUnhandled: boolean, promise: Promise<unknown>, reason: unknown): void {
  if (!isUnhandled) {
    unhandled.delete(promise);
    return;
  }
  unhandled.set(promise, { reason, invocation: currentInvocation() });
  if (isServing && !isReporting) {
    isReporting = true;
    Promise.resolve(0).then(reportLater);
  }
}

// Rejections are reported some ticks later, because a handler may be attached a few microtasks after the rejection.
function reportLater(turn: number): void {
  if (turn < 8) {
    Promise.resolve(turn + 1).then(reportLater);
    return;
  }
  isReporting = false;
  unhandled.forEach(({ reason, invocation }, promise) => {
    unhandled.delete(promise);
    // Listeners run on the account of the invocation that left the promise unhandled.
    enterContext(invocation);
    const handled = fireOnGlobal(
      'unhandledrejection',
      () =>
        new (useModule('event-classes').PromiseRejectionEvent)('unhandledrejection', {
          promise,
          reason,
          cancelable: true,
        }),
    );
    if (!handled) reportUncaught(reason, 'Uncaught (in promise)', invocation);
    enterContext(undefined);
  });
}

/** Called when the worker serves: from now on, unhandled rejections are reported, including those of its top level. */
export function watchRejections(): void {
  isServing = true;
  if (!isReporting) {
    isReporting = true;
    Promise.resolve(0).then(reportLater);
  }
}
