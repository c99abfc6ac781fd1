// Merges log lines of several handlers into one response, with a combined cursor: `<origin>=<its cursor>`, separated by
// commas. Pure; called by private-port.ts.

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

interface Lines {
  readonly lines: readonly { readonly time: number }[];
  readonly next: string;
}

/** Splits the combined cursor by handler. An invalid cursor starts from the beginning. */
export function logCursors(after: string): Readonly<Record<string, string>> {
  const entries = after.split(',').map((entry) => {
    const at = entry.lastIndexOf('=');
    return [entry.slice(0, Math.max(0, at)), entry.slice(at + 1)] as const;
  });
  return Object.fromEntries(entries.filter(([origin]) => origin !== ''));
}

/** Merged by time. Errors are ignored if any handler succeeded. */
export function joinLogs(answers: ReadonlyMap<string, Answer>, before: Readonly<Record<string, string>>): Answer {
  const good = [...answers].filter(([, { status }]) => status === 200);
  const [first] = answers.values();
  if (good.length === 0) return first!;
  const lines = good.flatMap(([, { body }]) => (body as Lines).lines).toSorted((a, b) => a.time - b.time);
  const next = { ...before, ...Object.fromEntries(good.map(([origin, { body }]) => [origin, (body as Lines).next])) };
  // Drop cursors of lost handlers.
  const kept = Object.entries(next).filter(([origin]) => answers.has(origin));
  return { status: 200, body: { lines, next: kept.map(([origin, cursor]) => `${origin}=${cursor}`).join(',') } };
}
