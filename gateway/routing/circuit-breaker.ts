// Circuit breaker: pauses a model after several consecutive failures, then lets one call at a time try it again.
// attempts.ts defines the keys, so the requests of one project never block a model for others.

interface Circuit {
  failures: number;
  /** When the model may be tried again. */
  openUntil: number;
}

const CIRCUITS_MAX = 10_000;

export interface CircuitBreaker {
  /**
   * Milliseconds until the model may be tried again; 0 means now. If the circuit was open, the caller that gets 0 makes
   * the trial call.
   */
  wait(name: string): number;
  /** Ms that the circuit stays open; 0 if it is closed. */
  left(name: string): number;
  succeeded(name: string): void;
  /** @param leastMs minimum pause, if the provider sent one. */
  failed(name: string, leastMs?: number): void;
}

export function createCircuitBreaker(
  now: () => number,
  { failuresMax, openMs }: { readonly failuresMax: number; readonly openMs: number },
): CircuitBreaker {
  const circuits = new Map<string, Circuit>();
  return {
    wait(name) {
      const circuit = circuits.get(name);
      if (circuit === undefined || circuit.failures < failuresMax) return 0;
      const left = circuit.openUntil - now();
      if (left > 0) return left;
      circuit.openUntil = now() + openMs;
      return 0;
    },
    left(name) {
      const circuit = circuits.get(name);
      return circuit === undefined || circuit.failures < failuresMax ? 0 : Math.max(0, circuit.openUntil - now());
    },
    succeeded: (name) => void circuits.delete(name),
    failed(name, leastMs = 0) {
      const failures = (circuits.get(name)?.failures ?? 0) + 1;
      circuits.delete(name);
      circuits.set(name, { failures, openUntil: now() + Math.max(openMs, leastMs) });
      // The entry whose last failure is oldest.
      if (circuits.size > CIRCUITS_MAX) circuits.delete(circuits.keys().next().value!);
    },
  };
}
