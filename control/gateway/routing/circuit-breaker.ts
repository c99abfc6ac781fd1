// Leaves a provider alone that failed several times in a row, for a while; then one call at a time tries it again.
// Counted for each organization: what one sends never closes a provider to others.

interface Circuit {
  failures: number;
  /** When it may be tried again. */
  openUntil: number;
}

const CIRCUITS_MAX = 10_000;

export interface CircuitBreaker {
  /** Ms until it may be tried again; 0: now, and who is told so when it was open is the one that tries. */
  wait(name: string): number;
  succeeded(name: string): void;
  failed(name: string): void;
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
    succeeded: (name) => void circuits.delete(name),
    failed(name) {
      const failures = (circuits.get(name)?.failures ?? 0) + 1;
      circuits.delete(name);
      circuits.set(name, { failures, openUntil: now() + openMs });
      // The one that has not failed for longest.
      if (circuits.size > CIRCUITS_MAX) circuits.delete(circuits.keys().next().value!);
    },
  };
}
