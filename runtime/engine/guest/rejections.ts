// Errors that no code of the worker caught: thrown values as the host and the log see them, and promises rejected
// without a handler, which V8 names one by one through the native half.
import type { Failure } from '../bridge/protocol.ts';
import { enterContext } from './context.ts';
import { fireOnGlobal } from './fetch-event.ts';
import { currentInvocation, type GuestInvocation } from './invocation.ts';
import { SafeMap } from './safe.ts';
import { reportUncaught, stackOf } from './web/console.ts';
import { useModule } from './modules.ts';
import { uncaught } from './web/report-error.ts';

/** What the host and the log see of a thrown value, whatever it is. */
export function threw(error: unknown): Failure {
  return { code: 'worker_threw', ...errorParts(error) };
}

/** The beginning of a text: errors are read by people, and cross to the host whole. */
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

/** Called by V8 for every promise that is rejected without a handler, and again when one gets a handler later. */
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

// A handler that is attached a few microtasks later is no unhandled rejection: wait for some turns before saying so.
function reportLater(turn: number): void {
  if (turn < 8) {
    Promise.resolve(turn + 1).then(reportLater);
    return;
  }
  isReporting = false;
  unhandled.forEach(({ reason, invocation }, promise) => {
    unhandled.delete(promise);
    // Its listeners run on the account of whoever left the promise alone.
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

/** The worker serves: from now on unhandled rejections are reported, those of its top level too. */
export function watchRejections(): void {
  isServing = true;
  if (!isReporting) {
    isReporting = true;
    Promise.resolve(0).then(reportLater);
  }
}
