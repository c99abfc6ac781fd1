// Implements queueMicrotask with a settled promise; exceptions are reported like those of event listeners.
import { reportException } from './report-error.ts';
import { requireArguments } from './webidl.ts';

const settled = Promise.resolve();
// oxlint-disable-next-line unbound-method
const { then } = Promise.prototype;

/** The global `queueMicrotask`. */
export function queueMicrotask(callback: () => unknown): void {
  requireArguments(arguments.length, 1, 'queueMicrotask');
  if (typeof callback !== 'function') throw new TypeError('queueMicrotask needs a function');
  void then.call(settled, () => {
    try {
      callback();
    } catch (error) {
      reportException(error);
    }
  });
}
