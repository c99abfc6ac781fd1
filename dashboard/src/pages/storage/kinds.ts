// Areas and kinds of bindings: titles, paths, keys of platform.yaml. core/bindings/ lists the kinds.
import { bindings, kinds, type Kind as BindingKind } from '#core/bindings/kinds.ts';
import { object } from '#core/bindings/object.ts';

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

/** The kind of a page. */
export const bindingKind = (name: BindingKind): Kind => ({ ...bindings[name].page, kind: name, isAlone: false });

export const objectKind: Kind = { ...object.page, kind: 'object', isAlone: false };

/** The workflow of the agent library. */
const AGENT_WORKFLOW = 'PLATFORM_AGENT_WORKFLOW';
export const workflowKind: Kind = { ...bindingKind('workflow'), shows: (binding) => binding !== AGENT_WORKFLOW };
export const agentKind: Kind = {
  ...bindingKind('workflow'),
  path: 'agents',
  title: 'Agents',
  one: 'agent',
  shows: (binding) => binding === AGENT_WORKFLOW,
};
export const scheduleKind: Kind = {
  path: 'schedules',
  title: 'Schedules',
  one: 'schedule',
  kind: 'cron',
  isAlone: true,
};

/** The kinds of an area, and the pages that share a kind. */
const kindsIn = (area: 'storage' | 'jobs'): readonly Kind[] =>
  kinds
    .filter((name) => bindings[name].page.area === area)
    .flatMap((name) => (name === 'workflow' ? [workflowKind, agentKind] : [bindingKind(name)]));

export const storageArea: Area = {
  path: 'storage',
  title: 'Storage',
  kinds: [...kindsIn('storage'), objectKind],
  emptyTitle: 'No databases, state or files yet',
  emptyText: 'Add a database to platform.yaml. Your worker uses the database as env.DB.',
  example: 'db: { DB: main }',
};

export const jobsArea: Area = {
  path: 'jobs',
  title: 'Queues & jobs',
  kinds: [...kindsIn('jobs'), scheduleKind],
  emptyTitle: 'No queues or workflows yet',
  emptyText: 'Add a queue to platform.yaml. Your worker sends messages to the queue as env.JOBS.',
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
