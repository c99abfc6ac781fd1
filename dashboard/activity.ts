// What happens in the project, as it happens: one connection for the whole page, which the browser opens again when it
// breaks.

/** As runtime/dev/dashboard/activity.ts notes it. */
export interface ActivityEvent {
  readonly seq: number;
  readonly at: number;
  readonly type: 'request' | 'event' | 'log' | 'deployed';
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly outcome: string;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly kind: string;
  readonly name: string;
  readonly id: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
}

/** What this page has heard of. */
export interface Followed {
  /** The oldest first. */
  readonly all: readonly ActivityEvent[];
  listen(listener: (event: ActivityEvent) => void, signal?: AbortSignal): void;
}

const KEPT_MAX = 2000;

export function followActivity(onConnection: (isOpen: boolean) => void): Followed {
  const all: ActivityEvent[] = [];
  const listeners = new Set<(event: ActivityEvent) => void>();
  let isOpen = false;
  const source = new EventSource('/api/activity');
  source.addEventListener('open', () => onConnection((isOpen = true)));
  source.addEventListener('error', () => {
    onConnection(false);
    // A dev that was started anew counts from the beginning.
    if (isOpen) source.addEventListener('open', () => location.reload(), { once: true });
    isOpen = false;
  });
  source.addEventListener('message', ({ data }) => {
    const event = JSON.parse(data as string) as ActivityEvent;
    all.push(event);
    if (all.length > KEPT_MAX) all.splice(0, all.length - KEPT_MAX);
    for (const listener of listeners) listener(event);
  });
  return {
    all,
    listen(listener, signal) {
      listeners.add(listener);
      signal?.addEventListener('abort', () => listeners.delete(listener));
    },
  };
}
