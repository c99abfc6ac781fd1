// Leaves a model alone that failed several times in a row, for a while; then one call at a time tries it again. What a
// circuit stands for, attempts.ts says: what one project sends never closes a model to others.

interface Circuit {
  failures: number;
  /** When it may be tried again. */
  openUntil: number;
}

const CIRCUITS_MAX = 10_000;

export interface CircuitBreaker {
  /** Ms until it may be tried again; 0: now, and who is told so when it was open is the one that tries. */
  wait(name: string): number;
  /** Ms that it is still left alone; 0: it is not. */
  left(name: string): number;
  succeeded(name: string): void;
  /** @param leastMs how long it is left alone at least, where it says so itself. */
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
      // The one that has not failed for longest.
      if (circuits.size > CIRCUITS_MAX) circuits.delete(circuits.keys().next().value!);
    },
  };
}
