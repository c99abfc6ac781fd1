// Bindings as platform.yaml declares them: resource names, settings of queues, and the bindings that the agent library
// adds. Used by project-config.ts and its rules.
import { serviceText, type WrittenService } from '../bindings/service.ts';
import type { NamedKind } from '../bindings/kinds.ts';
import type { QueueSettings, QueuesSettings } from '../queue-settings.ts';
import type { ProjectFile } from './project-config-schema.ts';

/** The bindings that `agentSDK: true` adds. */
export const agentBindings = {
  state: { PLATFORM_AGENT_STATE: 'platform_agent_state' },
  fs: { PLATFORM_AGENT_FILES: 'platform_agent_files' },
  workflow: { PLATFORM_AGENT_WORKFLOW: 'platform_agent_run' },
  timer: { PLATFORM_AGENT_SCHEDULER: 'platform_agent_scheduler' },
} as const satisfies Partial<Record<NamedKind, Record<string, string>>>;

/** A queue: its name, or a map with its settings. */
export type WrittenQueue = NonNullable<ProjectFile['queue']>[string];

/** A workflow: its name, or a map with its class. */
export type WrittenWorkflow = NonNullable<ProjectFile['workflow']>[string];

/** The resource name of a declared binding; of a service, its target. */
export function resourceOf(value: string | { readonly name: string } | WrittenService): string {
  if (typeof value === 'string') return value;
  return 'project' in value ? serviceText(value) : value.name;
}

/** Queues with settings, by resource name. */
export function resolvedQueues({ queue }: ProjectFile): QueuesSettings {
  const queues: Record<string, QueueSettings> = {};
  for (const value of Object.values(queue ?? {})) {
    if (typeof value === 'string') continue;
    const settings = settingsOf(value);
    if (Object.keys(settings).length > 0) queues[value.name] = settings;
  }
  return queues;
}

/** Classes of workflows, by resource name; empty without any. */
export function workflowClasses({ workflow }: ProjectFile): {
  readonly workflowClasses?: Readonly<Record<string, string>>;
} {
  const classes: Record<string, string> = {};
  for (const value of Object.values(workflow ?? {}))
    if (typeof value !== 'string' && value.class !== undefined) classes[value.name] = value.class;
  return Object.keys(classes).length === 0 ? {} : { workflowClasses: classes };
}

/** The settings that a queue declares. */
export function settingsOf(value: Exclude<WrittenQueue, string>): QueueSettings {
  const {
    max_retries: maxRetries,
    retry_delay: delay,
    max_concurrency: maxConcurrency,
    dead_letter: deadLetter,
  } = value;
  return {
    ...(maxRetries === undefined ? {} : { maxRetries }),
    ...(delay === undefined ? {} : { retryDelayMs: delay * 1000 }),
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
    ...(deadLetter === undefined ? {} : { deadLetter }),
  };
}
