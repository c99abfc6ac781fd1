// Areas and kinds of bindings: titles, paths, keys of platform.yaml.

/** A kind of binding, or a page of its area. */
export interface Kind {
  readonly path: string;
  readonly title: string;
  /** Singular, in lower case. */
  readonly one: string;
  /** Key in platform.yaml. */
  readonly kind: string;
  /** One page for all bindings of the kind. */
  readonly isAlone: boolean;
  /** Filter of the bindings; all by default. */
  readonly shows?: (binding: string) => boolean;
}

/** A navigation entry. */
export interface Area {
  readonly path: string;
  readonly title: string;
  readonly kinds: readonly Kind[];
  readonly emptyTitle: string;
  readonly emptyText: string;
  /** Example line for platform.yaml. */
  readonly example: string;
}

const kind = (path: string, title: string, one: string, name: string, isAlone = false): Kind => ({
  path,
  title,
  one,
  kind: name,
  isAlone,
});

export const databaseKind = kind('databases', 'Databases', 'database', 'db');
export const stateKind = kind('state', 'State', 'state', 'state');
export const filesKind = kind('files', 'Files', 'file storage', 'fs');
export const cacheKind = kind('caches', 'Caches', 'cache', 'cache');
export const sandboxKind = kind('sandboxes', 'Sandboxes', 'sandbox binding', 'sandbox');
export const queueKind = kind('queues', 'Queues', 'queue', 'queue');
/** The workflow of the agent library. */
const AGENT_WORKFLOW = 'PLATFORM_AGENT_WORKFLOW';
export const workflowKind: Kind = {
  ...kind('workflows', 'Workflows', 'workflow', 'workflow'),
  shows: (binding) => binding !== AGENT_WORKFLOW,
};
export const agentKind: Kind = {
  ...kind('agents', 'Agents', 'agent', 'workflow'),
  shows: (binding) => binding === AGENT_WORKFLOW,
};
export const timerKind = kind('timers', 'Timers', 'timer binding', 'timer');
export const scheduleKind = kind('schedules', 'Schedules', 'schedule', 'cron', true);

export const storageArea: Area = {
  path: 'storage',
  title: 'Storage',
  kinds: [databaseKind, stateKind, filesKind, cacheKind, sandboxKind],
  emptyTitle: 'No databases, state or files yet',
  emptyText: 'Add a database to platform.yaml. Your worker uses it as env.DB.',
  example: 'db: { DB: main }',
};

export const jobsArea: Area = {
  path: 'jobs',
  title: 'Queues & jobs',
  kinds: [queueKind, workflowKind, agentKind, timerKind, scheduleKind],
  emptyTitle: 'No queues or workflows yet',
  emptyText: 'Add a queue to platform.yaml. Your worker sends to it as env.JOBS.',
  example: 'queue: { JOBS: jobs }',
};

/** The kinds of an area with their bindings. */
export function kindsOf(
  area: Area,
  items: readonly { readonly kind: string; readonly binding: string }[],
): (Kind & { readonly bindings: readonly string[] })[] {
  return area.kinds.map((one) => ({
    ...one,
    bindings: items
      .filter((item) => item.kind === one.kind && (one.shows?.(item.binding) ?? true))
      .map(({ binding }) => binding),
  }));
}
