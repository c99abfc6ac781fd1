// Recipients of events, and the queue settings of platform.yaml. Production receives the events of its project's
// namespace, and the newest deployment of each other branch those of the branch's namespace (core/preview.ts). Follows
// the route records; used by main.ts.
import type { Manifest, RouteRecord } from '#core/manifest.ts';
import type { EventKind } from '#core/event.ts';
import { previewSettingsOf } from '#core/preview-settings.ts';
import { ofPreview, previewIn, previewOf, recipientOf } from '#core/preview.ts';
import { deadLettersOf, type QueuesSettings } from '#core/queue-settings.ts';
import type { Recipient } from './delivery.ts';

/** A schedule for the store. */
interface DeclaredCron {
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
}

/** Dependencies of recipients. */
interface RecipientsDeps {
  readonly cron: {
    declare(
      place: { namespace: string; resource: string },
      sender: { project: string; branch: string },
      crons: readonly DeclaredCron[],
      now: number,
    ): Promise<void>;
  };
  readonly lanes: {
    find(namespace: string, resource: string): Promise<number | null>;
    consume(namespace: string, resources: readonly string[]): Promise<void>;
    limit(namespace: string, concurrency: Readonly<Record<string, number>>): Promise<void>;
  };
  /** The manifest of an artifact. */
  readonly manifestOf: (artifact: string) => Pick<Manifest, 'bindings' | 'cron' | 'queues' | 'previews'>;
  readonly now: () => number;
  readonly onTrouble: (project: string, error: Error) => void;
}

/** Recipients according to the route records. */
export interface Recipients {
  /** The deployment that gets an event, or null. */
  resolve(recipient: Recipient): string | null;
  /** Queue settings of a namespace. */
  queues(namespace: string): QueuesSettings;
  /** Applies new records; failures are reported to `onTrouble`, and retried with the next records. */
  update(records: readonly RouteRecord[]): Promise<void>;
}

/** What is known about a namespace: its deployment, and settings that are needed later. */
interface Declared {
  readonly deployment: string;
  readonly project: string;
  readonly queues: QueuesSettings;
  /** Kinds of events that a preview's settings disable. */
  readonly heldBack: ReadonlySet<EventKind>;
  /** Whether schedules of the deployment are declared. */
  readonly hasCron: boolean;
}

export function createRecipients({ cron, lanes, manifestOf, now, onTrouble }: RecipientsDeps): Recipients {
  let projects = new Map<string, RouteRecord>();
  const declared = new Map<string, Declared>();
  let declaring: Promise<void> = Promise.resolve();

  async function declare(record: RouteRecord, namespace: string, deployment: string): Promise<void> {
    if (declared.get(namespace)?.deployment === deployment) return;
    const { project } = record;
    const { artifact, branch } = record.deployments[deployment]!;
    const manifest = manifestOf(artifact);
    const { cron: schedules, bindings, queues = {} } = manifest;
    const names = Object.values(bindings['queue'] ?? {});
    const isProduction = namespace === project;
    const settings = previewSettingsOf(manifest);
    const hasCron = isProduction || settings.cron === 'on';
    const had = declared.get(namespace)?.hasCron ?? false;
    if (hasCron) {
      const crons = Object.entries(schedules).map(([name, schedule]) => ({ name, ...schedule }));
      await cron.declare({ namespace, resource: project }, { project, branch }, crons, now());
    } else if (had) await cron.declare({ namespace, resource: project }, { project, branch }, [], now());
    // An unused queue with default settings needs no lane, because most previews are never opened.
    const dead = new Set(names.map((name) => deadLettersOf(queues, name)));
    const known: string[] = [];
    for (const name of names) {
      const isNeeded = isProduction || dead.has(name) || queues[name]?.maxConcurrency !== undefined;
      if (isNeeded || (await lanes.find(namespace, name)) !== null) known.push(name);
    }
    await lanes.consume(namespace, known);
    await lanes.limit(namespace, Object.fromEntries(known.map((name) => [name, queues[name]?.maxConcurrency ?? 0])));
    const held = (['queue', 'timer', 'cron'] as const).filter((kind) => !isProduction && settings[kind] === 'off');
    declared.set(namespace, { deployment, project, queues, heldBack: new Set<EventKind>(held), hasCron });
  }

  async function declareAll(): Promise<void> {
    const current = new Set<string>();
    for (const record of projects.values()) {
      for (const [namespace, deployment] of namespacesOf(record)) {
        current.add(namespace);
        await declare(record, namespace, deployment).catch((error: Error) => onTrouble(record.project, error));
      }
    }
    for (const [namespace, { project, hasCron }] of declared) {
      // A record without production keeps its schedules. They are not delivered until there is a production deployment
      // again.
      if (current.has(namespace) || (namespace === project && projects.has(project))) continue;
      if (hasCron)
        await cron.declare({ namespace, resource: project }, { project, branch: '' }, [], now()).catch(() => {});
      declared.delete(namespace);
    }
  }

  return {
    resolve({ kind, namespace, project, branch, deployment }) {
      const record = projects.get(project);
      if (record === undefined) return null;
      const preview = previewIn(namespace);
      // Disabled events wait until the branch's settings, or those of production after a promotion, enable them.
      if (declared.get(namespace)?.heldBack.has(kind) === true) return null;
      if (kind !== 'workflow') return recipientOf(record, branch, preview);
      // A run continues with the code that started it, as long as that deployment is kept, and with the same resources.
      const isKept = deployment !== undefined && Object.hasOwn(record.deployments, deployment);
      return isKept && previewOf(record, deployment) === preview ? deployment : null;
    },
    queues: (namespace) => declared.get(namespace)?.queues ?? {},
    update(records) {
      projects = new Map(records.map((record) => [record.project, record]));
      return (declaring = declaring.then(declareAll));
    },
  };
}

/** The namespaces in which a project receives events, with their deployments. */
function* namespacesOf(record: RouteRecord): Generator<readonly [namespace: string, deployment: string]> {
  const { project, production, branches } = record;
  if (production !== null) yield [project, production];
  for (const id of Object.values(branches)) {
    const preview = previewOf(record, id);
    if (preview !== null) yield [ofPreview(project, preview), id];
  }
}
