// AbortController and AbortSignal. A signal needs one object until it has a listener. Sources of `AbortSignal.any` hold
// their dependents weakly, unless a listener can still observe them.
import { DOMException } from './dom-exception.ts';
import {
  dispatchTrusted,
  Event,
  EventTarget,
  defineEventHandler,
  hasListeners,
  removal,
  watchListeners,
} from './events.ts';
import { finishInterface, internal, requireArguments } from './webidl.ts';

/** Aborts a signal of this realm; has no effect if it is already aborted. */
export let abortSignal: (signal: AbortSignal, reason?: unknown) => void;
/** Runs a function when the signal aborts, before its event; the returned function removes it. */
export let onAbort: (signal: AbortSignal, run: () => void) => () => void;
export let isAbortSignal: (value: unknown) => value is AbortSignal;

let addDependent: (source: AbortSignal, dependent: AbortSignal) => void;
let sourcesOf: (signal: AbortSignal) => Set<AbortSignal> | null;
let hold: (dependent: AbortSignal) => void;
let setReason: (signal: AbortSignal, reason: unknown) => void;

interface TimerGlobals {
  setTimeout(run: () => void, delayMs: number): unknown;
}

export class AbortSignal extends EventTarget {
  declare onabort: unknown;
  #aborted = false;
  #reason: unknown = undefined;
  #algorithms: (() => void)[] | null = null;
  #dependents: Set<WeakRef<AbortSignal>> | null = null;
  // Dependents with a listener, which must live as long as the signal that may abort them.
  #held: Set<AbortSignal> | null = null;
  #sources: Set<AbortSignal> | null = null;

  constructor(token: unknown = undefined) {
    if (token !== internal) throw new TypeError('Illegal constructor');
    super();
  }

  static abort(reason: unknown = undefined): AbortSignal {
    const signal = new AbortSignal(internal);
    setReason(signal, reason);
    return signal;
  }

  static timeout(milliseconds: number): AbortSignal {
    requireArguments(arguments.length, 1, 'AbortSignal.timeout');
    const delayMs = Math.trunc(Number(milliseconds));
    if (!(delayMs >= 0 && delayMs <= Number.MAX_SAFE_INTEGER))
      throw new TypeError('The timeout must be a number of milliseconds from 0 to 9007199254740991');
    const signal = new AbortSignal(internal);
    (globalThis as unknown as TimerGlobals).setTimeout(
      () => abortSignal(signal, new DOMException('The operation timed out', 'TimeoutError')),
      Math.min(delayMs, 2 ** 31 - 1),
    );
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    requireArguments(arguments.length, 1, 'AbortSignal.any');
    if (typeof signals !== 'object' || signals === null)
      throw new TypeError('AbortSignal.any needs an iterable of signals');
    const list = [...signals];
    for (const signal of list)
      if (!isAbortSignal(signal)) throw new TypeError('AbortSignal.any takes AbortSignals only');
    return dependentSignal(list);
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  static {
    isAbortSignal = (value): value is AbortSignal => typeof value === 'object' && value !== null && #aborted in value;
    setReason = (signal, reason) => {
      signal.#aborted = true;
      signal.#reason = reason === undefined ? new DOMException('The operation was aborted', 'AbortError') : reason;
    };
    sourcesOf = (signal) => signal.#sources;
    addDependent = (source, dependent) => {
      (dependent.#sources ??= new Set()).add(source);
      const dependents = (source.#dependents ??= new Set());
      if (dependents.size % 64 === 63)
        for (const one of dependents) if (one.deref() === undefined) dependents.delete(one);
      dependents.add(new WeakRef(dependent));
    };
    hold = (dependent) => {
      if (dependent.#sources !== null)
        for (const source of dependent.#sources) (source.#held ??= new Set()).add(dependent);
    };
    onAbort = (signal, run) => {
      hold(signal);
      (signal.#algorithms ??= []).push(run);
      return () => {
        const index = signal.#algorithms?.indexOf(run) ?? -1;
        if (index >= 0) signal.#algorithms!.splice(index, 1);
      };
    };
    abortSignal = (signal, reason) => {
      if (signal.#aborted) return;
      setReason(signal, reason);
      // All dependents are aborted before the first event runs, as the standard requires.
      const reached: AbortSignal[] = [signal];
      if (signal.#dependents !== null) {
        for (const one of signal.#dependents) {
          const dependent = one.deref();
          if (dependent === undefined || dependent.#aborted) continue;
          setReason(dependent, signal.#reason);
          reached.push(dependent);
        }
        signal.#dependents = null;
      }
      for (const one of reached) {
        const algorithms = one.#algorithms;
        one.#algorithms = null;
        one.#held = null;
        if (one.#sources !== null) for (const source of one.#sources) source.#held?.delete(one);
        one.#sources = null;
        if (algorithms !== null) for (const run of algorithms) run();
        if (hasListeners(one, 'abort')) dispatchTrusted(one, new Event('abort'));
      }
    };
  }
}
finishInterface(AbortSignal);
defineEventHandler(AbortSignal.prototype, 'abort');

/** A signal that aborts when one of the given signals aborts first. */
export function dependentSignal(signals: readonly AbortSignal[]): AbortSignal {
  const result = new AbortSignal(internal);
  for (const signal of signals) {
    if (!signal.aborted) continue;
    setReason(result, signal.reason);
    return result;
  }
  for (const signal of signals) {
    const sources = sourcesOf(signal);
    // A dependent is attached to its sources' sources, never to another dependent.
    if (sources === null) addDependent(signal, result);
    else for (const source of sources) addDependent(source, result);
  }
  if (signals.length > 0) watchListeners(result, () => hold(result));
  return result;
}

let signalOf: (controller: AbortController) => AbortSignal;

export class AbortController {
  #signal = new AbortSignal(internal);
  get signal(): AbortSignal {
    return this.#signal;
  }
  abort(reason: unknown = undefined): void {
    abortSignal(signalOf(this), reason);
  }
  static {
    signalOf = (controller) => controller.#signal;
  }
}
finishInterface(AbortController);

removal.check = (signal) => {
  if (!isAbortSignal(signal)) throw new TypeError('The signal option must be an AbortSignal');
  return signal;
};
removal.onAbort = (signal, remove) => void onAbort(signal as AbortSignal, remove);
