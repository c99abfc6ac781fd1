// Formats the duration of an invocation: wall time first, with its CPU time. Pure.

/** @example timesText({ wallMs: 12.4, cpuMs: 3.06 }) // '12 ms (CPU 3.1 ms)' */
export function timesText({ wallMs, cpuMs }: { readonly wallMs: number; readonly cpuMs: number }): string {
  return `${msText(wallMs)} (CPU ${msText(cpuMs)})`;
}

function msText(ms: number): string {
  return `${ms < 9.95 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
